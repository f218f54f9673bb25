package session

import (
	"context"
	"slices"
	"strings"
)

// Known are the classes whose files Prefetch or Survey has looked for, and those that
// were shown while they loaded, by name. Of the latter it asks the JVM which loader
// has them; one that is still on its way in is not told.
func (s *Session) Known(ctx context.Context) ([]LoadedClass, error) {
	if s.store.isAwaiting() {
		classes, err := s.peer.List(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		s.store.meet(classes)
	}
	return s.store.all(), nil
}

// Find gives the classes of a name among those that are known. It asks the JVM for
// nothing, so a thread of the program may wait for it.
func (s *Session) Find(name string) []LoadedClass { return s.store.named(name) }

// IsProbed reports whether a method has a hook, or is to have one, of whatever kind.
func (s *Session) IsProbed(class, name, descriptor string) bool {
	s.book.lock.Lock()
	_, is := wishes(s.book.wanted).find(class, name, descriptor)
	s.book.lock.Unlock()
	if is || len(s.choices.spotsOf(class, name+descriptor)) > 0 {
		return true
	}
	if _, is := s.choices.find(class, name+descriptor); is {
		return true
	}
	return s.choices.hands(class) && slices.ContainsFunc(handOffMethods, func(h handOffMethod) bool {
		return h.class == class && h.isOf(name, descriptor)
	})
}

func (c *candidate) loaded() LoadedClass {
	return LoadedClass{Name: c.name, Loader: c.loader, File: c.file, Reason: c.reason}
}

func (s *store) isAwaiting() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.arrived) > 0
}

func (s *store) all() (all []LoadedClass) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, candidates := range s.classes {
		for i := range candidates {
			all = append(all, candidates[i].loaded())
		}
	}
	slices.SortFunc(all, func(a, b LoadedClass) int {
		if a.Name != b.Name {
			return strings.Compare(a.Name, b.Name)
		}
		return int(a.Loader) - int(b.Loader)
	})
	return all
}

func (s *store) named(name string) (all []LoadedClass) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for i := range s.classes[name] {
		all = append(all, s.classes[name][i].loaded())
	}
	return all
}
