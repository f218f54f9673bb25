package instrument

import (
	"maps"
	"slices"
	"sync"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Pattern names methods by patterns, and says what their hooks do.
type Pattern struct {
	Methods *pattern.Set
	Flags   arena.Flags
	Period  uint32 // of arena.Sampled
}

// Patterns are all patterns that were requested, in the order of the requests.
type Patterns []Pattern

// Find returns the first pattern that matches a method.
func (p Patterns) Find(m classfile.MethodRef) (Pattern, bool) {
	for _, one := range p {
		if one.Methods.Match(m) {
			return one, true
		}
	}
	return Pattern{}, false
}

// MatchClass reports whether a class may contain a method that a pattern matches.
func (p Patterns) MatchClass(class string) bool {
	return slices.ContainsFunc(p, func(one Pattern) bool { return one.Methods.MatchClass(class) })
}

// A Hook is a method that gets a hook, and what the hook does. Without arena.On among
// its flags the hook is put in and does nothing.
type Hook struct {
	classfile.MethodRef
	Flags  arena.Flags
	Period uint32 // of arena.Sampled
}

// Probe returns the switch table entry of the hook.
func (h Hook) Probe(id uint32) arena.Probe {
	return arena.Probe{ID: id, Flags: h.Flags, Period: h.Period}
}

// A Site is a call of a native method, which has no code that a hook could stand in.
type Site struct {
	Caller classfile.MethodRef
	Called classfile.MethodRef // as in the caller's class file
	Native Hook                // the native method that is called
}

// A Request lists targets by name.
type Request struct {
	Hooks []Hook
	Sites []Site
	Spots []Spot
	// Reflection reports methods that are called by reflection, and those for which
	// method handles are made, as arrivals.
	Reflection bool
}

// targets are the methods that get hooks. Weaver embeds them.
type targets struct {
	lock       sync.Mutex
	patterns   Patterns
	hooks      map[string]map[string]Hook                             // by class, then by name and descriptor
	sites      map[classfile.MethodRef]map[classfile.MethodRef]uint32 // by caller, then by call: the id of the native method
	callers    map[string]bool                                        // classes with a site
	spots      map[string]map[string][]*PlacedSpot                    // by class, then by name and descriptor; outermost first
	reflection bool                                                   // calls by reflection are reported
	handOff    bool                                                   // tasks carry their context
}

func (t *targets) init() {
	t.hooks, t.sites = make(map[string]map[string]Hook), make(map[classfile.MethodRef]map[classfile.MethodRef]uint32)
	t.callers, t.spots = make(map[string]bool), make(map[string]map[string][]*PlacedSpot)
}

// AddPattern adds the methods that a pattern matches.
func (t *targets) AddPattern(p Pattern) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.patterns = append(slices.Clone(t.patterns), p) // others may be reading the old list
}

// Patterns returns all patterns that were added.
func (t *targets) Patterns() Patterns {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.patterns
}

// AddHook adds a method. It reports whether that changes anything.
func (t *targets) AddHook(h Hook) (isNew bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	methods := t.hooks[h.Class]
	if methods == nil {
		methods = make(map[string]Hook)
		t.hooks[h.Class] = methods
	}
	before, known := methods[h.Member()]
	methods[h.Member()] = h
	return !known || before != h
}

// AddSite adds a call. It reports whether the call is new.
func (w *Weaver) AddSite(site Site) (isNew bool) {
	id := w.ID(site.Native.MethodRef)
	t := &w.targets
	t.lock.Lock()
	defer t.lock.Unlock()
	t.callers[site.Caller.Class] = true
	calls := t.sites[site.Caller]
	if calls == nil {
		calls = make(map[classfile.MethodRef]uint32)
		t.sites[site.Caller] = calls
	}
	_, known := calls[site.Called]
	calls[site.Called] = id
	return !known
}

// AddReflection adds the JDK's methods that call by reflection. It reports whether that
// is new.
func (t *targets) AddReflection() (isNew bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	isNew, t.reflection = !t.reflection, true
	return isNew
}

// HasReflection reports whether calls by reflection are reported.
func (t *targets) HasReflection() bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.reflection
}

// AddHandOff adds the JDK's methods through which tasks go from thread to thread. It
// reports whether that is new.
func (t *targets) AddHandOff() (isNew bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	isNew, t.handOff = !t.handOff, true
	return isNew
}

// AddSpot adds a spot that Place has made, instead of one with the same key.
func (t *targets) AddSpot(placed *PlacedSpot) {
	t.lock.Lock()
	defer t.lock.Unlock()
	members := t.spots[placed.Class]
	if members == nil {
		members = make(map[string][]*PlacedSpot)
		t.spots[placed.Class] = members
	}
	list := append(withoutKey(members[placed.Member()], placed.Key), placed)
	slices.SortFunc(list, compareSpots)
	members[placed.Member()] = list
}

// spot returns the spot with the same method and key; nil where there is none. The lock
// is held.
func (t *targets) spot(p *Spot) *PlacedSpot {
	for _, known := range t.spots[p.Class][p.Member()] {
		if known.Key == p.Key {
			return known
		}
	}
	return nil
}

// withoutKey returns a copy, as others may be reading the list.
func withoutKey(list []*PlacedSpot, key string) []*PlacedSpot {
	return slices.DeleteFunc(slices.Clone(list), func(p *PlacedSpot) bool { return p.Key == key })
}

// spotsOf returns the spots of a method, outermost first.
func (t *targets) spotsOf(class, member string) []*PlacedSpot {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.spots[class][member]
}

// spottedMembers returns the methods of a class that have spots, by name and descriptor.
func (t *targets) spottedMembers(class string) []string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return slices.Sorted(maps.Keys(t.spots[class]))
}

// Remove removes hooks and sites. It returns the methods that have no hook any more and
// the classes that have to be woven again.
func (t *targets) Remove(request Request) (gone []Hook, stale []string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	classes := make(map[string]bool)
	for _, h := range request.Hooks {
		if _, is := t.hooks[h.Class][h.Member()]; is {
			delete(t.hooks[h.Class], h.Member())
			gone = append(gone, h)
			classes[h.Class] = true
		}
	}
	for _, site := range request.Sites {
		if id, is := t.sites[site.Caller][site.Called]; is {
			delete(t.sites[site.Caller], site.Called)
			classes[site.Caller.Class] = true
			if !t.isCalled(id) {
				gone = append(gone, site.Native)
			}
		}
	}
	for class := range classes {
		t.updateCaller(class)
	}
	return gone, slices.Collect(maps.Keys(classes))
}

// updateCaller removes a class from the callers when its last site is gone.
func (t *targets) updateCaller(class string) {
	for caller, calls := range t.sites {
		if len(calls) > 0 && caller.Class == class {
			return
		}
	}
	delete(t.callers, class)
}

// isCalled reports whether a call of a native method has a hook.
func (t *targets) isCalled(native uint32) bool {
	for _, calls := range t.sites {
		for _, id := range calls {
			if id == native {
				return true
			}
		}
	}
	return false
}

// RemoveSpots removes spots, and with the last one the hand-offs. It returns the spots
// that were known, and whether the hand-offs were removed.
func (t *targets) RemoveSpots(spots []Spot) (removed []*PlacedSpot, handOff bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for i := range spots {
		p := &spots[i]
		known := t.spot(p)
		if known == nil {
			continue
		}
		removed = append(removed, known)
		members := t.spots[p.Class]
		if members[p.Member()] = withoutKey(members[p.Member()], p.Key); len(members[p.Member()]) == 0 {
			delete(members, p.Member())
		}
		if len(members) == 0 {
			delete(t.spots, p.Class)
		}
	}
	if len(t.spots) == 0 && t.handOff {
		t.handOff, handOff = false, true
	}
	return removed, handOff
}

// Names reports whether a class contains a target that is not named by a pattern.
func (t *targets) Names(class string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	_, reflects := reflective[class]
	return len(t.hooks[class]) > 0 || t.callers[class] || len(t.spots[class]) > 0 ||
		reflects && t.reflection || t.handOff && IsHandOff(class)
}

// HasSpots reports whether a class has spots.
func (t *targets) HasSpots(class string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return len(t.spots[class]) > 0
}

// HandsOff reports whether tasks carry their context through methods of a class.
func (t *targets) HandsOff(class string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.handOff && IsHandOff(class)
}

// HandingOff returns the classes through which tasks carry their context.
func (t *targets) HandingOff() []string {
	t.lock.Lock()
	defer t.lock.Unlock()
	if !t.handOff {
		return nil
	}
	return HandOffClasses()
}

// Setting returns what the hook of a method does, without its id; false where the method
// is no target of a pattern or a Hook.
func (t *targets) Setting(m classfile.MethodRef) (arena.Probe, bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if p, is := t.patterns.Find(m); is {
		return arena.Probe{Flags: p.Flags | arena.On, Period: p.Period}, true
	}
	h, is := t.hooks[m.Class][m.Member()]
	return h.Probe(0), is
}

func (t *targets) hasHook(class, member string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	_, is := t.hooks[class][member]
	return is
}

// Natives returns the ids of the native methods whose calls are targets in a method.
func (t *targets) Natives(caller classfile.MethodRef) []uint32 {
	t.lock.Lock()
	defer t.lock.Unlock()
	return slices.Collect(maps.Values(t.sites[caller]))
}
