package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
)

type (
	// Wanted is a pattern of methods that shall have hooks.
	Wanted = instrument.Pattern
	// Hook is a hook in one method.
	Hook = instrument.Hook
	// Site is a call in a method that shall have a hook around it.
	Site = instrument.Site
	// Request lists the hooks that a session is asked for.
	Request = instrument.Request
	// LeftAlone is a class or method without a hook, and the reason.
	LeftAlone = instrument.LeftAlone
	// Weavings counts the classes that were woven and those that the cache had.
	Weavings = instrument.Weavings
)

// WhyLowerBound says why the number of calls of a method is a lower bound.
const WhyLowerBound = instrument.WhyLowerBound

// An Installation is what putting hooks in cost.
type Installation struct {
	Batches   []Batch
	Loaded    int         // classes of the JVM
	Matched   int         // classes of the JVM that a pattern matches
	Unmatched []Unmatched // patterns of this call that match no loaded class
}

// A Batch is one retransformation.
type Batch struct {
	Classes int
	Took    time.Duration // of the call; the program runs meanwhile
	Cost    cost.Cost     // pauses of the program and work of the compilers
}

// Pause returns how long the program was stopped for all batches; false where the JVM
// does not report it.
func (i *Installation) Pause() (pause time.Duration, known bool) {
	known = true
	for _, batch := range i.Batches {
		pause += batch.Cost.Pause
		known = known && batch.Cost.Known.Pauses
	}
	return pause, known
}

// Instrument puts hooks into the methods that patterns match: in loaded classes, in few
// batches, and in other classes as they load. The hooks of all classes that are loaded
// when the last batch is in are switched on at one moment. What cannot have hooks is in
// LeftAlone.
func (s *Session) Instrument(ctx context.Context, wanted Wanted) (*Installation, error) {
	s.weaver.AddPattern(wanted)
	s.state.lock.Lock()
	s.state.installing++
	s.state.lock.Unlock()
	installation, err := s.installPatterns(ctx, wanted)
	s.state.lock.Lock()
	s.state.installing--
	s.state.lock.Unlock()
	if err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

func (s *Session) installPatterns(ctx context.Context, wanted Wanted) (*Installation, error) {
	// First the classes that load from now on, then the loaded ones: none is missed in
	// between, and a class that is found twice is woven once.
	if err := s.showLoading(ctx); err != nil {
		return nil, err
	}
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	selected, err := s.selectClasses(ctx, classes, s.weaver.Patterns())
	if err != nil {
		return nil, err
	}
	installation := &Installation{Loaded: len(classes), Matched: selected.matched, Unmatched: unmatched(wanted.Methods, classes)}
	for _, c := range selected.left {
		s.state.leave(c.name, c.reason)
	}
	err = s.installClasses(ctx, selected.picked, installation)
	s.state.lock.Lock()
	s.state.classes.endBatch(selected.picked)
	s.state.lock.Unlock()
	return installation, err
}

// batchSize bounds how many classes one pause redefines. Before JDK 15 the JVM looks
// through all loaded classes for each class of a batch while the program is stopped.
func (s *Session) batchSize() int {
	if s.jdk.Feature < 15 {
		return 25
	}
	return 1000
}

// installClasses retransforms classes in few batches.
func (s *Session) installClasses(ctx context.Context, classes []*loadedClass, installation *Installation) error {
	s.state.lock.Lock()
	handles := s.state.classes.beginBatch(classes)
	s.state.lock.Unlock()
	for batch := range slices.Chunk(handles, s.batchSize()) {
		if err := s.install(ctx, batch, installation); err != nil {
			return err
		}
	}
	return nil
}

// install retransforms a batch. Where the JVM refuses it, the batch is halved until the
// class at fault is alone. That class is reported and left alone; the others go in.
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
		s.state.refuse(handles[0], "the JVM refused it: "+firstLine(installed.Err))
		return nil
	}
	half := len(handles) / 2
	if err := s.install(ctx, handles[:half], installation); err != nil {
		return err
	}
	return s.install(ctx, handles[half:], installation)
}

// refuse records that the JVM does not redefine a class.
func (s *state) refuse(handle uint32, reason string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := s.classes.handles[handle]
	if c == nil {
		return // every class of a batch is registered
	}
	c.mode = refused
	s.spots.withdraw(c.name, reason)
	s.left[LeftAlone{Class: c.name, Reason: reason}] = true
}

// Hook puts hooks into methods of classes that Prefetch has found or that have loaded
// since, in as few batches as possible, and switches them as requested, all at one
// moment. For methods that have hooks only the switch is set. It also weaves what is
// pending (HasPending). It asks no class loader, so a thread of the program may wait for
// it.
func (s *Session) Hook(ctx context.Context, request Request) (*Installation, error) {
	s.addTargets(request)
	return s.installPending(ctx)
}

// Unhook takes out hooks that Hook has put in, in as few batches as possible: all are
// switched off at one moment, before the first is out. What they have measured stays. A
// class without further hooks is restored, and Close need not touch it again.
func (s *Session) Unhook(ctx context.Context, request Request) (*Installation, error) {
	s.removeTargets(request)
	if err := s.switchOn(ctx); err != nil {
		return &Installation{}, err
	}
	return s.installPending(ctx)
}

// addTargets adds targets. For methods that have hooks the switch is set; other classes
// become pending.
func (s *Session) addTargets(request Request) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	table := &s.state.classes
	for _, h := range request.Hooks {
		if s.weaver.AddHook(h) && !s.state.setHook(s.weaver.ID(h.MethodRef), h) {
			table.setStale(h.Class, false)
		}
	}
	for _, site := range request.Sites {
		native := site.Native
		s.state.addNative(s.weaver.ID(native.MethodRef), native)
		if s.weaver.AddSite(site) {
			table.setStale(site.Caller.Class, false)
		}
	}
	if request.Reflection && s.weaver.AddReflection() {
		for _, class := range instrument.ReflectiveClasses() {
			table.setStale(class, false)
		}
	}
}

// removeTargets removes targets and switches their hooks off. Their classes become
// pending.
func (s *Session) removeTargets(request Request) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	gone, stale := s.weaver.Remove(request)
	for _, h := range gone {
		s.state.removeHook(s.weaver.ID(h.MethodRef))
	}
	for _, class := range stale {
		s.state.classes.setStale(class, !s.weaver.Names(class))
	}
}

// installPending weaves the pending classes and switches their hooks on.
func (s *Session) installPending(ctx context.Context) (*Installation, error) {
	installation := &Installation{}
	pending := s.takePending(time.Now())
	if err := s.installDue(ctx, pending, installation); err != nil {
		s.restorePending(pending)
		return installation, err
	}
	if err := s.startReflection(ctx); err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

// HasPending reports whether Hook has to do something that was requested before: a class
// that loaded made hooks necessary in other classes, or a class was not found so far. Hook
// with an empty request does it.
func (s *Session) HasPending() bool {
	isReflecting := s.weaver.HasReflection()
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return isReflecting && !s.state.reflecting || s.state.classes.hasPending(time.Now())
}

func (s *Session) takePending(now time.Time) map[string]*pendingClass {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return s.state.classes.takePending(now)
}

func (s *Session) restorePending(pending map[string]*pendingClass) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	s.state.classes.restorePending(pending)
}

// installDue weaves pending classes. Classes that are still loading stay pending.
func (s *Session) installDue(ctx context.Context, pending map[string]*pendingClass, installation *Installation) error {
	if len(pending) == 0 {
		return nil
	}
	found, loading, err := s.findPending(ctx, pending)
	if err != nil {
		return err
	}
	if err := s.installClasses(ctx, found, installation); err != nil {
		return err
	}
	again, lost := postpone(loading, found, time.Now())
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	s.state.classes.restorePending(again)
	for _, name := range lost {
		if !s.state.classes.giveUp(name) {
			s.state.left[LeftAlone{Class: name, Reason: notLoaded}] = true
		}
	}
	return nil
}

const (
	listings    = 5
	listingWait = 4 * time.Millisecond
)

// findPending returns the loaded classes that are pending, and the names of which more
// are still loading. Classes that have loaded since the last listing have no handle yet:
// then classes are listed again, several times where a name is looked for the first time
// and is still loading.
func (s *Session) findPending(ctx context.Context, pending map[string]*pendingClass) (found []*loadedClass, loading map[string]*pendingClass, err error) {
	table := &s.state.classes
	names := slices.Sorted(maps.Keys(pending))
	missing := s.missing(names)
	for i := 0; len(missing) > 0 && i < listings; i++ {
		if i > 0 {
			if !s.isWorthWaiting(missing, pending) {
				break
			}
			time.Sleep(listingWait)
		}
		classes, err := s.peer.List(ctx)
		if err != nil {
			return nil, nil, s.explain(err)
		}
		s.identify(classes)
		missing = s.missing(missing)
	}
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	loading = make(map[string]*pendingClass)
	for _, name := range missing {
		if table.isLoading(name) {
			loading[name] = pending[name]
		} else {
			s.state.left[LeftAlone{Class: name, Reason: notLoaded}] = true
		}
	}
	for _, c := range table.find(names) {
		if !pending[c.name].woven[c.handle] {
			found = append(found, c)
		}
	}
	return found, loading, nil
}

func (s *Session) missing(names []string) []string {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return s.state.classes.missing(names)
}

// isWorthWaiting reports whether a name is looked for the first time, and a class is
// still loading.
func (s *Session) isWorthWaiting(missing []string, pending map[string]*pendingClass) bool {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return slices.ContainsFunc(missing, func(name string) bool { return pending[name].tries == 0 }) &&
		slices.ContainsFunc(missing, s.state.classes.isLoading)
}

// startReflection makes the agent report calls by reflection, once that is requested and
// the JDK's own methods are woven for it.
func (s *Session) startReflection(ctx context.Context) error {
	s.state.lock.Lock()
	isDue := s.weaver.HasReflection() && !s.state.reflecting
	s.state.lock.Unlock()
	if !isDue {
		return nil
	}
	if err := s.peer.Follow(ctx, true); err != nil {
		return s.explain(err)
	}
	s.state.lock.Lock()
	s.state.reflecting = true
	s.state.lock.Unlock()
	return nil
}

// ID returns the id of a method's hook.
func (s *Session) ID(m classfile.MethodRef) uint32 {
	return s.weaver.ID(m)
}

// Weavings returns where woven classes came from so far.
func (s *Session) Weavings() Weavings { return s.weaver.Weavings() }

// HasCache reports whether woven classes are cached.
func (s *Session) HasCache() bool { return s.weaver.HasCache() }
