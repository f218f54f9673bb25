package session

import (
	"reflect"
	"slices"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
