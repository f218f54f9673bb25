package profile

import (
	"fmt"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/arena"
)

// A window is the time a profile tells of. While hooks are added and taken away, the
// self time of a caller means now this, now that; and code that has just got hooks
// is interpreted for a while. So what was measured before is taken off, if enough was
// measured since.
type window struct {
	lock    sync.Mutex
	began   time.Time
	at      int64                            // the target's clock
	threads map[uint32]map[uint32]arena.Node // by the thread's root, then by node
}

const (
	leastWindow = 2 * time.Second
	leastPart   = 0.25 // of the run
)

// open begins a new window, unless the run would then have nothing to tell.
func (w *window) open(r *run) error {
	threads, err := r.session.Threads()
	if err != nil {
		return err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.began, w.at = time.Now(), r.session.Now()
	w.keep(threads)
	return nil
}

// shut has the window tell of the whole run, until it is opened again.
func (w *window) shut() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.threads = nil
}

// narrow has threads tell of the window alone, and gives when it began and what it
// leaves out. Where it is not wide enough, nothing is left out.
func (w *window) narrow(r *run, threads []arena.Thread) (since int64, note string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if !w.isWide(r) {
		return 0, ""
	}
	w.since(threads)
	return w.at, w.note(r)
}

// keep notes what was measured when the window began.
func (w *window) keep(threads []arena.Thread) {
	w.threads = make(map[uint32]map[uint32]arena.Node, len(threads))
	for _, t := range threads {
		soFar := underWay(t, w.at)
		calls := make(map[uint32]uint64)
		for _, f := range t.Stack {
			calls[f.Node]++
		}
		nodes := make(map[uint32]arena.Node, len(t.Nodes))
		for _, n := range t.Nodes {
			// Of calls under way what comes is in the window, what was is not.
			n.Self += soFar[n.Ref]
			n.Calls -= min(n.Calls, calls[n.Ref])
			nodes[n.Ref] = n
		}
		w.threads[t.Root] = nodes
	}
}

// isWide reports whether the window tells enough of a run.
func (w *window) isWide(r *run) bool {
	open := time.Since(w.began)
	return w.threads != nil && open >= leastWindow && open.Seconds() >= leastPart*time.Since(r.began).Seconds()
}

// since takes off what was there before the window.
func (w *window) since(threads []arena.Thread) {
	for i := range threads {
		before := w.threads[threads[i].Root]
		for j := range threads[i].Nodes {
			n := &threads[i].Nodes[j]
			was, known := before[n.Ref]
			if !known {
				continue
			}
			n.Calls -= was.Calls
			n.Timed -= was.Timed
			n.Nanos -= was.Nanos
			n.Self -= was.Self
			n.Threw -= was.Threw
			n.Squares = max(0, n.Squares-was.Squares)
			n.Missed -= was.Missed
		}
	}
}

// note tells what the window leaves out.
func (w *window) note(r *run) string {
	why := "when its compilers were done with what the hooks undid"
	if r.budget != nil {
		why = "since when the same hooks were on"
	}
	return fmt.Sprintf("figures are of the last %v, %s; the first %v are left out",
		time.Since(w.began).Round(100*time.Millisecond), why, w.began.Sub(r.began).Round(100*time.Millisecond))
}
