package session

import (
	"context"
	"maps"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
