package session

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A store keeps class files of loaded classes, so that hooks can be put into them
// without asking a class loader: a thread that waits for hooks may hold its lock.
type store struct {
	lock    sync.Mutex
	classes map[string][]candidate // by name: several loaders may have one
	arrived map[string][][]byte    // files of classes that loaded since, and have no handle yet
}

// A LoadedClass is one that the JVM has loaded.
type LoadedClass struct {
	Name   string // internal
	Loader uint32 // of this session; 0 is the boot loader
	File   []byte // its class file; nil where its loader finds none
	Reason string // why no hook can be put into it; "" where one can
}

// Prefetch gets the class files of the loaded classes that are wanted, and keeps
// them for Hook. What it has got before it does not ask for again.
//
// A class that no loader has a file of is redefined to see it, if the JVM loses
// nothing by that, or if it is named: then its hooks would have it redefined anyway.
func (s *Session) Prefetch(ctx context.Context, wanted func(class string) bool, named func(class string) bool) ([]LoadedClass, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	candidates, err := s.gather(ctx, classes, wanted)
	if err != nil {
		return nil, err
	}
	var all []*candidate
	for i := range candidates {
		all = append(all, &candidates[i])
	}
	if err := s.capture(ctx, all, named); err != nil {
		return nil, err
	}
	return s.keepAll(candidates), nil
}

// keepAll keeps classes for Hook, and tells of them.
func (s *Session) keepAll(candidates []candidate) (loaded []LoadedClass) {
	for _, c := range candidates {
		loaded = append(loaded, LoadedClass{Name: c.name, Loader: c.loader, File: c.file, Reason: c.reason})
		s.store.add(c)
	}
	return loaded
}

func (s *store) add(c candidate) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if !s.knows(c.name, c.handle) {
		s.keep(c)
	}
}

func (s *store) has(c candidate) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.knows(c.name, c.handle)
}

// arrive keeps the file of a class that is being loaded. It reports whether none
// other of its name is known.
func (s *store) arrive(name string, file []byte) (isOnly bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.arrived == nil {
		s.arrived = make(map[string][][]byte)
	}
	s.arrived[strings.Clone(name)] = append(s.arrived[name], file)
	return len(s.arrived[name]) == 1 && len(s.classes[name]) == 0
}

// meet gives classes that loaded since their handles. Where several of one name
// did, which file is whose is not known; then the JVM's own bytes have to do.
func (s *store) meet(classes []control.Class) {
	s.lock.Lock()
	defer s.lock.Unlock()
	met := make(map[string][]candidate)
	for _, class := range classes {
		name := internalName(class)
		if len(s.arrived[name]) == 0 || s.knows(name, class.Handle) {
			continue
		}
		c := candidate{handle: class.Handle, loader: class.Loader, name: name}
		if class.Flags&control.Modifiable == 0 {
			c.reason = "the JVM does not let it be changed"
		}
		met[name] = append(met[name], c)
	}
	for name, fresh := range met {
		if len(fresh) == 1 && len(s.arrived[name]) == 1 {
			fresh[0].file = s.arrived[name][0]
		}
		for _, c := range fresh {
			s.keep(c)
		}
	}
}

// keep notes a class that has a handle. Of several that were shown which one it is
// is not known, and so it is not of those that have none yet.
func (s *store) keep(c candidate) {
	if s.classes == nil {
		s.classes = make(map[string][]candidate)
	}
	s.classes[c.name] = append(s.classes[c.name], c)
	if shown := len(s.arrived[c.name]); shown > 1 {
		s.arrived[c.name] = make([][]byte, shown-1)
	} else {
		delete(s.arrived, c.name)
	}
}

func (s *store) knows(name string, handle uint32) bool {
	return slices.ContainsFunc(s.classes[name], func(c candidate) bool { return c.handle == handle })
}

// awaits reports whether a class of a name has been shown while it loaded, and has
// no handle yet.
func (s *store) awaits(name string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.arrived[name]) > 0
}

// giveUp waits no longer for classes of a name. It reports whether others of it are
// known.
func (s *store) giveUp(name string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.arrived, name)
	return len(s.classes[name]) > 0
}

// unmet are those of some names of which nothing is known, or of which another
// class was shown since.
func (s *store) unmet(names []string) []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return len(s.classes[name]) > 0 && len(s.arrived[name]) == 0
	})
}

// find gives the classes of some names that can have hooks.
func (s *store) find(names []string) (found []candidate) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, name := range names {
		for _, c := range s.classes[name] {
			// What must have no other hooks may have to hand a context on.
			if c.reason == "" || isHandOff(name) && c.reason == exemption(name) {
				found = append(found, c)
			}
		}
	}
	return found
}

// obstacles are the reasons for which classes of a name can have no hooks.
func (s *store) obstacles(name string) (reasons []string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, c := range s.classes[name] {
		if c.reason != "" {
			reasons = append(reasons, c.reason)
		}
	}
	return reasons
}

// fileOf is the class file of a class by its handle.
func (s *store) fileOf(name string, handle uint32) []byte {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, c := range s.classes[name] {
		if c.handle == handle {
			return c.file
		}
	}
	return nil
}
