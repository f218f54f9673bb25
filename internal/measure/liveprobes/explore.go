package liveprobes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

const (
	// exploreCalls is how many transactions show what a level of a trace calls; exploreRound is the time
	// after which fewer are enough.
	exploreCalls = 20
	exploreRound = 500 * time.Millisecond
	// exploreLimit is how long Explore waits for a call of a root.
	exploreLimit = time.Second
	exploreEvery = 10 * time.Millisecond
)

// Traced counts what belongs to traces besides their roots.
type Traced struct {
	Methods, Classes int
	Untraced         int // methods that exceed the limit
}

// Explore adds what traced methods call, level by level, below those that are called: far fewer classes are
// changed than if everything that could be called got a hook. If no root is called for a while, everything
// gets hooks.
func (w *Probes) Explore(ctx context.Context) (*Traced, error) {
	if err := w.reveal(ctx); err != nil {
		return nil, err
	}
	for w.isLazy && w.Traced().Methods > 0 {
		isCalled, err := w.awaitTransactions(ctx)
		if err != nil {
			return nil, err
		}
		if isCalled {
			found, err := w.findCalled()
			if err != nil {
				return nil, err
			}
			if !found {
				break
			}
		} else {
			w.lock.Lock()
			w.isLazy = false
			w.lock.Unlock()
		}
		if _, err := w.Apply(ctx, w.Set()); err != nil {
			return nil, err
		}
		if err := w.reveal(ctx); err != nil {
			return nil, err
		}
	}
	return w.Traced(), nil
}

// reveal reads the files of proxies that traced methods may call, and applies the set again if there are
// any. Only the JVM has such a file, and shows it when the class is redefined.
func (w *Probes) reveal(ctx context.Context) error {
	unread := w.unreadProxies()
	if len(unread) == 0 {
		return nil
	}
	isUnread := func(class string) bool { return unread[class] }
	found, err := w.target.Prefetch(ctx, isUnread, isUnread)
	if err != nil {
		return err
	}
	w.lock.Lock()
	for class := range unread {
		w.revealed[class] = true
	}
	for _, c := range found {
		w.classes.Add(c)
	}
	w.calls = nil // it lacks them
	w.lock.Unlock()
	if len(found) > 0 {
		return w.reapply(ctx)
	}
	return nil
}

// unreadProxies returns the proxies without a file that traced methods may call: those of classes whose
// methods they call and, where they call an interface that no other class implements, those of interfaces.
func (w *Probes) unreadProxies() map[string]bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	unread := make(map[string]bool)
	if len(w.plan.calls) == 0 {
		return unread
	}
	owners := make(map[string]bool)
	for m := range w.plan.calls {
		owners[m.Class] = true
	}
	for c := range w.classes.All() {
		super, isProxy := universe.Proxied(c.Name)
		if isProxy && !w.revealed[c.Name] && c.Reason == "" && w.classes.File(c) == nil && (owners[super] || super == "" && w.plan.bodiless) {
			unread[c.Name] = true
		}
	}
	return unread
}

// Traced returns what belongs to traces now.
func (w *Probes) Traced() *Traced {
	w.lock.Lock()
	defer w.lock.Unlock()
	t := &Traced{}
	classes := make(map[string]bool)
	for _, s := range w.plan.Spots {
		if s.Key == insideKey {
			t.Methods++
			classes[s.Class] = true
		}
	}
	t.Classes = len(classes)
	applied, _ := w.plan.Report()
	for _, p := range applied {
		t.Untraced += p.Untraced
	}
	return t
}

// SeenIn returns the calls that sampled stacks show. The classes that the JDK makes for lambdas do not count.
func SeenIn(stacks []*jfr.Stack) map[Call]bool {
	seen := make(map[Call]bool)
	for _, stack := range stacks {
		var callee *jfr.Method
		for _, f := range stack.Frames {
			if !f.IsJava() || strings.Contains(f.Method.Class, "$$Lambda") {
				continue
			}
			if callee != nil {
				seen[Call{f.Method.Ref(), callee.Ref()}] = true
			}
			callee = f.Method
		}
	}
	return seen
}

// awaitTransactions waits until enough transactions have begun. It reports false if there was none.
func (w *Probes) awaitTransactions(ctx context.Context) (bool, error) {
	w.target.Restart() // full rings would take no transaction
	before, err := w.target.RingCounters()
	if err != nil {
		return false, fmt.Errorf("reading traces: %w", err)
	}
	for began := time.Now(); ; {
		now, err := w.target.RingCounters()
		if err != nil {
			return false, fmt.Errorf("reading traces: %w", err)
		}
		passed, n := time.Since(began), now.Opened-before.Opened
		switch {
		case n >= exploreCalls, n > 0 && passed >= exploreRound:
			return true, nil
		case passed >= exploreLimit:
			return false, nil
		}
		if err := process.Pause(ctx, exploreEvery); err != nil {
			return false, err
		}
	}
}

// findCalled records which methods of traces were called, and reports whether there are new ones that
// may call others.
func (w *Probes) findCalled() (found bool, err error) {
	closed, err := w.calledClosed()
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, m := range closed {
		w.called[m] = true
	}
	return len(closed) > 0, err
}

// Unexplored returns how many methods of traces were first called after Explore: what they call has no
// hooks.
func (w *Probes) Unexplored() int {
	closed, _ := w.calledClosed() // the end reports the error
	return len(closed)
}

// calledClosed returns the methods of traces that were called, and whose callees are not part of traces.
func (w *Probes) calledClosed() (found []classfile.MethodRef, err error) {
	sum, err := w.target.Sum()
	if err != nil {
		return nil, fmt.Errorf("reading counts: %w", err)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, s := range w.plan.Spots {
		totals := sum.Methods[w.target.SpotID(s.Spot)]
		if s.Key == insideKey && w.plan.closed[s.MethodRef] && totals != nil && totals.Calls > 0 {
			found = append(found, s.MethodRef)
		}
	}
	return found, nil
}
