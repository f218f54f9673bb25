package session

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// choices are the methods that were asked for by name, and the calls of native
// ones.
type choices struct {
	lock       sync.Mutex
	hooks      map[string]map[string]Hook    // by class, then by name and descriptor
	sites      map[string]map[string]uint32  // by caller, then by what is called: the id of the native method
	callers    map[string]bool               // classes with a site
	reflection bool                          // calls by reflection are to be told
	following  bool                          // the agent was asked to tell them
	owed       map[string]*debt              // by class
	emptied    map[string]bool               // classes that had hooks and are to have none
	spots      map[string]map[string][]*spot // by class, then by name and descriptor; outermost first
	handOff    bool                          // tasks are to carry their context
}

// add notes a request. The classes that have to be woven, or woven again, for it
// are owed from then on; of methods that have hooks the switch is set.
func (c *choices) add(b *book, request Request) {
	stale := make(map[string]bool)
	for _, h := range request.Hooks {
		if c.addHook(h) && !b.set(h) {
			stale[h.Class] = true
		}
	}
	for _, site := range request.Sites {
		if c.addSite(b, site) {
			stale[site.Class] = true
		}
	}
	c.lock.Lock()
	if request.Reflection && !c.reflection {
		c.reflection = true
		for class := range reflective {
			stale[class] = true
		}
	}
	for class := range stale {
		c.owe(class, &debt{})
		delete(c.emptied, class)
	}
	c.lock.Unlock()
}

// addHook reports whether that says anything new.
func (c *choices) addHook(h Hook) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.hooks == nil {
		c.hooks = make(map[string]map[string]Hook)
	}
	methods := c.hooks[h.Class]
	if methods == nil {
		methods = make(map[string]Hook)
		c.hooks[h.Class] = methods
	}
	before, known := methods[h.member()]
	methods[h.member()] = h
	return !known || before != h
}

// addSite reports whether the site is new.
func (c *choices) addSite(b *book, site Site) bool {
	id := b.addNative(site.Native)
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.sites == nil {
		c.sites, c.callers = make(map[string]map[string]uint32), make(map[string]bool)
	}
	c.callers[site.Class] = true
	calls := c.sites[site.caller()]
	if calls == nil {
		calls = make(map[string]uint32)
		c.sites[site.caller()] = calls
	}
	_, known := calls[site.called()]
	calls[site.called()] = id
	return !known
}

func (c *choices) find(class, member string) (Hook, bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	h, is := c.hooks[class][member]
	return h, is
}

// natives are the ids of the native methods whose calls are chosen in a method.
func (c *choices) natives(caller string) []uint32 {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Collect(maps.Values(c.sites[caller]))
}

// has reports whether a class holds anything that was chosen by name.
func (c *choices) has(class string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return !c.isBare(class)
}

// set sets the switch of a method that has a hook; false where it has none.
func (b *book) set(h Hook) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	id, known := b.ids[h.full()]
	if _, woven := b.methods[id]; !known || !woven {
		return false
	}
	b.probes[id] = arena.Probe{ID: id, Flags: h.Flags, Period: h.Period}
	return true
}

// addNative notes a native method, whose hooks stand at its calls.
func (b *book) addNative(h Hook) uint32 {
	id := uint32(b.identify(h.Class, h.Name, h.Descriptor))
	b.lock.Lock()
	defer b.lock.Unlock()
	if _, known := b.methods[id]; !known {
		m := Method{ID: id, Class: h.Class, Name: h.Name, Descriptor: h.Descriptor}
		b.methods[id] = m
		b.fresh = append(b.fresh, arena.Method{ID: id, Name: m.String()})
	}
	b.probes[id] = arena.Probe{ID: id, Flags: h.Flags, Period: h.Period}
	return id
}

// A debt is a class that is to be woven, or woven again, with the next Hook.
type debt struct {
	woven map[uint32]bool // the classes of its name that are done, by handle
	tries int             // how often one that is on its way in was looked for in vain
	due   time.Time       // before that it is not looked for again
}

const (
	// A class on its way in may have to wait for others, or never come: its loader
	// then lost it to another thread. Waits double: all take ten seconds.
	firstRetry = 20 * time.Millisecond
	mostTries  = 9

	notLoaded = "it is not loaded"
)

// owe notes a debt, unless a newer one is there. The lock is held.
func (c *choices) owe(class string, d *debt) {
	if c.owed == nil {
		c.owed = make(map[string]*debt)
	}
	if d.tries == 0 && len(d.woven) == 0 || c.owed[class] == nil {
		c.owed[class] = d
	}
}

// oweLoaded notes a class that has loaded without its hooks; false where none of its
// methods was chosen by name.
func (c *choices) oweLoaded(class string) bool {
	if !c.has(class) {
		return false
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.owe(class, &debt{})
	return true
}

// settle takes a debt away: the class is being woven as it loads.
func (c *choices) settle(class string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.owed, class)
}

// take takes the debts that are due.
func (c *choices) take(now time.Time) map[string]*debt {
	c.lock.Lock()
	defer c.lock.Unlock()
	due := make(map[string]*debt)
	for class, d := range c.owed {
		if !d.due.After(now) {
			due[class] = d
			delete(c.owed, class)
		}
	}
	return due
}

// giveBack notes debts again that could not be settled.
func (c *choices) giveBack(debts map[string]*debt) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for class, d := range debts {
		c.owe(class, d)
	}
}

// owes reports whether there is anything for Hook to do.
func (c *choices) owes(now time.Time) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.reflection && !c.following {
		return true
	}
	for _, d := range c.owed {
		if !d.due.After(now) {
			return true
		}
	}
	return false
}

// Owes reports whether Hook has something to do that was asked for before: a class
// that loaded made hooks necessary in others, or was not found yet. Hook with an
// empty request does it.
func (s *Session) Owes() bool { return s.choices.owes(time.Now()) }

// postpone is what becomes of debts for classes that are on their way in: they are
// tried again, a few times. It gives those to be given up.
func postpone(debts map[string]*debt, done []candidate, now time.Time) (again map[string]*debt, lost []string) {
	again = make(map[string]*debt)
	for class, d := range debts {
		if d.tries == mostTries {
			lost = append(lost, class)
			continue
		}
		next := &debt{woven: make(map[uint32]bool), tries: d.tries + 1, due: now.Add(firstRetry << d.tries)}
		for handle := range d.woven {
			next.woven[handle] = true
		}
		for _, c := range done {
			if c.name == class {
				next.woven[c.handle] = true
			}
		}
		again[class] = next
	}
	return again, lost
}
