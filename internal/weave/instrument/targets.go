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

// Spots returns the spots of the methods of a class that the pattern matches and that have code.
func (p Pattern) Spots(class *classfile.Class) (spots []Spot, err error) {
	for i := range class.Methods {
		member := &class.Methods[i]
		name, descriptor, err := class.MemberName(member)
		if err != nil {
			return nil, err
		}
		m := classfile.MethodRef{Class: class.Name(), Name: string(name), Descriptor: string(descriptor)}
		if p.Methods.Match(m) && class.Find(member.Attributes, classfile.KindCode) != nil {
			spots = append(spots, Spot{MethodRef: m, Key: PlainKey, Flags: p.Flags | arena.On, Period: p.Period})
		}
	}
	return spots, nil
}

// A Hook is a method that gets a hook, and what the hook does. Without arena.On among
// its flags the hook is installed and does nothing.
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
	classes    map[string]*classTargets
	natives    map[uint32]int // how many sites call a native method, by its id
	reflection bool           // calls by reflection are reported
	handOff    bool           // tasks carry their context
}

// classTargets are the targets in one class that are not named by a pattern. Maps are
// keyed by name and descriptor of a method.
type classTargets struct {
	hooks map[string]Hook
	sites map[string]map[classfile.MethodRef]uint32 // by call: the id of the native method
	spots map[string][]*PlacedSpot                  // outermost first; lists are never modified

	// Whether the JDK's class is a target by AddReflection or AddHandOff.
	reflects, handsOff bool
}

// class returns the targets of a class, which may be modified. The lock is held.
func (t *targets) class(name string) *classTargets {
	c := t.classes[name]
	if c == nil {
		c = &classTargets{
			hooks: make(map[string]Hook), sites: make(map[string]map[classfile.MethodRef]uint32), spots: make(map[string][]*PlacedSpot),
		}
		t.classes[name] = c
	}
	return c
}

// of returns the targets of a class, for reading while the lock is held.
func (t *targets) of(name string) (c classTargets) {
	if known := t.classes[name]; known != nil {
		c = *known
	}
	_, isReflective := reflective[name]
	c.reflects, c.handsOff = t.reflection && isReflective, t.handOff && IsHandOff(name)
	return c
}

// copyOf returns a copy of the targets of a class.
func (t *targets) copyOf(name string) classTargets {
	t.lock.Lock()
	defer t.lock.Unlock()
	c := t.of(name)
	c.hooks, c.sites, c.spots = maps.Clone(c.hooks), maps.Clone(c.sites), maps.Clone(c.spots)
	for member, calls := range c.sites {
		c.sites[member] = maps.Clone(calls)
	}
	return c
}

// AddHook adds a method. It reports whether that changes anything.
func (t *targets) AddHook(h Hook) (isNew bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	hooks := t.class(h.Class).hooks
	before, known := hooks[h.Member()]
	hooks[h.Member()] = h
	return !known || before != h
}

// AddSite adds a call. It reports whether the call is new.
func (w *Weaver) AddSite(site Site) (isNew bool) {
	id := w.ID(site.Native.MethodRef)
	w.targets.lock.Lock()
	defer w.targets.lock.Unlock()
	sites := w.targets.class(site.Caller.Class).sites
	calls := sites[site.Caller.Member()]
	if calls == nil {
		calls = make(map[classfile.MethodRef]uint32)
		sites[site.Caller.Member()] = calls
	}
	before, known := calls[site.Called]
	if known {
		w.targets.natives[before]--
	}
	calls[site.Called] = id
	w.targets.natives[id]++
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

// RemoveReflection reverses AddReflection. It reports whether that changes anything.
func (t *targets) RemoveReflection() (isChange bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	isChange, t.reflection = t.reflection, false
	return isChange
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
	spots := t.class(placed.Class).spots
	list := append(withoutKey(spots[placed.Member()], placed.Key), placed)
	slices.SortFunc(list, compareSpots)
	spots[placed.Member()] = list
}

// spot returns the spot with the same method and key; nil where there is none. The lock
// is held.
func (t *targets) spot(p *Spot) *PlacedSpot {
	for _, known := range t.of(p.Class).spots[p.Member()] {
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

// Removed is what Remove has removed.
type Removed struct {
	Hooks   []Hook // methods that have no hook any more
	Classes []string
	Spots   []*PlacedSpot
	HandOff bool
}

// Remove removes hooks, sites and spots, and with the last hook and spot the hand-offs. Classes
// names the classes of hooks and sites, which have to be woven again.
func (t *targets) Remove(request Request) (removed Removed) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for _, h := range request.Hooks {
		hooks := t.class(h.Class).hooks
		if _, is := hooks[h.Member()]; is {
			delete(hooks, h.Member())
			removed.Hooks = append(removed.Hooks, h)
			removed.Classes = append(removed.Classes, h.Class)
		}
	}
	for _, site := range request.Sites {
		sites := t.class(site.Caller.Class).sites
		calls := sites[site.Caller.Member()]
		id, is := calls[site.Called]
		if !is {
			continue
		}
		if delete(calls, site.Called); len(calls) == 0 {
			delete(sites, site.Caller.Member())
		}
		removed.Classes = append(removed.Classes, site.Caller.Class)
		if t.natives[id]--; t.natives[id] == 0 {
			removed.Hooks = append(removed.Hooks, site.Native)
		}
	}
	for i := range request.Spots {
		p := &request.Spots[i]
		known := t.spot(p)
		if known == nil {
			continue
		}
		removed.Spots = append(removed.Spots, known)
		spots := t.classes[p.Class].spots
		if spots[p.Member()] = withoutKey(spots[p.Member()], p.Key); len(spots[p.Member()]) == 0 {
			delete(spots, p.Member())
		}
	}
	if len(request.Spots)+len(request.Hooks) > 0 && t.handOff {
		removed.HandOff = true
		for _, c := range t.classes {
			removed.HandOff = removed.HandOff && len(c.spots)+len(c.hooks) == 0
		}
		t.handOff = !removed.HandOff
	}
	return removed
}

// Names reports whether a class contains a target that is not named by a pattern.
func (t *targets) Names(class string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	c := t.of(class)
	return len(c.hooks)+len(c.sites)+len(c.spots) > 0 || c.reflects || c.handsOff
}

// HasSpots reports whether a class has spots.
func (t *targets) HasSpots(class string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return len(t.of(class).spots) > 0
}

// HandsOff reports whether tasks carry their context through methods of a class.
func (t *targets) HandsOff(class string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.of(class).handsOff
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
// has no Hook.
func (t *targets) Setting(m classfile.MethodRef) (arena.Probe, bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	h, is := t.of(m.Class).hooks[m.Member()]
	return h.Probe(0), is
}
