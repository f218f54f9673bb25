package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/weave/original"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// batchSize bounds how many classes one pause redefines. Before JDK 15 each class
// of a batch has the JVM look through all that is loaded, with the program
// stopped all the while.
func (s *Session) batchSize() int {
	if s.jdk.Feature < 15 {
		return 25
	}
	return 1000
}

// An Installation is what putting hooks in took.
type Installation struct {
	Batches []Batch
	Loaded  int // classes of the JVM
	Matched int // of those, that a pattern names
	// Unmatched are the patterns, of this call, that name no class that is loaded.
	Unmatched []Unmatched
}

// A Batch is one retransformation.
type Batch struct {
	Classes int
	Took    time.Duration // of the call; the program runs meanwhile
	Cost    cost.Cost     // what stood still, and what the compilers did
}

// Pause is how long the program was stopped for all batches; false where a
// JVM does not tell.
func (i *Installation) Pause() (pause time.Duration, known bool) {
	known = true
	for _, batch := range i.Batches {
		pause += batch.Cost.Pause
		known = known && batch.Cost.Known.Pauses
	}
	return pause, known
}

// Instrument puts hooks into what is wanted: classes that are loaded, in few
// batches, and those that will be, as they load. The hooks of all that is loaded
// when the last batch is in go on at one moment. What cannot have hooks is in
// LeftAlone.
func (s *Session) Instrument(ctx context.Context, wanted Wanted) (*Installation, error) {
	s.book.lock.Lock()
	s.book.wanted = append(slices.Clone(s.book.wanted), wanted)
	s.book.installing++
	s.book.lock.Unlock()
	installation, err := s.installAll(ctx, wanted)
	s.book.lock.Lock()
	s.book.installing--
	s.book.lock.Unlock()
	if err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

func (s *Session) installAll(ctx context.Context, wanted Wanted) (*Installation, error) {
	// First those that load from now on, then those that are loaded: none is
	// missed in between, and one that is met twice is woven once.
	if err := s.showLoading(ctx); err != nil {
		return nil, err
	}
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	s.book.lock.Lock()
	wishes := wishes(s.book.wanted)
	s.book.lock.Unlock()
	chosen, err := s.choose(ctx, classes, wishes)
	if err != nil {
		return nil, err
	}
	installation := &Installation{Loaded: len(classes), Matched: chosen.matched, Unmatched: unmatched(wanted.Methods, classes)}
	handles := s.book.take(chosen)
	for batch := range slices.Chunk(handles, s.batchSize()) {
		if err := s.install(ctx, batch, installation); err != nil {
			return installation, err
		}
	}
	s.book.lock.Lock()
	clear(s.book.files)
	clear(s.book.handles)
	s.book.lock.Unlock()
	return installation, nil
}

// install has a batch retransformed. Where the JVM refuses it, it is halved
// until the guilty class is alone, which is then left alone and named; the rest
// goes in.
func (s *Session) install(ctx context.Context, handles []uint32, installation *Installation) error {
	before, _ := s.meter.Read()
	installed, err := s.peer.Install(ctx, handles)
	if err != nil {
		return s.explain(err)
	}
	after, _ := s.meter.Read()
	cost := before.Until(after)
	s.arena.AddBatchCost(cost.Pause, cost.CompileCPU)
	installation.Batches = append(installation.Batches, Batch{
		Classes: len(handles) - len(installed.Gone), Took: time.Duration(installed.Nanos), Cost: cost,
	})
	switch {
	case installed.Err == "":
		return nil
	case len(handles) == 1:
		s.quarantine(handles[0], installed.Err)
		return nil
	}
	half := len(handles) / 2
	if err := s.install(ctx, handles[:half], installation); err != nil {
		return err
	}
	return s.install(ctx, handles[half:], installation)
}

func (s *Session) quarantine(handle uint32, reason string) {
	s.book.lock.Lock()
	reason = "the JVM refused it: " + firstLine(reason)
	s.book.bad[handle] = true
	name := s.book.handles[handle]
	s.book.watch.withdraw(name, reason)
	s.book.lock.Unlock()
	s.book.leave(name, reason)
}

// A Hook is a method that is to have a hook, and what that is to do. Without
// arena.On among its flags the hook is put in and does nothing.
type Hook struct {
	Class, Name, Descriptor string // as class files have them
	Flags                   arena.Flags
	Period                  uint32 // of arena.Sampled
}

func (h Hook) member() string { return h.Name + h.Descriptor }
func (h Hook) full() string   { return h.Class + "." + h.member() }

// A Site is where a method calls a native one, which has no code a hook could
// stand in.
type Site struct {
	Class, Name, Descriptor string // of the caller
	// Owner, Called and CalledDescriptor name the call as the caller's class file
	// does.
	Owner, Called, CalledDescriptor string
	Native                          Hook // the method that is meant
}

func (s Site) caller() string { return s.Class + "." + s.Name + s.Descriptor }
func (s Site) called() string { return s.Owner + "." + s.Called + s.CalledDescriptor }

// A Request is what to put hooks into, by name.
type Request struct {
	Hooks []Hook
	Sites []Site
	// Reflection has calls by reflection, and method handles that are made, told as
	// arrivals.
	Reflection bool
}

// Hook puts hooks into methods of classes that Prefetch has found or that loaded
// since, in as few batches as can be, and switches them as the request says, all
// at one moment. Of methods that have hooks only the switch is set. It also does
// what is owed (Owes). It asks no class loader, so a thread of the program may wait
// for it.
func (s *Session) Hook(ctx context.Context, request Request) (*Installation, error) {
	installation := &Installation{}
	s.choices.add(&s.book, request)
	debts := s.choices.take(time.Now())
	if err := s.pay(ctx, debts, installation); err != nil {
		s.choices.giveBack(debts)
		return installation, err
	}
	if err := s.followReflection(ctx); err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

// pay weaves what is owed. Classes that are on their way in stay owed.
func (s *Session) pay(ctx context.Context, debts map[string]*debt, installation *Installation) error {
	if len(debts) == 0 {
		return nil
	}
	found, awaited, err := s.candidates(ctx, debts)
	if err != nil {
		return err
	}
	handles := s.book.take(&selection{picked: found})
	for batch := range slices.Chunk(handles, s.batchSize()) {
		if err := s.install(ctx, batch, installation); err != nil {
			return err
		}
	}
	again, lost := postpone(awaited, found, time.Now())
	s.choices.giveBack(again)
	for _, name := range lost {
		if !s.store.giveUp(name) {
			s.book.leave(name, notLoaded)
		}
	}
	return nil
}

// followReflection has the agent tell of calls by reflection once that is wanted
// and the JDK's own methods are woven for it.
func (s *Session) followReflection(ctx context.Context) error {
	s.choices.lock.Lock()
	isDue := s.choices.reflection && !s.choices.following
	s.choices.lock.Unlock()
	if !isDue {
		return nil
	}
	if err := s.peer.Follow(ctx, true); err != nil {
		return s.explain(err)
	}
	s.choices.lock.Lock()
	s.choices.following = true
	s.choices.lock.Unlock()
	return nil
}

const (
	listings    = 5
	listingWait = 4 * time.Millisecond
)

// candidates finds the loaded classes that are owed, and tells of which names more
// are on their way in. Those that have loaded since classes were last listed have no
// handle yet: then they are listed again, several times where one is on its way in
// for the first time.
func (s *Session) candidates(ctx context.Context, debts map[string]*debt) (found []candidate, awaited map[string]*debt, err error) {
	names := slices.Sorted(maps.Keys(debts))
	isFirst := func(name string) bool { return debts[name].tries == 0 }
	unmet := s.store.unmet(names)
	for i := 0; len(unmet) > 0 && i < listings; i++ {
		if i > 0 {
			if !slices.ContainsFunc(unmet, isFirst) || !slices.ContainsFunc(unmet, s.store.awaits) {
				break
			}
			time.Sleep(listingWait)
		}
		classes, err := s.peer.List(ctx)
		if err != nil {
			return nil, nil, s.explain(err)
		}
		s.store.meet(classes)
		unmet = s.store.unmet(unmet)
	}
	awaited = make(map[string]*debt)
	for _, name := range unmet {
		if s.store.awaits(name) {
			awaited[name] = debts[name]
		} else {
			s.book.leave(name, notLoaded)
		}
	}
	for _, c := range s.store.find(names) {
		if !debts[c.name].woven[c.handle] {
			found = append(found, c)
		}
	}
	return found, awaited, nil
}

// ID is the id of a method's hook.
func (s *Session) ID(class, name, descriptor string) uint32 {
	return uint32(s.book.identify(class, name, descriptor))
}

// IsHooked reports whether a method has a hook.
func (s *Session) IsHooked(id uint32) bool {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	_, is := s.book.methods[id]
	return is
}

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
