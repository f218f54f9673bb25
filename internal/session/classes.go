package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// classTable is what the session knows of individual classes. state.lock guards it.
// Class files of loaded classes are kept here so that hooks can be installed without asking
// a class loader: a thread that waits for hooks may hold the loader's lock.
type classTable struct {
	names   map[string]*namedClasses
	handles map[uint32]*loadedClass // classes that are known or in a batch, and classes that the JVM has refused
	pending map[string]*pendingClass
}

// namedClasses are the classes of one name: several loaders may each have one.
type namedClasses struct {
	known   []*loadedClass
	shown   [][]byte // class files shown while they loaded, of classes without a handle so far
	woven   int      // how many have hooks
	emptied bool     // they had hooks and are to have none
	replies lateReplies
}

// A loadedClass is a class that the JVM has loaded.
type loadedClass struct {
	handle, loader uint32
	name           string   // internal
	file           []byte   // its class file; nil where its loader finds none
	supers         []string // without a file: its superclass and interfaces
	reason         string   // why it gets no hooks; "" where it may
	mode           classMode
	isKnown        bool // Prefetch or Survey has looked for its file, or it was shown while it loaded
}

// A classMode says how the JVM's question about a loaded class is answered.
type classMode uint8

const (
	weavable classMode = iota
	viewed             // it is redefined only to see its bytes
	refused            // the JVM has refused to redefine it
)

// A pendingClass is a class name that is to be woven, or woven again, with the next
// batch.
type pendingClass struct {
	woven map[uint32]bool // classes of the name that are done, by handle
	tries int             // how often a class that is still loading was looked for in vain
	due   time.Time       // when it is looked for again
}

const (
	// A class that is loading may have to wait for others, or never come because its loader
	// lost a race with another thread. Waits double: all tries take ten seconds.
	firstRetry = 20 * time.Millisecond
	mostTries  = 9

	notLoaded = "it is not loaded"
)

func (t *classTable) init() {
	t.names, t.handles = make(map[string]*namedClasses), make(map[uint32]*loadedClass)
	t.pending = make(map[string]*pendingClass)
}

// named returns the classes of a name; it makes room for them where there are none.
func (t *classTable) named(name string) *namedClasses {
	n := t.names[name]
	if n == nil {
		n = &namedClasses{}
		t.names[strings.Clone(name)] = n
	}
	return n
}

// tidy removes a name of which nothing is known.
func (t *classTable) tidy(name string) {
	n := t.names[name]
	if n != nil && len(n.known)+len(n.shown)+n.woven == 0 && !n.emptied && n.replies == (lateReplies{}) {
		delete(t.names, name)
	}
}

func (t *classTable) woven(name string) int {
	if n := t.names[name]; n != nil {
		return n.woven
	}
	return 0
}

// isKnown reports whether the file of a loaded class was looked for.
func (t *classTable) isKnown(handle uint32) bool {
	c := t.handles[handle]
	return c != nil && c.isKnown
}

// add makes a class known. If several classes of its name were shown while they loaded it
// is not known which of them this is, so none of their files is used.
func (t *classTable) add(c *loadedClass) {
	if t.isKnown(c.handle) {
		return
	}
	if before := t.handles[c.handle]; before != nil {
		c.mode = before.mode
	}
	c.isKnown = true
	t.handles[c.handle] = c
	n := t.named(c.name)
	n.known = append(n.known, c)
	if shown := len(n.shown); shown > 1 {
		n.shown = make([][]byte, shown-1)
	} else {
		n.shown = nil
	}
}

// show keeps the file of a class that is loading. It reports whether no other class of
// its name is known.
func (t *classTable) show(name string, file []byte) (isOnly bool) {
	n := t.named(name)
	n.shown = append(n.shown, file)
	return len(n.shown) == 1 && len(n.known) == 0
}

// identify finds the handles of classes that were shown while they loaded. Where several
// of one name were, which file belongs to which is not known; then the JVM's own bytes
// are used.
func (t *classTable) identify(classes []control.Class) {
	found := make(map[string][]*loadedClass)
	for _, class := range classes {
		name := internalName(class)
		if !t.isLoading(name) || t.isKnown(class.Handle) {
			continue
		}
		c := &loadedClass{handle: class.Handle, loader: class.Loader, name: name}
		if class.Flags&control.Modifiable == 0 {
			c.reason = unmodifiable
		}
		found[name] = append(found[name], c)
	}
	for name, fresh := range found {
		if shown := t.names[name].shown; len(fresh) == 1 && len(shown) == 1 {
			fresh[0].file = shown[0]
		}
		for _, c := range fresh {
			t.add(c)
		}
	}
}

// isLoading reports whether a class of a name was shown while it loaded and has no handle
// so far.
func (t *classTable) isLoading(name string) bool {
	n := t.names[name]
	return n != nil && len(n.shown) > 0
}

// giveUp stops waiting for classes of a name. It reports whether others are known.
func (t *classTable) giveUp(name string) bool {
	n := t.names[name]
	if n == nil {
		return false
	}
	n.shown = nil
	t.tidy(name)
	return len(n.known) > 0
}

// missing returns the names of which no class is known, or of which one is loading.
func (t *classTable) missing(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		n := t.names[name]
		return n != nil && len(n.known) > 0 && len(n.shown) == 0
	})
}

// find returns the known classes of some names that can have hooks.
func (t *classTable) find(names []string) (found []*loadedClass) {
	for _, name := range names {
		n := t.names[name]
		if n == nil {
			continue
		}
		for _, c := range n.known {
			// A class that must have no other hooks may hand a context on.
			if c.reason == "" || instrument.IsHandOff(name) && c.reason == instrument.Exemption(name) {
				found = append(found, c)
			}
		}
	}
	return found
}

// file returns the class file of a loaded class; nil where it is not known.
func (t *classTable) file(handle uint32) []byte {
	if c := t.handles[handle]; c != nil {
		return c.file
	}
	return nil
}

// beginBatch registers classes that are about to be redefined, with the files they are
// woven from, and returns their handles.
func (t *classTable) beginBatch(classes []*loadedClass) []uint32 {
	handles := make([]uint32, 0, len(classes))
	for _, c := range classes {
		handles = append(handles, c.handle)
		switch known := t.handles[c.handle]; {
		case known == nil:
			t.handles[c.handle] = c
		case c.file != nil:
			known.file = c.file
		}
	}
	return handles
}

// endBatch forgets the classes of a batch that are not known otherwise. What the JVM
// refuses stays refused.
func (t *classTable) endBatch(classes []*loadedClass) {
	for _, class := range classes {
		if c := t.handles[class.handle]; c != nil && !c.isKnown && c.mode != refused {
			delete(t.handles, class.handle)
		}
	}
}

// setPending marks a class to be woven, unless a newer mark is there.
func (t *classTable) setPending(name string, p *pendingClass) {
	if p.tries == 0 && len(p.woven) == 0 || t.pending[name] == nil {
		t.pending[strings.Clone(name)] = p
	}
}

// setStale marks a class to be woven because its targets have changed. isBare says that
// it has none left.
func (t *classTable) setStale(name string, isBare bool) {
	t.setPending(name, &pendingClass{})
	switch n := t.names[name]; {
	case isBare:
		t.named(name).emptied = true
		t.named(name).woven = 0
	case n != nil:
		n.emptied = false
	}
}

// takePending removes and returns the classes that are due.
func (t *classTable) takePending(now time.Time) map[string]*pendingClass {
	due := make(map[string]*pendingClass)
	for name, p := range t.pending {
		if !p.due.After(now) {
			due[name] = p
			delete(t.pending, name)
		}
	}
	return due
}

func (t *classTable) restorePending(classes map[string]*pendingClass) {
	for name, p := range classes {
		t.setPending(name, p)
	}
}

func (t *classTable) hasPending(now time.Time) bool {
	for _, p := range t.pending {
		if !p.due.After(now) {
			return true
		}
	}
	return false
}

// postpone returns how classes that are still loading are tried again, and those that
// are given up.
func postpone(classes map[string]*pendingClass, done []*loadedClass, now time.Time) (again map[string]*pendingClass, lost []string) {
	again = make(map[string]*pendingClass)
	for name, p := range classes {
		if p.tries == mostTries {
			lost = append(lost, name)
			continue
		}
		next := &pendingClass{woven: make(map[uint32]bool), tries: p.tries + 1, due: now.Add(firstRetry << p.tries)}
		maps.Copy(next.woven, p.woven)
		for _, c := range done {
			if c.name == name {
				next.woven[c.handle] = true
			}
		}
		again[name] = next
	}
	return again, lost
}

// LoadedClass is a class that the JVM has loaded.
type LoadedClass = universe.Loaded

func (c *loadedClass) export() LoadedClass {
	return LoadedClass{Name: c.name, Loader: c.loader, File: c.file, Reason: c.reason, Supers: c.supers}
}

// prefetch gets class files: see Look.Prefetch. It returns the files that it did not have.
func (s *Session) prefetch(ctx context.Context, wanted func(class string) bool, named func(class string) bool) ([]LoadedClass, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	return s.prefetchOf(ctx, classes, wanted, named)
}

// prefetchOf is prefetch with the list of the loaded classes.
func (s *Session) prefetchOf(ctx context.Context, classes []control.Class, wanted, named func(class string) bool) ([]LoadedClass, error) {
	fetched, err := s.fetchUnknown(ctx, classes, wanted)
	if err != nil {
		return nil, err
	}
	fetched = append(fetched, s.fileless(wanted, named)...)
	if err := s.capture(ctx, fetched, named); err != nil {
		return nil, err
	}
	return s.addClasses(fetched), nil
}

// fileless returns the wanted and named classes that were looked for before, whose loaders have no file, and
// that have no hooks.
func (s *Session) fileless(wanted, named func(class string) bool) (found []*loadedClass) {
	if named == nil {
		return nil
	}
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	for name, n := range s.state.classes.names {
		for _, c := range n.known {
			if c.file == nil && c.reason == "" && n.woven == 0 && wanted(name) && named(name) {
				found = append(found, c)
			}
		}
	}
	return found
}

// survey returns the loaded classes: see Look.Survey.
func (s *Session) survey(ctx context.Context, wanted func(class string) bool) ([]LoadedClass, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	fetched, err := s.fetchUnknown(ctx, classes, wanted)
	if err != nil {
		return nil, err
	}
	loaded := s.addClasses(fetched)
	for _, class := range classes {
		if name := internalName(class); !wanted(name) {
			loaded = append(loaded, LoadedClass{Name: name, Loader: class.Loader, Reason: obstacle(class)})
		}
	}
	return loaded, nil
}

// Known returns the classes that Prefetch or Survey has looked for, and classes that were
// shown while they loaded, by name. It asks the JVM for the loaders of the latter; a
// class that is still loading is not returned.
func (s *Session) Known(ctx context.Context) (all []LoadedClass, _ error) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	names := s.state.classes.names
	for name := range names {
		if !s.state.classes.isLoading(name) {
			continue
		}
		s.state.lock.Unlock()
		classes, err := s.peer.List(ctx)
		s.state.lock.Lock()
		if err != nil {
			return nil, s.explain(err)
		}
		s.state.classes.identify(classes)
		break
	}
	for _, n := range names {
		for _, c := range n.known {
			all = append(all, c.export())
		}
	}
	slices.SortFunc(all, func(a, b LoadedClass) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Loader, b.Loader))
	})
	return all, nil
}

func (s *Session) addClasses(fetched []*loadedClass) (loaded []LoadedClass) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	for _, c := range fetched {
		loaded = append(loaded, c.export())
		s.state.classes.add(c)
	}
	return loaded
}

// fetchUnknown gets the files of wanted classes that are not known yet, as far as their
// loaders have them.
func (s *Session) fetchUnknown(ctx context.Context, classes []control.Class, wanted func(class string) bool) ([]*loadedClass, error) {
	unknown, err := s.candidates(ctx, classes, func(c control.Class) bool {
		return wanted(internalName(c)) && !s.isKnown(c.Handle)
	})
	if err != nil {
		return nil, err
	}
	return unknown, s.fetch(ctx, unknown, func(*loadedClass) {})
}

func (s *Session) isKnown(handle uint32) bool {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return s.state.classes.isKnown(handle)
}

// candidates returns the wanted classes, with the reasons why some get no hooks. It
// asks one class of each loader whether it sees the hooks.
func (s *Session) candidates(ctx context.Context, classes []control.Class, wanted func(control.Class) bool) ([]*loadedClass, error) {
	var found []*loadedClass
	sample := make(map[uint32]uint32) // a class of each loader
	for _, class := range classes {
		if !wanted(class) {
			continue
		}
		c := &loadedClass{handle: class.Handle, loader: class.Loader, name: internalName(class), reason: obstacle(class)}
		found = append(found, c)
		if c.loader != 0 {
			sample[c.loader] = c.handle
		}
	}
	if len(sample) == 0 {
		return found, nil
	}
	blind, err := s.peer.Sees(ctx, slices.Collect(maps.Values(sample)))
	if err != nil {
		return nil, s.explain(err)
	}
	for _, c := range found {
		if reason := blind[sample[c.loader]]; c.loader != 0 && c.reason == "" && reason != "" {
			c.reason = blindLoader + reason
		}
	}
	return found, nil
}

const (
	unmodifiable = "the JVM does not allow it to be changed"
	blindLoader  = "its class loader cannot find Sonde's hook classes: "
)

// obstacle returns why no hook can be put into a class; "" where nothing prevents it,
// except perhaps its loader.
func obstacle(class control.Class) string {
	if class.Flags&control.Modifiable == 0 {
		return unmodifiable
	}
	return instrument.Exemption(internalName(class))
}

// fetch gets the files of classes from their loaders. visit receives each class.
func (s *Session) fetch(ctx context.Context, classes []*loadedClass, visit func(c *loadedClass)) error {
	byHandle := make(map[uint32]*loadedClass, len(classes))
	handles := make([]uint32, len(classes))
	for i, c := range classes {
		byHandle[c.handle], handles[i] = c, c.handle
	}
	if len(handles) == 0 {
		return nil
	}
	defer s.progress.begin("reading class files", len(handles))()
	err := s.peer.Fetch(ctx, handles, func(handle uint32, file []byte, supers []string) {
		s.progress.add()
		c := byHandle[handle]
		c.file, c.supers = slices.Clone(file), supers
		visit(c)
	})
	if err != nil {
		return s.explain(err)
	}
	return nil
}

const wasRefused = "the JVM refused to redefine the class"

// mostCaptured bounds how many classes are redefined only to see their bytes.
const mostCaptured = 500

// capture gets the bytes of classes that the program has made, so that no loader has
// their files: the JVM redefines them, and what it shows is kept. It is not asked where it
// would lose a part of the class by that.
func (s *Session) capture(ctx context.Context, classes []*loadedClass, named func(class string) bool) error {
	var seen []*loadedClass
	for _, c := range classes {
		if c.file == nil && c.reason == "" && (jdk.KeepsAll(s.jdk) || named != nil && named(c.name)) {
			seen = append(seen, c)
		}
	}
	if len(seen) == 0 || len(seen) > mostCaptured {
		return nil
	}
	table := &s.state.classes
	s.state.lock.Lock()
	seen = slices.DeleteFunc(seen, func(c *loadedClass) bool {
		before := table.handles[c.handle]
		if before != nil && before.mode == refused {
			c.reason = wasRefused
			return true
		}
		c.mode = viewed
		table.handles[c.handle] = c
		return false
	})
	handles := table.beginBatch(seen)
	s.state.lock.Unlock()
	slices.Sort(handles)
	var installation Installation
	err := s.install(ctx, handles, &installation)
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	s.state.captures.Batches = append(s.state.captures.Batches, installation.Batches...)
	for _, c := range seen {
		if c.mode == refused {
			c.reason = wasRefused
		} else {
			c.mode = weavable
		}
	}
	table.endBatch(seen)
	return err
}

// Captured returns what it cost so far to see classes whose loaders have no file.
func (s *Session) Captured() *Installation {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return &Installation{Batches: slices.Clone(s.state.captures.Batches)}
}

// isCaptured keeps the bytes of a class that is redefined only to see them.
func (s *state) isCaptured(class control.Transform) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := s.classes.handles[class.Handle]
	if c == nil || c.mode != viewed {
		return false
	}
	c.file = slices.Clone(class.Bytes)
	return true
}

func internalName(class control.Class) string { return strings.ReplaceAll(class.Name, ".", "/") }
