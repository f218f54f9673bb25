package session

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// switches is what is known of the switch table that the agent has.
type switches struct {
	sent map[uint32]arena.Probe // its entries
	room int                    // how many more it may get
	// unsure says that the agent may have got another table: no answer came.
	unsure bool
}

// missing are those of some hooks that do not do what they are to. One that is off
// does nothing, as one does that has no entry.
func (t *switches) missing(probes map[uint32]arena.Probe, ids []uint32) []uint32 {
	return slices.DeleteFunc(slices.Clone(ids), func(id uint32) bool {
		wanted, is := probes[id]
		sent, has := t.sent[id]
		return !is || has && sent == wanted || !has && wanted.Flags&arena.On == 0
	})
}

// differs reports whether any hook does not do what it is to.
func (t *switches) differs(probes map[uint32]arena.Probe) bool {
	if t.unsure {
		return true
	}
	for id, wanted := range probes {
		if sent, has := t.sent[id]; has && sent != wanted || !has && wanted.Flags&arena.On != 0 {
			return true
		}
	}
	return false
}

// roomPerMethod is what a method's name and its share of the spill table take of
// the arena, and some more.
const roomPerMethod = 1 << 10

// switchOn has hooks do what they are to, all at one moment. Where all do, it asks
// the JVM for nothing.
func (s *Session) switchOn(ctx context.Context) error {
	s.switches.Lock()
	defer s.switches.Unlock()
	s.describe()
	s.book.lock.Lock()
	var probes map[uint32]arena.Probe
	if s.book.switches.differs(s.book.probes) {
		probes = maps.Clone(s.book.probes)
	}
	s.book.lock.Unlock()
	if probes != nil {
		if err := s.sendTable(ctx, probes); err != nil {
			return err
		}
	}
	return s.switchSpots(ctx)
}

// switchLoading has the hooks of a class that is being loaded do what they are to.
// Nobody calls them yet, so they need not go on at one moment, and the agent's
// table is changed in place: programs load classes by the thousand.
func (s *Session) switchLoading(ctx context.Context, ids []uint32) error {
	s.switches.Lock()
	defer s.switches.Unlock()
	s.book.lock.Lock()
	table := &s.book.switches
	ids = table.missing(s.book.probes, ids)
	changed := make(map[uint32]arena.Probe, len(ids))
	added := 0
	for _, id := range ids {
		changed[id] = s.book.probes[id]
		if _, has := table.sent[id]; !has {
			added++
		}
	}
	var whole map[uint32]arena.Probe
	switch {
	case table.unsure:
		whole = maps.Clone(s.book.probes)
	case added > table.room:
		whole = maps.Clone(table.sent) // what else has changed is for switchOn
		maps.Copy(whole, changed)
	}
	s.book.lock.Unlock()
	if len(changed) == 0 {
		return nil
	}
	s.describe()
	if whole != nil {
		return s.sendTable(ctx, whole)
	}
	return s.sendChanges(ctx, changed, added)
}

func (s *Session) sendTable(ctx context.Context, probes map[uint32]arena.Probe) error {
	table, err := arena.SwitchTable(slices.Collect(maps.Values(probes)))
	if err != nil {
		return err
	}
	err = s.peer.Probes(ctx, table)
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	if err != nil {
		s.book.switches.unsure = true
		return s.explain(err)
	}
	// Half of it may be used, by one more than the methods.
	s.book.switches = switches{sent: probes, room: len(table)/2 - len(probes) - 1}
	return nil
}

func (s *Session) sendChanges(ctx context.Context, changed map[uint32]arena.Probe, added int) error {
	entries := make([]uint64, 0, len(changed))
	for _, p := range changed {
		entry, err := p.Entry()
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	err := s.peer.Switch(ctx, entries)
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	if err != nil {
		s.book.switches.unsure = true
		return s.explain(err)
	}
	maps.Copy(s.book.switches.sent, changed)
	s.book.switches.room -= added
	return nil
}

// describe tells the arena the names of what was woven since it last did.
func (s *Session) describe() {
	s.book.lock.Lock()
	fresh, all := s.book.fresh, len(s.book.probes)+len(s.book.watch.entries)
	s.book.fresh = nil
	s.book.lock.Unlock()
	if len(fresh) == 0 {
		return
	}
	s.keeper.provide(int64(len(fresh)) * roomPerMethod)
	if err := s.arena.Describe(fresh); err != nil {
		s.remark(fmt.Sprintf("%v: names of methods are missing in it", err))
	}
	if all > firstMethods && all-len(fresh) <= firstMethods {
		if err := s.arena.MakeSpill(8 * all); err != nil {
			s.remark(err.Error())
		}
	}
}

// Switch sets what the hooks of some methods do, without weaving again.
func (s *Session) Switch(ctx context.Context, methods *pattern.Set, flags arena.Flags, period uint32) error {
	s.book.lock.Lock()
	for id, m := range s.book.methods {
		if methods.Match(m.Class, m.Name, m.Descriptor) {
			s.book.probes[id] = arena.Probe{ID: id, Flags: flags, Period: period}
		}
	}
	s.book.lock.Unlock()
	return s.switchOn(ctx)
}
