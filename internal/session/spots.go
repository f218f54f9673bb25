package session

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A SpotKind is what a spot is for.
type SpotKind uint8

// The kinds.
const (
	Watches SpotKind = iota // its calls are what somebody wants to know of
	Tags                    // a tag of the transaction gets its value here
	Anchors                 // its calls are elements of sequences
)

// A Form is which template watches a method.
type Form uint8

// The forms, of spots of kind Watches. Each has what those before it have.
const (
	Plain     Form = iota // a condition (0) at entry
	Late                  // and one (1) at exit
	Capturing             // and values (2 to 5) at entry, (6 to 9) at a return
)

// A Spot is one thing that is wanted of one method. Each has its own id, its own
// switch and its own hook, so a method may have several.
type Spot struct {
	Class, Name, Descriptor string // as class files have them
	// Key tells the spots of a method apart. The same spot has the same key in every
	// run, as its id comes of it.
	Key  string
	Kind SpotKind
	Form Form
	// Code are the conditions and values, by the numbers the template has for them;
	// where one is nil, or there are fewer, a condition always holds and a value is
	// null. Of Tags the only one, 0, is the value.
	Code   []weave.Lowered
	Flags  arena.Flags
	Period uint32
	// Of Anchors: the positions this method matches, by how they are reached. Of
	// Watches: those that Below, or Direct, must hold one of; none: nothing is asked.
	Below, Direct, First uint32
	Tag                  int    // the number, of Tags
	Groups               uint16 // of Watches: the tags by which results are told apart
	Context              uint8  // of Watches: the length of the chain of callers by which they are
}

func (p *Spot) member() string { return p.Name + p.Descriptor }

// full names a spot, and nothing else, in a session.
func (p *Spot) full() string { return p.Class + "." + p.member() + "#" + p.Key }

// A WatchRequest is what is to be watched besides what is already.
type WatchRequest struct {
	Spots []Spot
	// Without are spots that are taken out, in the same batches.
	Without []Spot
	// Bridges are compiler-made methods, class.name(descriptor), that do not count as
	// callers.
	Bridges []string
	// Fresh says that positions mean other elements than before: then the path of
	// every thread begins anew when the spots go on.
	Fresh bool
	// HandOff has context and tags go along with tasks from thread to thread.
	HandOff bool
}

// SpotID is the id of a spot's hook.
func (w *workshop) SpotID(p Spot) uint32 {
	return uint32(w.book.identify(p.Class, p.Name, p.Descriptor+"#"+p.Key))
}

// HooksClass is the internal name of the class by which conditions ask for tags.
func (w *workshop) HooksClass() string { return agent.HookClass() + "Tags" }

// rank is the order in which spots stand around their method, outermost first: what
// is watched sees the tags that are set at its own method, and the path as it was
// before that method was entered.
func (k SpotKind) rank() int {
	switch k {
	case Tags:
		return 0
	case Watches:
		return 1
	}
	return 2
}

// compareSpots orders the spots of one method.
func compareSpots(a, b *spot) int {
	return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(a.Key, b.Key))
}

// spotTemplates are what spots are woven by.
type spotTemplates struct {
	anchor, tag, plain, watch, late, capture *weave.Template
}

// mostCode is how many conditions and values a template has: numbers 0 to 9.
const mostCode = FirstAtExit + arena.WatchValues

// of is the template of a spot and how many numbers its code may have.
func (t *spotTemplates) of(p *Spot) (template *weave.Template, codes int) {
	switch {
	case p.Kind == Anchors:
		return t.anchor, 0
	case p.Kind == Tags:
		return t.tag, 1
	case p.Form == Plain && !p.hasCode() && p.isEverywhere():
		return t.plain, 0
	case p.Form == Plain:
		return t.watch, 1
	case p.Form == Late:
		return t.late, 2
	}
	return t.capture, mostCode
}

// bind makes the template of a spot. Where its code cannot be had it says why.
func (w *workshop) bind(p *Spot, id uint32) (template *weave.Template, reason string) {
	template, codes := w.templates.spots.of(p)
	var all [mostCode]weave.Lowered
	for i, code := range p.Code {
		if code == nil {
			continue
		}
		if i >= codes {
			return nil, fmt.Sprintf("its hook has no place for condition %d", i)
		}
		all[i] = code
	}
	if codes == 0 {
		return template.As(int32(id)), ""
	}
	bound, err := template.Bind(all[:]...)
	if err != nil {
		return nil, firstLine(err.Error())
	}
	return bound.As(int32(id)), ""
}

// compileSpotTemplates compiles what spots and hand-offs are woven by.
func (w *workshop) compileSpotTemplates() (err error) {
	t := &w.templates.spots
	for _, one := range []struct {
		to     **weave.Template
		source func() ([]byte, string)
	}{
		{&t.anchor, agent.AnchorTemplate},
		{&t.tag, agent.TagTemplate},
		{&t.plain, agent.PlainTemplate},
		{&t.watch, agent.WatchTemplate},
		{&t.late, agent.LateTemplate},
		{&t.capture, agent.CaptureTemplate},
	} {
		if *one.to, err = w.compile(one.source); err != nil {
			return err
		}
	}
	// What a constructor begins must end also where super(...) throws.
	t.anchor, t.tag = t.anchor.BehindSuper(), t.tag.BehindSuper()
	w.templates.handOff = make([]*weave.Template, len(handOffMethods))
	for i := range handOffMethods {
		if w.templates.handOff[i], err = w.compile(handOffMethods[i].template); err != nil {
			return err
		}
	}
	return nil
}

// callsMethods reports whether code calls methods of the program or of the JDK, which
// may have hooks. Sonde's own have none.
func callsMethods(codes []weave.Lowered) bool {
	mayBeHooked := func(class string) bool { return !isHooksClass(class) }
	for _, code := range codes {
		for _, at := range moments {
			if code == nil {
				continue
			}
			f, err := code.Lower(at) // where it fails it does not run at that moment
			if err == nil && f.Calls(mayBeHooked) {
				return true
			}
		}
	}
	return false
}

// A spot is a Spot that is wanted, and what is woven for it. It is never modified.
type spot struct {
	Spot
	id       uint32
	template *weave.Template // with its id and its code; nil where that cannot be
	reason   string          // why
	pure     bool            // its code calls no method that might have a hook
	print    string          // tells its code from any other; empty where nothing is kept
}

// HasSameCode reports whether the conditions and values of two spots are the same.
func (p *Spot) HasSameCode(other *Spot) bool { return isSameCode(p.Code, other.Code) }

// isSame reports whether another spot of the same name has the same code woven.
func (p *spot) isSame(other *Spot) bool {
	return p.Kind == other.Kind && p.Form == other.Form && p.HasSameCode(other)
}

// isEverywhere reports whether a spot asks for no context.
func (p *Spot) isEverywhere() bool { return p.Below|p.Direct == 0 }

// hasCode reports whether the spot has a condition or a value.
func (p *Spot) hasCode() bool {
	return slices.ContainsFunc(p.Code, func(c weave.Lowered) bool { return c != nil })
}

func (p *spot) leftAlone(reason string) LeftAlone {
	return LeftAlone{Class: p.Class, Method: p.member(), Reason: reason}
}

func isSameCode(a, b []weave.Lowered) bool {
	for i := range max(len(a), len(b)) {
		var one, two weave.Lowered
		if i < len(a) {
			one = a[i]
		}
		if i < len(b) {
			two = b[i]
		}
		if !isSameLowered(one, two) {
			return false
		}
	}
	return true
}

var moments = []weave.Moment{weave.AtEntry, weave.AtReturn, weave.AtThrow}

// isSameLowered compares what comes out: what was made of the same text twice is the
// same.
func isSameLowered(a, b weave.Lowered) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	for _, at := range moments {
		one, oneErr := a.Lower(at)
		two, twoErr := b.Lower(at)
		if (oneErr == nil) != (twoErr == nil) || oneErr == nil && !reflect.DeepEqual(one, two) {
			return false
		}
	}
	return true
}

// addSpots notes spots. The classes that have to be woven, or woven again, for them
// are owed from then on. Of a spot that is known with the same code only the setting
// changes.
func (w *workshop) addSpots(spots []Spot) {
	for i := range spots {
		p := &spots[i]
		known := w.choices.spot(p)
		made := &spot{Spot: *p, id: w.SpotID(*p)}
		isKnown := known != nil && known.isSame(p)
		if isKnown && known.template != nil {
			made.template, made.pure, made.print = known.template, known.pure, known.print
		} else {
			made.template, made.reason = w.bind(p, made.id)
			made.pure = !callsMethods(p.Code)
			made.print = w.fingerprint(p.Code)
		}
		if _, err := arena.WatchTable([]arena.WatchEntry{made.entry()}); err != nil {
			made.template, made.reason = nil, err.Error() // no table could have it
		}
		w.book.setSpot(made)
		w.choices.putSpot(made, !isKnown || (known.template == nil) != (made.template == nil))
	}
}

// spot finds what is known of a spot; nil where nothing is.
func (c *choices) spot(p *Spot) *spot {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, known := range c.spots[p.Class][p.member()] {
		if known.Key == p.Key {
			return known
		}
	}
	return nil
}

// putSpot notes a spot, in the place of one of the same name.
func (c *choices) putSpot(made *spot, isNew bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.spots == nil {
		c.spots = make(map[string]map[string][]*spot)
	}
	if c.spots[made.Class] == nil {
		c.spots[made.Class] = make(map[string][]*spot)
	}
	// Whoever weaves meanwhile has the old list.
	list := without(c.spots[made.Class][made.member()], made.Key)
	list = append(list, made)
	slices.SortFunc(list, compareSpots)
	c.spots[made.Class][made.member()] = list
	if isNew {
		c.owe(made.Class, &debt{})
		delete(c.emptied, made.Class)
	}
}

func without(list []*spot, key string) []*spot {
	return slices.DeleteFunc(slices.Clone(list), func(p *spot) bool { return p.Key == key })
}

// spotsOf are the spots of a method, outermost first.
func (c *choices) spotsOf(class, member string) []*spot {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.spots[class][member]
}

// spotted are the methods of a class that have spots, by name and descriptor.
func (c *choices) spotted(class string) []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	var members []string
	for member := range c.spots[class] {
		members = append(members, member)
	}
	slices.Sort(members)
	return members
}

// removeSpots forgets spots. Their classes are owed from then on. With the last one
// go the hand-offs.
func (s *Session) removeSpots(spots []Spot) {
	if len(spots) == 0 {
		return
	}
	gone, bare := s.choices.removeSpots(spots, s.book.wovenSpots(), s.book.wovenOf(HandOffClasses()))
	for _, id := range gone {
		s.book.dropSpot(id)
	}
	for _, class := range bare {
		s.book.empty(class)
	}
}

// removeSpots is given the spots that are woven, by id, and the classes that are for
// hand-offs. It gives the ids of the spots, and the classes that have nothing left.
func (c *choices) removeSpots(spots []Spot, woven map[uint32]bool, handing []string) (gone []uint32, bare []string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	stale := make(map[string]bool)
	for i := range spots {
		p := &spots[i]
		members := c.spots[p.Class]
		for _, known := range members[p.member()] {
			if known.Key != p.Key {
				continue
			}
			if members[p.member()] = without(members[p.member()], p.Key); len(members[p.member()]) == 0 {
				delete(members, p.member())
			}
			gone = append(gone, known.id)
			if woven[known.id] {
				stale[p.Class] = true
			}
			break
		}
		if len(members) == 0 {
			delete(c.spots, p.Class)
		}
	}
	if len(c.spots) == 0 && c.handOff {
		c.handOff = false
		for _, class := range handing {
			stale[class] = true
		}
	}
	for class := range stale {
		if c.redo(class) {
			bare = append(bare, class)
		}
	}
	return gone, bare
}

// isBare reports whether nothing of a class was chosen by name. The lock is held.
func (c *choices) isBare(class string) bool {
	_, reflects := reflective[class]
	return len(c.hooks[class]) == 0 && !c.callers[class] && len(c.spots[class]) == 0 &&
		!(reflects && c.reflection) && !(c.handOff && isHandOff(class))
}
