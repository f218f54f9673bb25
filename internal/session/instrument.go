package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
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
	// Weavings counts the classes that were woven and the classes that came from the cache.
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
	Cost    cost.Cost // pauses of the program and work of the compilers
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

// batchSize bounds how many classes one pause redefines. Before JDK 15 the JVM looks
// through all loaded classes for each class of a batch while the program is stopped. Between two
// batches Sonde can stop.
func (s *Session) batchSize() int {
	if s.jdk.Feature < 15 {
		return 25
	}
	return 250
}

// installClasses retransforms classes in few batches.
func (s *Session) installClasses(ctx context.Context, classes []*loadedClass, installation *Installation) error {
	s.state.lock.Lock()
	handles := s.state.classes.beginBatch(classes)
	s.state.lock.Unlock()
	defer s.progress.begin(s.step, len(handles))()
	for batch := range slices.Chunk(handles, s.batchSize()) {
		if err := s.install(ctx, batch, installation); err != nil {
			return err
		}
	}
	return nil
}

// install retransforms a batch. If the JVM refuses it, install splits it in halves until it
// finds the class that causes the failure. That class is reported and gets no hooks.
func (s *Session) install(ctx context.Context, handles []uint32, installation *Installation) error {
	before, _ := s.meter.Read()
	installed, err := s.peer.Install(ctx, handles)
	if err != nil {
		return s.explain(err)
	}
	after, _ := s.meter.Read()
	cost := before.Until(after)
	s.Arena.AddBatchCost(cost.Pause, cost.CompileCPU)
	installation.Batches = append(installation.Batches, Batch{
		Classes: len(handles) - len(installed.Gone), Cost: cost,
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

// A Change is a change of the hooks that a session is asked for by name.
type Change struct {
	Add, Remove Request
	// Bridges are methods made by the compiler, class.name(descriptor), that do not count
	// as callers.
	Bridges []string
	// ResetPaths says that positions mean other elements than before: the path of every
	// thread is cleared when the spots go on.
	ResetPaths bool
	// HandOff makes tasks carry context and tags from thread to thread, until the last hook and
	// the last spot are removed.
	HandOff bool
	// TimeTasks records when tasks are submitted, for spots of tasks.
	TimeTasks bool
}

// update makes the change that the looks together want.
func (s *Session) update(ctx context.Context, change Change) (*Installation, error) {
	installation := &Installation{}
	if len(change.Remove.Hooks)+len(change.Remove.Sites)+len(change.Remove.Spots) > 0 || change.Remove.Reflection {
		s.removeTargets(change.Remove)
		if err := s.switchOn(ctx); err != nil {
			return installation, err
		}
	}
	if change.Remove.Reflection {
		if err := s.stopReflection(ctx); err != nil {
			return installation, err
		}
	}
	if err := s.installChange(ctx, change, installation); err != nil {
		return installation, err
	}
	if err := s.startReflection(ctx); err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

// installChange weaves what is pending, with new spots switched off.
func (s *Session) installChange(ctx context.Context, change Change, installation *Installation) error {
	isAdding := len(change.Add.Spots) > 0
	s.state.lock.Lock()
	if isAdding {
		s.state.installing++
	}
	spots := &s.state.spots
	spots.resetPaths = spots.resetPaths || change.ResetPaths
	for _, bridge := range change.Bridges {
		spots.bridges[bridge] = true
	}
	s.state.lock.Unlock()
	if isAdding {
		defer s.state.endInstalling()
	}
	s.addTargets(change.Add)
	if change.HandOff || change.TimeTasks {
		if err := s.startHandOff(ctx, change); err != nil {
			return err
		}
	}
	s.state.lock.Lock()
	asksLoaders := len(spots.spots) > 0 || len(change.Remove.Spots) > 0
	pending := s.state.classes.takePending(time.Now())
	s.state.lock.Unlock()
	if err := s.installDue(ctx, pending, asksLoaders, installation); err != nil {
		s.state.lock.Lock()
		defer s.state.lock.Unlock()
		s.state.classes.restorePending(pending)
		return err
	}
	s.reportHandOffs()
	return nil
}

// prefetchPending gets the files of pending classes that are not known: they loaded before
// anybody was asked about them, or again in another loader.
func (s *Session) prefetchPending(ctx context.Context, pending map[string]*pendingClass) error {
	isPending := func(class string) bool { return pending[class] != nil }
	if _, err := s.prefetch(ctx, isPending, isPending); err != nil {
		return err
	}
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	for class := range pending {
		if n := s.state.classes.names[class]; n != nil && s.weaver.HasSpots(class) {
			for _, c := range n.known {
				if c.reason != "" {
					s.state.left[LeftAlone{Class: class, Reason: c.reason}] = true
				}
			}
		}
	}
	return nil
}

// addTargets adds targets. For methods that have hooks the switch is set; other classes
// become pending.
func (s *Session) addTargets(request Request) {
	s.addSpots(request.Spots)
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	table := &s.state.classes
	for _, h := range request.Hooks {
		if !s.weaver.AddHook(h) {
			continue
		}
		id := s.weaver.ID(h.MethodRef)
		if _, woven := s.state.methods[id]; woven {
			s.state.probes[id] = h.Probe(id)
		} else {
			table.setStale(h.Class, false)
		}
	}
	for _, site := range request.Sites {
		native := site.Native
		id := s.weaver.ID(native.MethodRef)
		s.state.add(Method{ID: id, MethodRef: native.MethodRef})
		s.state.probes[id] = native.Probe(id)
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
// pending. The hand-offs go with the last hook and spot.
func (s *Session) removeTargets(request Request) {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	removed := s.weaver.Remove(request)
	stale := make(map[string]bool)
	for _, class := range removed.Classes {
		stale[class] = true
	}
	for _, h := range removed.Hooks {
		id := s.weaver.ID(h.MethodRef)
		s.state.probes[id] = arena.Probe{ID: id} // off at once, and out with the next batch
		if m, woven := s.state.methods[id]; woven {
			s.state.past[id] = m
			delete(s.state.methods, id)
		}
	}
	for _, p := range removed.Spots {
		if s.state.spots.woven[p.ID] {
			stale[p.Class] = true
		}
		s.state.removeSpot(p.ID)
	}
	if removed.HandOff {
		s.state.spots.carries, s.state.spots.times = false, false
		for _, class := range instrument.HandOffClasses() {
			if s.state.classes.woven(class) > 0 {
				stale[class] = true
			}
		}
	}
	if request.Reflection && s.weaver.RemoveReflection() {
		for _, class := range instrument.ReflectiveClasses() {
			stale[class] = true
		}
	}
	for class := range stale {
		s.state.classes.setStale(class, !s.weaver.Names(class))
	}
}

// HasPending reports whether Update has to do something that was requested before: a class
// that loaded made hooks necessary in other classes, or a class was not found so far. An
// empty Change does it.
func (s *Session) HasPending() bool {
	isReflecting := s.weaver.HasReflection()
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	return isReflecting && !s.state.reflecting || s.state.classes.hasPending(time.Now())
}

// installDue weaves pending classes. Classes that are still loading stay pending.
func (s *Session) installDue(ctx context.Context, pending map[string]*pendingClass, asksLoaders bool, installation *Installation) error {
	if len(pending) == 0 {
		return nil
	}
	if asksLoaders {
		if err := s.prefetchPending(ctx, pending); err != nil {
			return err
		}
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
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	names := slices.Sorted(maps.Keys(pending))
	missing := table.missing(names)
	isNew := func(name string) bool { return pending[name].tries == 0 }
	for i := 0; len(missing) > 0 && i < listings; i++ {
		if i > 0 && (!slices.ContainsFunc(missing, isNew) || !slices.ContainsFunc(missing, table.isLoading)) {
			break
		}
		s.state.lock.Unlock()
		if i > 0 {
			time.Sleep(listingWait)
		}
		classes, err := s.peer.List(ctx)
		s.state.lock.Lock()
		if err != nil {
			return nil, nil, s.explain(err)
		}
		table.identify(classes)
		missing = table.missing(missing)
	}
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

// stopReflection ends the report of calls by reflection.
func (s *Session) stopReflection(ctx context.Context) error {
	s.state.lock.Lock()
	isOn := s.state.reflecting
	s.state.reflecting = false
	s.state.lock.Unlock()
	if !isOn {
		return nil
	}
	return s.explain(s.peer.Follow(ctx, false))
}

// ID returns the id of a method's hook.
func (s *Session) ID(m classfile.MethodRef) uint32 {
	return s.weaver.ID(m)
}

// Weavings returns where woven classes came from so far.
func (s *Session) Weavings() Weavings { return s.weaver.Weavings() }

// HasCache reports whether woven classes are cached.
func (s *Session) HasCache() bool { return s.weaver.HasCache() }
