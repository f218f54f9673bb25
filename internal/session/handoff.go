package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A handOffMethod is a method of the JDK through which a task goes from one thread to
// another: the template woven around it has the task carry its context, or take it up.
type handOffMethod struct {
	way                     string // what is not followed without it, for people
	class, name, descriptor string // as class files have them; all of the name where descriptor is empty
	since, until            int    // the JDKs that have it, the first and the last; 0 where there is no such
	template                func() (class []byte, method string)
}

// HandOffClasses are the classes of those methods.
func HandOffClasses() (classes []string) {
	for i := range handOffMethods {
		classes = append(classes, handOffMethods[i].class)
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

func isHandOff(class string) bool {
	return slices.ContainsFunc(handOffMethods, func(m handOffMethod) bool { return m.class == class })
}

// isOf reports whether a method of the class is the one that is meant.
func (h *handOffMethod) isOf(name, descriptor string) bool {
	return h.name == name && (h.descriptor == "" || h.descriptor == descriptor)
}

// handing is the template that a method gets because tasks go through it; nil for
// other methods.
func (w *workshop) handing(m weave.MethodInfo) *weave.Template {
	if !w.choices.hands(m.Class) {
		return nil
	}
	for i := range handOffMethods {
		if h := &handOffMethods[i]; h.class == m.Class && h.isOf(m.Name, m.Descriptor) {
			return w.templates.handOff[i]
		}
	}
	return nil
}

// hands reports whether tasks are to carry their context through methods of a class.
func (c *choices) hands(class string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.handOff && isHandOff(class)
}

// startHandOff has tasks carry their context. Classes that are loaded are owed from
// then on; others are shown as they load.
func (s *Session) startHandOff(ctx context.Context, wanted bool) error {
	s.choices.lock.Lock()
	isNew := wanted && !s.choices.handOff
	s.choices.handOff = s.choices.handOff || wanted
	s.choices.lock.Unlock()
	if !isNew {
		return nil
	}
	if err := s.readyHandOff(ctx); err != nil {
		return err
	}
	// First those that load from now on, so that none is missed in between.
	if err := s.showLoading(ctx); err != nil {
		return err
	}
	loaded, err := s.peer.List(ctx)
	if err != nil {
		return s.explain(err)
	}
	s.choices.lock.Lock()
	defer s.choices.lock.Unlock()
	for _, class := range loaded {
		if name := internalName(class); class.Loader == 0 && isHandOff(name) {
			s.choices.owe(name, &debt{})
			delete(s.choices.emptied, name)
		}
	}
	return nil
}

// readyHandOff has the agent get ready for tasks. It uses their classes for that, so
// that they are loaded before the batch in which they get their hooks: of a class that
// a thread of the agent loads it cannot be asked.
func (s *Session) readyHandOff(ctx context.Context) error {
	s.switches.Lock()
	defer s.switches.Unlock()
	s.book.lock.Lock()
	isReady := len(s.book.watch.sent) > 0
	s.book.lock.Unlock()
	if isReady {
		return nil
	}
	if err := s.peer.Watches(ctx, control.Watches{Table: arena.NoWatches()}); err != nil {
		return s.explain(err)
	}
	return nil
}

// noteHandOff tells which ways of handing tasks on cannot be followed, because this
// JDK's class has no such method or the method could not be woven.
func (s *Session) noteHandOff(class string, picked *picking) {
	if !s.choices.hands(class) {
		return
	}
	for i := range handOffMethods {
		if h := &handOffMethods[i]; h.class == class && !picked.hasHandOff(h) {
			s.missHandOff(h, "no hook could be put into "+h.String())
		}
	}
}

func (h *handOffMethod) String() string {
	return strings.ReplaceAll(h.class, "/", ".") + "." + h.name + h.descriptor
}

func (p *picking) hasHandOff(h *handOffMethod) bool {
	for member := range p.handOffs {
		if name, arguments, _ := strings.Cut(member, "("); h.isOf(name, "("+arguments) {
			return true
		}
	}
	return false
}

// nameUnfollowed tells which ways are not followed because a class was left alone.
func (s *Session) nameUnfollowed() {
	for _, class := range s.choices.handing() {
		reason := s.book.whyLeft(class)
		for i := range handOffMethods {
			if h := &handOffMethods[i]; h.class == class && reason != "" {
				s.missHandOff(h, strings.ReplaceAll(class, "/", ".")+" was left alone: "+reason)
			}
		}
	}
}

// handing are the classes through which tasks are to carry their context.
func (c *choices) handing() []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.handOff {
		return nil
	}
	return HandOffClasses()
}

// whyLeft is why a class was left alone; "" where it was not.
func (b *book) whyLeft(class string) string {
	b.lock.Lock()
	defer b.lock.Unlock()
	for left := range b.left {
		if left.Class == class && left.Method == "" && b.classes[class] == 0 {
			return left.Reason
		}
	}
	return ""
}

// missHandOff tells, once for each way, that it is not followed. Where this JDK is
// not one that should have the method, nothing is missed.
func (s *Session) missHandOff(h *handOffMethod, why string) {
	if s.jdk.Feature < h.since || h.until != 0 && s.jdk.Feature > h.until {
		return
	}
	s.book.lock.Lock()
	isKnown := s.book.watch.missed[h.way]
	s.book.watch.missed[h.way] = true
	s.book.lock.Unlock()
	if !isKnown && s.settings.Notice != nil {
		s.settings.Notice(fmt.Sprintf("context and tags do not go along with %s: %s", h.way, why))
	}
}
