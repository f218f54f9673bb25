package session

import (
	"context"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave/original"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Unhook takes out hooks that Hook has put in, in as few batches as can be: all are
// off at one moment, before the first is out. What they have measured stays. A class
// that has none left is what it was, and Close need not touch it again.
func (s *Session) Unhook(ctx context.Context, request Request) (*Installation, error) {
	installation := &Installation{}
	s.choices.remove(&s.book, request)
	if err := s.switchOn(ctx); err != nil {
		return installation, err
	}
	debts := s.choices.take(time.Now())
	if err := s.pay(ctx, debts, installation); err != nil {
		s.choices.giveBack(debts)
		return installation, err
	}
	if err := s.followReflection(ctx); err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx) // what else was owed is in now, too
}

// remove forgets hooks and sites, and switches them off. Their classes are owed
// from then on.
func (c *choices) remove(b *book, request Request) {
	gone, bare := c.removeAll(request)
	for _, h := range gone {
		b.unhook(h)
	}
	for _, class := range bare {
		b.empty(class)
	}
}

// removeAll gives the methods that have no hook any more, and the classes that have
// none left. The book is not touched here: whoever writes in it asks for choices.
func (c *choices) removeAll(request Request) (gone []Hook, bare []string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	stale := make(map[string]bool)
	for _, h := range request.Hooks {
		if _, is := c.hooks[h.Class][h.member()]; is {
			delete(c.hooks[h.Class], h.member())
			gone = append(gone, h)
			stale[h.Class] = true
		}
	}
	for _, site := range request.Sites {
		if id, is := c.sites[site.caller()][site.called()]; is {
			delete(c.sites[site.caller()], site.called())
			stale[site.Class] = true
			if !c.isCalled(id) {
				gone = append(gone, site.Native)
			}
		}
	}
	for class := range stale {
		c.forgetCaller(class)
		if c.redo(class) {
			bare = append(bare, class)
		}
	}
	return gone, bare
}

// redo owes a class of which something was taken, and reports whether nothing is
// left in it. The lock is held.
func (c *choices) redo(class string) (isBare bool) {
	c.owe(class, &debt{})
	if isBare = c.isBare(class); isBare {
		if c.emptied == nil {
			c.emptied = make(map[string]bool)
		}
		c.emptied[class] = true
	}
	return isBare
}

// forgetCaller notes that a class has no site, where the last one went.
func (c *choices) forgetCaller(class string) {
	for caller, calls := range c.sites {
		if len(calls) > 0 && len(caller) > len(class) && caller[:len(class)] == class && caller[len(class)] == '.' {
			return
		}
	}
	delete(c.callers, class)
}

// isCalled reports whether a call of a native method has a hook.
func (c *choices) isCalled(native uint32) bool {
	for _, calls := range c.sites {
		for _, id := range calls {
			if id == native {
				return true
			}
		}
	}
	return false
}

// isEmptied reports whether a class had hooks and is to have none.
func (c *choices) isEmptied(class string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.emptied[class]
}

// unhook notes that a method has no hook any more.
func (b *book) unhook(h Hook) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if id, known := b.ids[h.full()]; known {
		b.probes[id] = arena.Probe{ID: id} // off at once; out a little later
		if m, woven := b.methods[id]; woven {
			b.past[id] = m
			delete(b.methods, id)
		}
	}
}

func (b *book) empty(class string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	delete(b.classes, class)
}

// plain answers for a class that is to have no hooks any more. Nothing would do
// where the JVM rebuilds the class without loss; elsewhere it gets its own file.
func (s *Session) plain(class control.Transform) control.Woven {
	if class.Handle == 0 || !s.choices.isEmptied(class.Name) {
		return control.Woven{}
	}
	choice, err := original.Choose(original.Input{JDK: s.jdk, File: s.fileOf(class), Given: class.Bytes})
	if err != nil {
		return control.Woven{}
	}
	return unwoven(choice)
}

// unwoven is the answer for a loaded class that gets no hooks. Where the JVM would
// lose something by rebuilding it, that is its own file.
func unwoven(choice original.Choice) control.Woven {
	return control.Woven{New: choice.Restore, Original: choice.Restore}
}
