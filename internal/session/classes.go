package session

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
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

// Survey tells which classes are loaded, and gets the files of those that are wanted,
// as Prefetch does. No class is redefined for it: one that no loader has a file of is
// without. Of those that Prefetch or Survey has got before nothing is told again.
func (s *Session) Survey(ctx context.Context, wanted func(class string) bool) ([]LoadedClass, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	candidates, err := s.gather(ctx, classes, wanted)
	if err != nil {
		return nil, err
	}
	loaded := s.keepAll(candidates)
	for _, class := range classes {
		if name := internalName(class); !wanted(name) {
			loaded = append(loaded, LoadedClass{Name: name, Loader: class.Loader, Reason: obstacle(class)})
		}
	}
	return loaded, nil
}

// gather gets the files of classes that are wanted and not known yet, as far as their
// loaders have them.
func (s *Session) gather(ctx context.Context, classes []control.Class, wanted func(class string) bool) ([]candidate, error) {
	var candidates []candidate
	sample := make(map[uint32]uint32) // a class of each loader
	for _, class := range classes {
		c := candidate{handle: class.Handle, loader: class.Loader, name: internalName(class), reason: obstacle(class)}
		if !wanted(c.name) || s.store.has(c) {
			continue
		}
		candidates = append(candidates, c)
		sample[c.loader] = c.handle
	}
	blind, err := s.blindLoaders(ctx, sample)
	if err != nil {
		return nil, err
	}
	byHandle := make(map[uint32]*candidate, len(candidates))
	handles := make([]uint32, len(candidates))
	for i := range candidates {
		c := &candidates[i]
		if c.reason == "" && blind[c.loader] != "" {
			c.reason = "its class loader does not see the hooks: " + blind[c.loader]
		}
		byHandle[c.handle], handles[i] = c, c.handle
	}
	err = s.peer.Fetch(ctx, handles, func(handle uint32, file []byte, _ string) {
		byHandle[handle].file = slices.Clone(file)
	})
	if err != nil {
		return nil, s.explain(err)
	}
	return candidates, nil
}

// obstacle says why no hook can be put into a class; "" where nothing speaks against
// it but, perhaps, its loader.
func obstacle(class control.Class) string {
	if class.Flags&control.Modifiable == 0 {
		return "the JVM does not let it be changed"
	}
	return exemption(internalName(class))
}

// mostCaptured bounds how many classes are redefined for no other end than to see
// them.
const mostCaptured = 500

// capture gets the class files of classes that no loader has, because the program
// has made them: the JVM is asked to redefine them, and what it shows is kept. It
// is not asked where it would lose a part of the class by that.
func (s *Session) capture(ctx context.Context, classes []*candidate, named func(class string) bool) error {
	names := make(map[uint32]string)
	for _, c := range classes {
		if c.file == nil && c.reason == "" && (jdk.KeepsAll(s.jdk) || named != nil && named(c.name)) {
			names[c.handle] = c.name
		}
	}
	if len(names) == 0 || len(names) > mostCaptured {
		return nil
	}
	s.book.lock.Lock()
	s.book.captured = make(map[uint32][]byte, len(names))
	for handle, name := range names {
		s.book.captured[handle], s.book.handles[handle] = nil, name
	}
	s.book.lock.Unlock()
	handles := slices.Sorted(maps.Keys(names))
	var installation Installation
	err := s.install(ctx, handles, &installation)
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	s.book.capturing.Batches = append(s.book.capturing.Batches, installation.Batches...)
	for _, c := range classes {
		if s.book.bad[c.handle] && c.reason == "" {
			c.reason = "the JVM refuses to change it"
		}
		if file := s.book.captured[c.handle]; file != nil {
			c.file = file
		}
	}
	s.book.captured = nil
	return err
}

// Captured is what it took so far to see classes that no loader has a file of.
func (s *Session) Captured() *Installation {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	return &Installation{Batches: slices.Clone(s.book.capturing.Batches)}
}

// isCaptured keeps a class that was asked for to be seen.
func (b *book) isCaptured(class control.Transform) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if _, is := b.captured[class.Handle]; !is {
		return false
	}
	b.captured[class.Handle] = slices.Clone(class.Bytes)
	return true
}
