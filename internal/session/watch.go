package session

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Watch puts spots into classes that are loaded, in few batches, and takes out those
// it is to go on without. What is taken out is off before the first batch, and what
// is new goes on at one moment, behind the last. Of a spot that is there with the
// same code only the setting changes. What cannot have its hook is in LeftAlone.
//
// It asks class loaders for files that Prefetch and Survey have not got. Classes that
// load later are the matter of OnLoading.
func (s *Session) Watch(ctx context.Context, request WatchRequest) (*Installation, error) {
	s.watching.Lock()
	defer s.watching.Unlock()
	s.removeSpots(request.Without)
	if err := s.switchOn(ctx); err != nil {
		return nil, err
	}
	installation, err := s.installSpots(ctx, request)
	if err != nil {
		return installation, err
	}
	if err := s.followReflection(ctx); err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

// Unwatch takes spots out, in few batches: all are off at one moment, before the
// first is out. What they have measured stays. A class that has none left is what it
// was. With the last spot go the hooks by which tasks carry their context.
func (s *Session) Unwatch(ctx context.Context, spots []Spot) error {
	_, err := s.Watch(ctx, WatchRequest{Without: spots})
	return err
}

// installSpots weaves what is owed, with all that is new switched off.
func (s *Session) installSpots(ctx context.Context, request WatchRequest) (*Installation, error) {
	s.book.beginWatch(&request)
	defer s.book.endWatch(&request)
	s.addSpots(request.Spots)
	installation := &Installation{}
	if err := s.startHandOff(ctx, request.HandOff); err != nil {
		return installation, err
	}
	debts := s.choices.take(time.Now())
	err := s.know(ctx, debts)
	if err == nil {
		s.nameObstacles(slices.Sorted(maps.Keys(debts)))
		err = s.pay(ctx, debts, installation)
	}
	if err != nil {
		s.choices.giveBack(debts)
		return installation, err
	}
	s.nameUnfollowed()
	return installation, nil
}

// know gets the files of classes that are owed, as far as they are not known: of
// those that loaded before anybody was asked about them, or have loaded again in
// another loader.
func (s *Session) know(ctx context.Context, debts map[string]*debt) error {
	if len(debts) == 0 {
		return nil
	}
	isOwed := func(class string) bool { return debts[class] != nil }
	_, err := s.Prefetch(ctx, isOwed, isOwed)
	return err
}

// nameObstacles names the classes with spots that can have no hooks.
func (s *Session) nameObstacles(classes []string) {
	for _, class := range classes {
		if len(s.choices.spotted(class)) == 0 {
			continue
		}
		for _, reason := range s.store.obstacles(class) {
			s.book.leave(class, reason)
		}
	}
}

// SwitchSpots sets what some spots do, by id, all at one moment and without weaving
// again. One that is being put in does as it was asked for until it is in.
func (s *Session) SwitchSpots(ctx context.Context, changes map[uint32]arena.Probe) error {
	s.switches.Lock()
	defer s.switches.Unlock()
	s.book.lock.Lock()
	entries := maps.Clone(s.book.watch.sent)
	for id, setting := range changes {
		setting.ID = id
		entry, is := s.book.watch.entries[id]
		if !is {
			continue
		}
		entry.Probe = setting
		s.book.watch.entries[id] = entry
		if _, has := entries[id]; has {
			entries[id] = entry
		}
	}
	isSame := maps.Equal(entries, s.book.watch.sent) && !s.book.watch.unsure
	s.book.lock.Unlock()
	if isSame {
		return nil
	}
	return s.sendWatches(ctx, entries, false)
}

// beginWatch has new spots stay off until endWatch. Where none is asked for, those of
// classes that load meanwhile go on as they would without.
func (b *book) beginWatch(request *WatchRequest) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if len(request.Spots) > 0 {
		b.watch.installing++
	}
	b.watch.fresh = b.watch.fresh || request.Fresh
	for _, bridge := range request.Bridges {
		b.watch.bridges[bridge] = true
	}
}

func (b *book) endWatch(request *WatchRequest) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if len(request.Spots) > 0 {
		b.watch.installing--
	}
}

// ContextLosses is how many tasks were handed on in two contexts at once, and so have
// none, and how many calls of anchors and tag points found no room.
func (s *Session) ContextLosses() (ambiguous, contexts uint64) { return s.arena.ContextLosses() }

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

// entry is what the hook of a spot reads. Its words are, by kind:
//
//	Watches   below | direct<<32    idle      groups | context<<32
//	Anchors   below | first<<32     direct    -
//	Tags      number                -         -
//
// Anchors and tags have nothing to be switched but by SwitchSpots, and so are on.
func (p *spot) entry() arena.WatchEntry {
	e := arena.WatchEntry{Probe: arena.Probe{ID: p.id, Flags: p.Flags, Period: p.Period}}
	switch p.Kind {
	case Watches:
		e.Words[0] = uint64(p.Below) | uint64(p.Direct)<<32
		e.Words[1] = p.idle()
		e.Words[2] = uint64(p.Groups) | uint64(p.Context)<<32
		if p.pure {
			e.Words[2] |= arena.WatchPure
		}
	case Anchors:
		e.Flags |= arena.On
		e.Words[0] = uint64(p.Below) | uint64(p.First)<<32
		e.Words[1] = uint64(p.Direct)
	case Tags:
		e.Flags |= arena.On
		e.Words[0] = uint64(p.Tag)
	}
	return e
}

// Where the capturing template has its values, behind the conditions at entry and exit.
const (
	FirstAtEntry = 2
	FirstAtExit  = FirstAtEntry + arena.WatchValues
)

// idle tells which values of a capturing template have no code.
func (p *spot) idle() uint64 {
	if p.Form != Capturing {
		return 0
	}
	var atEntry, atExit [arena.WatchValues]bool
	for i := range arena.WatchValues {
		atEntry[i], atExit[i] = p.lacks(FirstAtEntry+i), p.lacks(FirstAtExit+i)
	}
	return arena.Idle(atEntry, atExit)
}

func (p *spot) lacks(number int) bool { return number >= len(p.Code) || p.Code[number] == nil }

// switchSpots has spots do what they are to, all at one moment, unless some are on
// their way in. Where all do, it asks the JVM for nothing. The lock of switches is
// held.
func (s *Session) switchSpots(ctx context.Context) error {
	s.book.lock.Lock()
	var entries map[uint32]arena.WatchEntry
	isFresh := s.book.watch.fresh
	if s.book.watch.installing == 0 && s.book.watch.differs() {
		entries = maps.Clone(s.book.watch.entries)
	}
	s.book.lock.Unlock()
	if entries == nil {
		return nil
	}
	return s.sendWatches(ctx, entries, isFresh)
}

// switchLoadingSpots has the spots of a class that is being loaded do what they are
// to, and no others: its first call must find them on.
func (s *Session) switchLoadingSpots(ctx context.Context, ids []uint32) error {
	s.switches.Lock()
	defer s.switches.Unlock()
	s.describe()
	s.book.lock.Lock()
	w := &s.book.watch
	entries := maps.Clone(w.sent)
	if w.unsure && w.installing == 0 {
		entries = maps.Clone(w.entries)
	}
	for _, id := range ids {
		if entry, is := w.entries[id]; is {
			entries[id] = entry
		}
	}
	isSame := maps.Equal(entries, w.sent) && !w.unsure || w.installing > 0
	s.book.lock.Unlock()
	if isSame {
		return nil
	}
	return s.sendWatches(ctx, entries, false)
}

// sendWatches gives the agent the whole table, which it puts in the place of the one
// it has at one moment. The lock of switches is held.
func (s *Session) sendWatches(ctx context.Context, entries map[uint32]arena.WatchEntry, isFresh bool) error {
	s.book.lock.Lock()
	table, err := s.book.watch.table(entries)
	s.book.lock.Unlock()
	if err != nil {
		return err
	}
	table.Fresh = isFresh
	err = s.peer.Watches(ctx, table)
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	if err != nil {
		s.book.watch.unsure = true
		return s.explain(err)
	}
	w := &s.book.watch
	w.sent, w.told, w.unsure = entries, len(table.Bridges), false
	w.fresh = w.fresh && !isFresh
	return nil
}
