package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// spotState is what is known of spots, and of the agent's table of them.
type spotState struct {
	spots       map[uint32]*instrument.PlacedSpot
	entries     map[uint32]arena.WatchEntry // what they should do
	switched    map[uint32]arena.Probe      // the same of those in the switch table
	woven       map[uint32]bool             // those with a hook
	left        map[uint32]LeftAlone        // those without
	described   map[uint32]bool             // those whose names are in the arena
	bounds      map[uint32]bool             // those whose number of calls is a lower bound
	bridges     map[string]bool
	sent        map[uint32]arena.WatchEntry // the agent's table
	sentBridges int                         // how many bridges the agent has
	resetPaths  bool                        // the next table clears all paths
	unsure      bool                        // the agent may have another table: no answer came
	carries     bool                        // tasks carry contexts to other threads
	times       bool                        // tasks carry the times of their submission
	sentBare    bool                        // the agent's tasks carry only those
	unfollowed  map[string]bool             // ways of handing on tasks that were reported as not followed
}

func (t *spotState) init() {
	t.spots, t.entries = make(map[uint32]*instrument.PlacedSpot), make(map[uint32]arena.WatchEntry)
	t.woven, t.left, t.described = make(map[uint32]bool), make(map[uint32]LeftAlone), make(map[uint32]bool)
	t.bridges, t.sent = make(map[string]bool), make(map[uint32]arena.WatchEntry)
	t.switched, t.bounds = make(map[uint32]arena.Probe), make(map[uint32]bool)
	t.unfollowed = make(map[string]bool)
}

// addSpot sets what a spot does. The lock is held.
func (s *state) addSpot(p *instrument.PlacedSpot) {
	t := &s.spots
	t.spots[p.ID] = p
	delete(t.entries, p.ID)
	switch {
	case p.IsSwitched():
		s.setSwitch(p.ID, p.Entry().Probe)
	case p.IsActive():
		t.entries[p.ID] = p.Entry()
	}
}

// setSwitch sets what a spot in the switch table does, once it is woven. The lock is held.
func (s *state) setSwitch(id uint32, setting arena.Probe) {
	s.spots.switched[id] = setting
	if s.spots.woven[id] {
		s.probes[id] = setting
	}
}

// removeSpot switches a spot off. The lock is held.
func (s *state) removeSpot(id uint32) {
	t := &s.spots
	if t.spots[id].IsSwitched() {
		s.setSwitch(id, arena.Probe{ID: id})
		delete(t.switched, id)
	}
	delete(t.spots, id)
	delete(t.entries, id)
	delete(t.woven, id)
	delete(t.left, id)
	if len(t.spots) == 0 {
		clear(t.bridges)
	}
}

// withdraw takes back the notes of a class that is not woven after all.
func (t *spotState) withdraw(class, reason string) {
	for id := range t.woven {
		if p := t.spots[id]; p != nil && p.Class == class {
			delete(t.woven, id)
			delete(t.described, id)
			t.left[id] = p.LeftAlone(reason)
		}
	}
}

// isBare reports whether tasks carry no contexts to other threads, but only times.
func (t *spotState) isBare() bool { return t.times && !t.carries }

// differs reports whether the agent needs another table.
func (t *spotState) differs() bool {
	return t.unsure || t.resetPaths || t.sentBridges != len(t.bridges) || t.sentBare != t.isBare() || !maps.Equal(t.sent, t.entries)
}

// noteSpots records the spots of a class that was woven. It returns those whose entries
// the agent does not have yet. The lock is held.
func (s *state) noteSpots(out *instrument.Outcome) (off inactive) {
	t := &s.spots
	for id, left := range out.SpotsLeft {
		if t.spots[id] != nil && !t.woven[id] {
			t.left[id] = left
		}
	}
	for _, m := range out.Methods {
		for _, p := range m.Spots {
			if t.spots[p.ID] == nil {
				continue // removed meanwhile
			}
			t.woven[p.ID], t.bounds[p.ID] = true, m.LowerBound
			delete(t.left, p.ID)
			if p.Measures() && !t.described[p.ID] {
				t.described[p.ID] = true
				// Readers want the method; several spots may belong to one.
				s.undescribed = append(s.undescribed, arena.Method{ID: p.ID, Name: p.MethodRef.String(), LowerBound: m.LowerBound})
			}
			switch {
			case p.IsSwitched():
				s.probes[p.ID] = t.switched[p.ID]
				off.hooks = append(off.hooks, s.switches.missing(s.probes, []uint32{p.ID})...)
			case t.sent[p.ID] != t.entries[p.ID]:
				off.spots = append(off.spots, p.ID)
			}
		}
	}
	return off
}

// addSpots adds spots. The classes that have to be woven for them become pending.
func (s *Session) addSpots(spots []instrument.Spot) {
	for i := range spots {
		placed, isNew := s.weaver.Place(&spots[i])
		s.state.lock.Lock()
		s.state.addSpot(placed)
		s.weaver.AddSpot(placed)
		if isNew {
			s.state.classes.setStale(placed.Class, false)
		}
		s.state.lock.Unlock()
	}
}

// switchSpots changes the settings of some spots: see Look.SwitchSpots.
func (s *Session) switchSpots(ctx context.Context, changes map[uint32]arena.Probe) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	s.state.lock.Lock()
	var hooks []uint32
	for id, setting := range changes {
		setting.ID = id
		if entry, is := s.state.spots.entries[id]; is {
			entry.Probe = setting
			s.state.spots.entries[id] = entry
		} else if _, is := s.state.spots.switched[id]; is {
			s.state.setSwitch(id, setting)
			hooks = append(hooks, id)
		}
	}
	s.state.lock.Unlock()
	if err := s.switchLoading(ctx, hooks); err != nil {
		return err
	}
	return s.sendSpots(ctx, slices.Collect(maps.Keys(changes)))
}

// sendSpots makes spots do what they should, at one moment: all of them, or those with
// these ids. Spots that are being installed stay off. It sends nothing if nothing changes.
// switching is held.
func (s *Session) sendSpots(ctx context.Context, only []uint32) error {
	s.state.lock.Lock()
	t := &s.state.spots
	isInstalling := s.state.installing > 0
	entries, resetPaths, isBare := maps.Clone(t.entries), t.resetPaths, t.isBare()
	isDue := !isInstalling && t.differs()
	if only != nil && (isInstalling || !t.unsure) {
		entries, resetPaths = maps.Clone(t.sent), false
		for _, id := range only {
			_, has := t.sent[id]
			if entry, is := t.entries[id]; is && (has || !isInstalling) {
				entries[id] = entry
			}
		}
		isDue = t.unsure || !maps.Equal(entries, t.sent)
	}
	if !isDue {
		s.state.lock.Unlock()
		return nil
	}
	table, err := instrument.SpotTable(entries, t.spots, t.bridges)
	s.state.lock.Unlock()
	if err != nil {
		return err
	}
	table.Fresh, table.Bare = resetPaths, isBare
	err = s.peer.Watches(ctx, table)
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	if err != nil {
		t.unsure = true
		return s.explain(err)
	}
	t.sent, t.sentBridges, t.sentBare, t.unsure = entries, len(table.Bridges), isBare, false
	t.resetPaths = t.resetPaths && !resetPaths
	return nil
}

// SpotID returns the id of a spot's hook.
func (s *Session) SpotID(p instrument.Spot) uint32 { return s.weaver.SpotID(p) }

// startHandOff makes tasks carry their context, or only times. Loaded classes become pending; others are
// woven as they load.
func (s *Session) startHandOff(ctx context.Context, change Change) error {
	s.state.lock.Lock()
	t := &s.state.spots
	t.carries, t.times = t.carries || change.HandOff, t.times || change.TimeTasks
	s.state.lock.Unlock()
	if !s.weaver.AddHandOff() {
		return nil
	}
	if err := s.prepareHandOff(ctx); err != nil {
		return err
	}
	// First the classes that load from now on, so that none is missed in between.
	if err := s.showLoading(ctx); err != nil {
		return err
	}
	if _, err := s.prefetch(ctx, instrument.IsHandOff, nil); err != nil {
		return err
	}
	loaded, err := s.peer.List(ctx)
	if err != nil {
		return s.explain(err)
	}
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	for _, class := range loaded {
		if name := internalName(class); class.Loader == 0 && instrument.IsHandOff(name) {
			s.state.classes.setStale(name, false)
		}
	}
	return nil
}

// prepareHandOff makes the agent use the classes of tasks, so that they are loaded before
// the batch in which they get their hooks: about a class that a thread of the agent loads,
// Sonde cannot be asked.
func (s *Session) prepareHandOff(ctx context.Context) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	s.state.lock.Lock()
	isReady, isBare := len(s.state.spots.sent) > 0, s.state.spots.isBare()
	if !isReady {
		s.state.spots.sentBare = isBare
	}
	s.state.lock.Unlock()
	if isReady {
		return nil
	}
	return s.explain(s.peer.Watches(ctx, control.Watches{Table: arena.NoWatches(), Bare: isBare}))
}

// noteHandOff reports which ways of handing tasks on cannot be followed because this
// JDK's class lacks the method, or the method could not be woven.
func (s *Session) noteHandOff(class string, out *instrument.Outcome) {
	if !s.weaver.HandsOff(class) {
		return
	}
	for _, h := range instrument.HandOffMethods(class) {
		if !out.HasHandOff(h) {
			s.reportUnfollowed(h, "no hook could be put into "+h.String())
		}
	}
}

// reportHandOffs reports which ways are not followed because a class was left alone.
func (s *Session) reportHandOffs() {
	for _, class := range s.weaver.HandingOff() {
		reason := s.state.whyLeft(class)
		if reason == "" {
			continue
		}
		for _, h := range instrument.HandOffMethods(class) {
			s.reportUnfollowed(h, strings.ReplaceAll(class, "/", ".")+" was left alone: "+reason)
		}
	}
}

// reportUnfollowed reports once that a way is not followed. Nothing is missing if this
// JDK is older than the method.
func (s *Session) reportUnfollowed(h *instrument.HandOffMethod, why string) {
	if s.jdk.Feature < h.Since {
		return
	}
	s.state.lock.Lock()
	isReported := s.state.spots.unfollowed[h.Way]
	s.state.spots.unfollowed[h.Way] = true
	s.state.lock.Unlock()
	if !isReported {
		s.notice(fmt.Sprintf("contexts and tags are not passed on to %s (%s)", h.Way, why))
	}
}
