package liveprobes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// loading returns the spots of a class that is loading. A thread of the program waits for
// it.
func (w *Probes) loading(name string, file []byte) (request session.Request) {
	if is, at := w.queue.put(name, file); is {
		w.switchOff(at)
		return request // it gets its spots when the plan is ready
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	class := w.classes.Load(name, file)
	if w.plan == nil {
		return request
	}
	excluded := w.plan.ExcludedClasses()
	made := w.loaded(w.plan, class)
	w.checkAgain(w.plan, class)
	if w.plan.ExcludedClasses() > excluded {
		w.report(w.plan.Gaps())
	}
	for _, s := range made {
		w.learn(s)
		w.applied[s.FullName()] = s.Spot
		request.Spots = append(request.Spots, s.Spot)
	}
	return request
}

// loaded adds the spots of a class to a plan and returns them.
func (w *Probes) loaded(p *plan, class *universe.Class) []*probes.Spot {
	made, removed := p.Load(class)
	var off []uint32
	for _, s := range removed {
		id := w.target.SpotID(s.Spot)
		delete(w.applied, s.FullName())
		delete(w.names, id)
		off = append(off, id)
	}
	w.switchOff(off)
	if p.NeedsTypes() {
		w.widen()
	}
	return append(made, w.loadInside(p, class)...)
}

// catchUp adds the classes to a plan that have loaded while it was compiled. The plan may
// be nil.
func (w *Probes) catchUp(p *plan) {
	for {
		classes, off := w.queue.take()
		if len(classes) == 0 {
			return
		}
		for name, s := range w.applied {
			if off[w.target.SpotID(s)] {
				s.Flags = 0
				w.applied[name] = s
			}
		}
		for _, q := range classes {
			class := w.classes.Load(q.name, q.file)
			if p != nil {
				w.loaded(p, class)
				w.checkAgain(p, class)
			}
		}
	}
}

// loadInside adds the methods of a loading class to traces where traced methods may call
// them.
func (w *Probes) loadInside(p *plan, class *universe.Class) (made []*probes.Spot) {
	if len(p.calls) == 0 || w.classes.IsJDK(class) || w.classes.Open(class) == nil {
		return nil
	}
	above := w.classes.Ancestors(class)
	for _, m := range w.classes.Methods(class) {
		left := -1
		for _, name := range above {
			known, is := p.calls[classfile.MethodRef{Class: name, Name: m.Name, Descriptor: m.Descriptor}]
			if is && (!isWide(name) || w.isOwn(p, class.Name)) {
				left = max(left, known)
			}
		}
		if left < 0 {
			continue
		}
		if !w.isForeign(p, class.Name) {
			w.expectCalls(p, m, left-1)
		}
		if p.insides >= mostInside || p.Hooked[m.MethodRef] || m.Name == "<clinit>" || !w.isWorth(p, m) {
			continue
		}
		made = append(made, p.addInside(m, p.levels > 0))
	}
	return made
}

// expectCalls records which methods a method calls, as they may belong to traces.
func (w *Probes) expectCalls(p *plan, m universe.Method, left int) {
	if left < 0 {
		return
	}
	if _, err := w.bodies.Add(w.classes.File(m.Owner)); err != nil {
		return
	}
	for _, call := range w.bodies.Calls(m.MethodRef) {
		p.expect(call.Declared, left)
	}
}

// switchLimit limits how long a loading class waits until hooks that depend on it are off.
const switchLimit = time.Second

// checkAgain checks the conditions that a loading class may invalidate, by an override
// that is not pure or has a hook. Spots whose condition is no longer valid are switched
// off before the class is used.
func (w *Probes) checkAgain(p *plan, class *universe.Class) {
	above := make(map[string]bool)
	for _, name := range w.classes.Ancestors(class) {
		above[name] = true
	}
	var off []uint32
	for _, s := range p.Spots {
		isAffected := slices.ContainsFunc(s.OpenTypes(), func(name string) bool { return above[name] })
		if !isAffected || s.Off != "" {
			continue
		}
		err := p.Recheck(s)
		if err == nil {
			w.queue.depend(w.target.SpotID(s.Spot), class.Name)
			continue
		}
		s.Off, s.Flags = err.Error(), 0
		if _, is := w.applied[s.FullName()]; is {
			w.applied[s.FullName()] = s.Spot
			off = append(off, w.target.SpotID(s.Spot))
		}
		w.notice(fmt.Sprintf("%s was switched off in %s, because class %s was loaded: %v", s.Owner(), s.Method, strings.ReplaceAll(class.Name, "/", "."), err))
	}
	w.switchOff(off)
}

// switchOff switches spots off at once.
func (w *Probes) switchOff(ids []uint32) {
	if len(ids) == 0 {
		return
	}
	off := make(map[uint32]arena.Probe, len(ids))
	for _, id := range ids {
		off[id] = arena.Probe{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), switchLimit)
	defer cancel()
	if err := w.target.SwitchSpots(ctx, off); err != nil {
		w.notice(fmt.Sprintf("hooks could not be switched off: %v", err))
	}
}

// A queue holds classes that load while a set is compiled. That may take seconds, and no
// thread of the program may wait for it. The queue knows which spots have conditions that
// such a class may invalidate, because they must be off before the class is used.
type queue struct {
	lock       sync.Mutex
	isOpen     bool
	classes    []queued
	dependents map[string][]uint32 // spots that depend on the subclasses of a class, by its name
	off        map[uint32]bool     // spots that a class in the queue has switched off
}

// A queued class.
type queued struct {
	name string
	file []byte
}

// put reports whether the class waits in the queue now, and which spots must be off until
// it has been checked.
func (q *queue) put(name string, file []byte) (isQueued bool, off []uint32) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if !q.isOpen {
		return false, nil
	}
	q.classes = append(q.classes, queued{strings.Clone(name), slices.Clone(file)})
	if len(q.dependents) == 0 {
		return true, nil
	}
	parsed, err := classfile.Parse(file)
	if err != nil {
		return true, nil // the JVM will not load it
	}
	for _, parent := range universe.Parents(parsed) {
		off = append(off, q.dependents[parent]...)
	}
	for _, id := range off {
		q.off[id] = true
	}
	if len(off) > 0 { // its subclasses are subclasses of the other, too
		q.dependents[strings.Clone(name)] = off
	}
	return true, off
}

func (q *queue) open() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.isOpen, q.off = true, make(map[uint32]bool)
}

// take returns the classes in the queue and the spots that are off because of them. It
// closes the queue if that is empty.
func (q *queue) take() (classes []queued, off map[uint32]bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	classes = q.classes
	q.classes, q.isOpen = nil, len(classes) > 0
	return classes, q.off
}

// depend records that a spot depends on the subclasses of a class.
func (q *queue) depend(id uint32, class string) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.dependents == nil {
		q.dependents = make(map[string][]uint32)
	}
	if !slices.Contains(q.dependents[class], id) {
		q.dependents[class] = append(q.dependents[class], id)
	}
}

// forget removes all dependents.
func (q *queue) forget() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.dependents = nil
}
