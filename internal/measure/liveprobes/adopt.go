package liveprobes

import (
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// adopt makes a plan the one that holds.
func (w *Watch) adopt(next *plan, changes []probeset.Change) {
	changed := make(map[string]bool)
	for _, change := range changes {
		changed[change.Name] = changed[change.Name] || change.Kind == probeset.OfProbe && change.Action != probeset.Alter
	}
	w.set, w.plan = next.set, next
	maps.Copy(w.numbers, next.numbers)
	for _, p := range next.probes {
		if _, is := w.began[p.Name]; !is || changed[p.Name] {
			w.began[p.Name] = beginning{time.Now(), w.callsOf(p.Name)}
		}
		if p.Level >= probeset.Trace {
			w.traced[p.Name] = true
		}
	}
	w.queue.forget()
	for _, s := range next.spots {
		w.learn(s)
		w.noteDepends(s)
	}
}

// noteDepends tells the queue below which classes a spot's conditions must be checked
// again.
func (w *Watch) noteDepends(s *planned) {
	for _, d := range s.depends {
		for _, name := range d.Open {
			id := w.target.SpotID(s.Spot)
			w.queue.depend(id, name)
			below, _ := w.world.subtypes(name)
			for _, c := range below {
				w.queue.depend(id, c.Name())
			}
		}
	}
}

// learn notes what a spot's results are about.
func (w *Watch) learn(s *planned) {
	if s.Kind == session.Watches {
		id := w.target.SpotID(s.Spot)
		w.names[id] = s.name(id)
		w.grouped[id] = s.Groups != 0 || s.Context != 0
		if s.probe != nil {
			w.groups[id] = s.probe.GroupBy
		}
	}
}

// difference is what is to be woven, taken out and switched.
func (w *Watch) difference(next *plan, fresh bool) *todo {
	t := &todo{switches: make(map[uint32]arena.Probe)}
	for _, name := range slices.Sorted(maps.Keys(next.spots)) {
		s := next.spots[name].Spot
		had, is := w.applied[name]
		switch {
		case !is || !isAlike(had, s):
			t.request.Spots = append(t.request.Spots, s)
		case had.Flags != s.Flags || had.Period != s.Period:
			t.switches[w.target.SpotID(s)] = arena.Probe{Flags: s.Flags, Period: s.Period}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.applied)) {
		if next.spots[name] == nil {
			t.request.Without = append(t.request.Without, w.applied[name])
		}
	}
	t.request.Fresh = fresh
	t.request.Bridges = slices.Sorted(maps.Keys(next.bridges))
	t.request.HandOff = next.set.HandOff && next.hasContext() && next.forbidsHandOff() == ""
	return t
}

// isAlike reports whether two spots of one name differ in nothing but what they do.
func isAlike(a, b session.Spot) bool {
	return a.Kind == b.Kind && a.Form == b.Form && a.Below == b.Below && a.Direct == b.Direct && a.First == b.First &&
		a.Tag == b.Tag && a.Groups == b.Groups && a.Context == b.Context
}
