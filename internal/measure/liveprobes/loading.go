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
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// jdkPackages are the prefixes of the JDK's own classes.
var jdkPackages = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

// excludes returns prefixes of classes that need not be reported when they load.
func (w *Watch) excludes() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	open := make(map[string]bool)
	for _, s := range w.plan.spots {
		for _, d := range s.depends {
			for _, name := range d.Open {
				open[name] = true
			}
		}
	}
	return excludesOf(w.plan.request, open)
}

// excludesOf returns the JDK's packages that no pattern names. It returns none if a
// condition depends on the subclasses of a JDK class.
func excludesOf(r *request, open map[string]bool) []string {
	isNamed := func(beginning string) bool {
		return slices.ContainsFunc(r.patterns, func(p *pattern.Pattern) bool {
			prefix, _ := p.ClassBounds()
			return strings.HasPrefix(prefix, beginning) || strings.HasPrefix(beginning, prefix)
		})
	}
	isOpen := func(string) bool {
		for name := range open {
			if slices.ContainsFunc(jdkPackages, func(beginning string) bool { return strings.HasPrefix(name, beginning) }) {
				return true
			}
		}
		return false
	}
	return slices.DeleteFunc(slices.Clone(jdkPackages), func(beginning string) bool { return isNamed(beginning) || isOpen(beginning) })
}

// loading returns the spots of a class that is loading. A thread of the program waits for
// it.
func (w *Watch) loading(name string, file []byte) []instrument.Spot {
	if is, at := w.queue.put(name, file); is {
		w.switchOff(at)
		return nil // it gets its spots when the plan is ready
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	class := w.universe.Load(name, file)
	if w.plan == nil {
		return nil
	}
	c := w.compiler(w.plan)
	spared := len(c.spared)
	made := w.loaded(c, class)
	w.checkAgain(c, class)
	if len(c.spared) > spared {
		for _, text := range w.gaps(c.plan) {
			w.notice(text)
		}
	}
	var spots []instrument.Spot
	for _, s := range made {
		w.learn(s)
		w.noteDepends(s)
		w.applied[spotName(&s.Spot)] = s.Spot
		spots = append(spots, s.Spot)
	}
	return spots
}

// loaded adds the spots of a class to a plan and returns them.
func (w *Watch) loaded(c *compiler, class *universe.Class) (made []*planned) {
	for _, m := range c.find(class) {
		made = append(made, c.add(m)...)
	}
	return append(made, w.loadInside(c, class)...)
}

// catchUp adds the classes to a plan that have loaded while it was compiled. The compiler
// may be nil.
func (w *Watch) catchUp(c *compiler) {
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
			class := w.universe.Load(q.name, q.file)
			if c != nil {
				w.loaded(c, class)
				w.checkAgain(c, class)
			}
		}
	}
}

// loadInside adds the methods of a loading class to traces where traced methods may call
// them.
func (w *Watch) loadInside(c *compiler, class *universe.Class) (made []*planned) {
	if len(c.calls) == 0 || w.universe.IsJDK(class) || w.universe.Open(class) == nil {
		return nil
	}
	above := w.universe.Ancestors(class)
	for _, m := range w.universe.Methods(class) {
		left := -1
		for _, name := range above {
			if known, is := c.calls[classfile.MethodRef{Class: name, Name: m.Name, Descriptor: m.Descriptor}]; is {
				left = max(left, known)
			}
		}
		if left < 0 {
			continue
		}
		w.expectCalls(c, m, left-1)
		if c.insides >= mostInside || c.hooked[m.MethodRef] || m.Name == "<clinit>" || !w.isWorth(c, m) {
			continue
		}
		made = append(made, c.addInside(m, c.levels > 0))
	}
	return made
}

// expectCalls records which methods a method calls, as they may belong to traces.
func (w *Watch) expectCalls(c *compiler, m universe.Method, left int) {
	if left < 0 {
		return
	}
	bodies, err := w.bodies.Bodies(w.universe.File(m.Owner))
	if err != nil {
		return
	}
	calls, err := bodies.Calls(m.Name, m.Descriptor)
	if err != nil {
		return
	}
	for _, call := range calls {
		c.expect(call.Declared, left)
	}
}

// switchLimit limits how long a loading class waits until hooks that depend on it are off.
const switchLimit = time.Second

// checkAgain checks the conditions that a loading class may invalidate, by an override
// that is not pure or has a hook. Spots whose condition is no longer valid are switched
// off before the class is used.
func (w *Watch) checkAgain(c *compiler, class *universe.Class) {
	above := make(map[string]bool)
	for _, name := range w.universe.Ancestors(class) {
		above[name] = true
	}
	var off []uint32
	for _, s := range c.spots {
		isAffected := slices.ContainsFunc(s.depends, func(d condition.Depends) bool {
			return slices.ContainsFunc(d.Open, func(name string) bool { return above[name] })
		})
		if !isAffected || s.off != "" {
			continue
		}
		again := *s
		err := c.equip(&again)
		if err == nil {
			s.depends = again.depends
			w.queue.depend(w.target.SpotID(s.Spot), class.Name)
			continue
		}
		s.off, s.Flags = err.Error(), 0
		if _, is := w.applied[spotName(&s.Spot)]; is {
			w.applied[spotName(&s.Spot)] = s.Spot
			off = append(off, w.target.SpotID(s.Spot))
		}
		w.notice(fmt.Sprintf("%s is no longer measured by %s: class %s has loaded, and %v", s.method, s.what(), dotted(class.Name), err))
	}
	w.switchOff(off)
}

// switchOff switches spots off at once.
func (w *Watch) switchOff(ids []uint32) {
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

// what names the probe or tag of a spot.
func (s *planned) what() string {
	if s.tag != nil {
		return "tag " + s.tag.Name
	}
	return "probe " + s.probe.Name
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
