package session

import (
	"context"
	"maps"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A SpotUse is a spot that is switched on, with what its hook does for all looks together.
type SpotUse struct {
	ID       uint32
	Method   string
	Measures bool // others find contexts and read tags, for all that measure
	Tags     int  // how many tags get a value at the same method
	Setting  arena.Probe
	Looks    []*Look // that have it
	ref      classfile.MethodRef
}

// SpotUses returns the spots that are switched on.
func (s *Session) SpotUses() (uses []SpotUse) {
	s.looks.lock.Lock()
	defer s.looks.lock.Unlock()
	at, tags := make(map[string]int), make(map[classfile.MethodRef]int)
	for _, l := range s.looks.all {
		for name, spot := range l.wants.spots {
			if i, is := at[name]; is {
				uses[i].Looks = append(uses[i].Looks, l)
				continue
			}
			merged, _ := s.looks.spot(name)
			if merged.Flags&arena.On == 0 {
				continue
			}
			at[name] = len(uses)
			if spot.Kind == instrument.Tags {
				tags[spot.MethodRef]++
			}
			uses = append(uses, SpotUse{
				ID: s.weaver.SpotID(spot), ref: spot.MethodRef, Method: spot.ClassName() + "." + spot.Name, Measures: spot.Kind == instrument.Watches, Setting: arena.Probe{Flags: merged.Flags, Period: merged.Period}, Looks: []*Look{l},
			})
		}
	}
	for i := range uses {
		uses[i].Tags = tags[uses[i].ref]
	}
	return uses
}

// Thin makes spots measure less, for all looks that have them.
func (s *Session) Thin(ctx context.Context, changes map[uint32]arena.Probe) error {
	if len(changes) == 0 {
		return nil
	}
	s.looks.lock.Lock()
	for _, l := range s.looks.all {
		for name, spot := range l.wants.spots {
			id := s.weaver.SpotID(spot)
			if setting, is := changes[id]; is && spot.Flags&arena.On != 0 {
				spot.Flags, spot.Period = setting.Flags, setting.Period
				l.wants.spots[name] = spot
				l.thinned[id] = true
			}
		}
	}
	s.looks.lock.Unlock()
	return s.switchSpots(ctx, changes)
}

// Thinned returns the ids of hooks that have not timed all calls that the look wanted timed.
func (l *Look) Thinned() map[uint32]bool {
	l.looks.lock.Lock()
	defer l.looks.lock.Unlock()
	return maps.Clone(l.thinned)
}

// Command returns the command of the look, as users know it.
func (l *Look) Command() string { return l.settings.Command }

// Notify passes a message to the user of the look.
func (l *Look) Notify(text string) {
	if l.settings.Notice != nil {
		l.settings.Notice(text)
	}
}
