package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A watchBook is what is known of spots, and of the table of them that the agent has.
type watchBook struct {
	installing int                         // how many calls of Watch are under way
	spots      map[uint32]*spot            // wanted
	entries    map[uint32]arena.WatchEntry // what they are to do
	woven      map[uint32]bool             // those with a hook
	left       map[uint32]LeftAlone        // those without
	described  map[uint32]bool             // in the arena
	bridges    map[string]bool             // that are no callers
	sent       map[uint32]arena.WatchEntry // the agent's table
	told       int                         // how many bridges it was told of
	fresh      bool                        // positions mean other elements than in it
	missed     map[string]bool             // ways of handing tasks on that are not followed
	unsure     bool                        // the agent may have got another table: no answer came
}

func (w *watchBook) init() {
	w.spots, w.entries = make(map[uint32]*spot), make(map[uint32]arena.WatchEntry)
	w.woven, w.left, w.described = make(map[uint32]bool), make(map[uint32]LeftAlone), make(map[uint32]bool)
	w.missed = make(map[string]bool)
	w.bridges, w.sent = make(map[string]bool), make(map[uint32]arena.WatchEntry)
}

// setSpot notes what a spot is to do.
func (b *book) setSpot(p *spot) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.watch.spots[p.id] = p
	if p.template == nil {
		delete(b.watch.entries, p.id)
		return
	}
	b.watch.entries[p.id] = p.entry()
}

// dropSpot forgets a spot.
func (b *book) dropSpot(id uint32) {
	b.lock.Lock()
	defer b.lock.Unlock()
	w := &b.watch
	delete(w.spots, id)
	delete(w.entries, id)
	delete(w.woven, id)
	delete(w.left, id)
	if len(w.spots) == 0 {
		clear(w.bridges)
	}
}

// noteSpots keeps what became of the spots of a class that was woven. It gives
// the ids of those that do not yet do what they are to.
func (b *book) noteSpots(picked *picking) (off []uint32) {
	b.lock.Lock()
	defer b.lock.Unlock()
	w := &b.watch
	for id, left := range picked.left {
		if w.spots[id] != nil && !w.woven[id] {
			w.left[id] = left
		}
	}
	for _, spots := range picked.spots {
		for _, p := range spots {
			if w.spots[p.id] == nil {
				continue // taken out meanwhile
			}
			w.woven[p.id] = true
			delete(w.left, p.id)
			if p.Kind == Watches && !w.described[p.id] {
				w.described[p.id] = true
				// Readers want the method; several spots may be of one.
				m := Method{Class: p.Class, Name: p.Name, Descriptor: p.Descriptor}
				b.fresh = append(b.fresh, arena.Method{ID: p.id, Name: m.String(), LowerBound: picked.intrinsic[p.member()]})
			}
			if w.sent[p.id] != w.entries[p.id] {
				off = append(off, p.id)
			}
		}
	}
	return off
}

// withdraw takes a note back of a class that is not woven after all. The lock
// is held.
func (w *watchBook) withdraw(class, reason string) {
	for id := range w.woven {
		if p := w.spots[id]; p != nil && p.Class == class {
			delete(w.woven, id)
			delete(w.described, id)
			w.left[id] = p.leftAlone(reason)
		}
	}
}

// table is the table that has these entries, with what else the agent needs for it.
// The lock is held.
func (w *watchBook) table(entries map[uint32]arena.WatchEntry) (control.Watches, error) {
	ids := slices.Sorted(maps.Keys(entries))
	list := make([]arena.WatchEntry, len(ids))
	positions := make(map[string]uint32)
	for i, id := range ids {
		list[i] = entries[id]
		if p := w.spots[id]; p != nil && p.Kind == Anchors {
			positions[p.Class+"."+p.member()] |= p.First | p.Below | p.Direct
		}
	}
	made := control.Watches{Bridges: slices.Sorted(maps.Keys(w.bridges))}
	for _, member := range slices.Sorted(maps.Keys(positions)) {
		made.Anchors = append(made.Anchors, control.Anchor{Member: member, Positions: positions[member]})
	}
	var err error
	made.Table, err = arena.WatchTable(list)
	return made, err
}

// differs reports whether the agent has another table than it should.
func (w *watchBook) differs() bool {
	return w.unsure || w.fresh || w.told != len(w.bridges) || !maps.Equal(w.sent, w.entries)
}

// SpotState is a spot that is wanted and what became of it.
type SpotState struct {
	Spot
	ID    uint32
	Woven bool // its hook is in a class that is loaded
}

// Spots are those that are wanted, by name.
func (s *Session) Spots() []SpotState {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	var all []SpotState
	for id, p := range s.book.watch.spots {
		all = append(all, SpotState{p.Spot, id, s.book.watch.woven[id]})
	}
	slices.SortFunc(all, func(a, b SpotState) int { return strings.Compare(a.full(), b.full()) })
	return all
}

// wovenOf are those of some classes that are woven.
func (b *book) wovenOf(classes []string) []string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return slices.DeleteFunc(slices.Clone(classes), func(class string) bool { return b.classes[class] == 0 })
}

// wovenSpots are the spots with a hook, by id.
func (b *book) wovenSpots() map[uint32]bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	return maps.Clone(b.watch.woven)
}
