package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// switchTable is what is known of the agent's switch table, which says what each hook
// does.
type switchTable struct {
	sent   map[uint32]arena.Probe // its entries
	room   int                    // how many entries can be added in place
	unsure bool                   // the agent may have another table: no answer came
}

// isOutdated reports whether the agent's entry of a hook has to be sent. A hook without
// an entry does nothing, like one that is off.
func (t *switchTable) isOutdated(id uint32, wanted arena.Probe) bool {
	sent, has := t.sent[id]
	return has && sent != wanted || !has && wanted.Flags&arena.On != 0
}

// missing returns the hooks whose entries have to be sent.
func (t *switchTable) missing(probes map[uint32]arena.Probe, ids []uint32) []uint32 {
	return slices.DeleteFunc(slices.Clone(ids), func(id uint32) bool {
		wanted, is := probes[id]
		return !is || !t.isOutdated(id, wanted)
	})
}

// differs reports whether any entry has to be sent.
func (t *switchTable) differs(probes map[uint32]arena.Probe) bool {
	if t.unsure {
		return true
	}
	for id, wanted := range probes {
		if t.isOutdated(id, wanted) {
			return true
		}
	}
	return false
}

// switchOn makes all hooks do what they should, at one moment. It does not ask the JVM if
// they do already.
func (s *Session) switchOn(ctx context.Context) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	s.describe()
	s.state.lock.Lock()
	var probes map[uint32]arena.Probe
	if s.state.switches.differs(s.state.probes) {
		probes = maps.Clone(s.state.probes)
	}
	s.state.lock.Unlock()
	if probes != nil {
		if err := s.sendTable(ctx, probes); err != nil {
			return err
		}
	}
	return s.sendSpots(ctx, nil)
}

// switchLoading switches the hooks of a class that is loading. Nobody calls them yet, so
// they need not go on at one moment, and the agent's table is changed in place: programs
// load thousands of classes. switching is held.
func (s *Session) switchLoading(ctx context.Context, ids []uint32) error {
	s.state.lock.Lock()
	table := &s.state.switches
	changed := make(map[uint32]arena.Probe, len(ids))
	added := 0
	for _, id := range table.missing(s.state.probes, ids) {
		changed[id] = s.state.probes[id]
		if _, has := table.sent[id]; !has {
			added++
		}
	}
	var whole map[uint32]arena.Probe
	switch {
	case table.unsure:
		whole = maps.Clone(s.state.probes)
	case added > table.room:
		whole = maps.Clone(table.sent) // other changes are left to switchOn
		maps.Copy(whole, changed)
	}
	s.state.lock.Unlock()
	if len(changed) == 0 {
		return nil
	}
	if whole != nil {
		return s.sendTable(ctx, whole)
	}
	return s.sendChanges(ctx, changed, added)
}

// sendTable replaces the agent's table. switching is held.
func (s *Session) sendTable(ctx context.Context, probes map[uint32]arena.Probe) error {
	table, err := arena.SwitchTable(slices.Collect(maps.Values(probes)))
	if err != nil {
		return err
	}
	err = s.peer.Probes(ctx, table)
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	if err != nil {
		s.state.switches.unsure = true
		return s.explain(err)
	}
	// Half of the table may be used, and one entry is reserved.
	s.state.switches = switchTable{sent: probes, room: len(table)/2 - len(probes) - 1}
	return nil
}

// sendChanges changes entries of the agent's table in place. switching is held.
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
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	if err != nil {
		s.state.switches.unsure = true
		return s.explain(err)
	}
	maps.Copy(s.state.switches.sent, changed)
	s.state.switches.room -= added
	return nil
}

const (
	// firstMethods is how many methods the first spill table has room for.
	firstMethods = 1024
	// roomPerMethod is generous for a method's name and its share of the spill table.
	roomPerMethod = 1 << 10
)

// describe writes the names of newly woven methods into the arena.
func (s *Session) describe() {
	s.state.lock.Lock()
	fresh, all := s.state.undescribed, len(s.state.probes)+len(s.state.spots.entries)
	s.state.undescribed = nil
	s.state.lock.Unlock()
	if len(fresh) == 0 {
		return
	}
	for i := range fresh {
		fresh[i].Hooked = time.Now()
	}
	s.grower.provide(int64(len(fresh)) * roomPerMethod)
	if err := s.Arena.Describe(fresh); err != nil {
		s.remark(fmt.Sprintf("%v; the arena does not contain the names of all methods", err))
	}
	if all > firstMethods && all-len(fresh) <= firstMethods {
		if err := s.Arena.MakeSpill(8 * all); err != nil {
			s.remark(err.Error())
		}
	}
}
