package session

import (
	"context"
	"slices"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	clockSteps  = 100 // of a body of some hundred nanoseconds
	clockRounds = 800
	clockTrials = 3
)

// ClockCost is the hooks' own time, in nanoseconds, that is in the time of a call as
// they measure it: what lies between their two readings of the clock beside the call
// itself. It is to be taken off. Where the JVM is too busy to tell, it is 0.
func (s *Session) ClockCost(ctx context.Context) (float64, error) {
	trial := Trial{Flags: arena.On | arena.Timed | arena.Spreads, Body: Dependent, Steps: clockSteps, Rounds: warmUpRounds}
	// What runs for the first time is interpreted, then compiled.
	if _, err := s.Measure(ctx, trial); err != nil {
		return 0, err
	}
	trial.Rounds = clockRounds
	var inner []float64
	for range clockTrials {
		timings, err := s.Measure(ctx, trial)
		if err != nil {
			return 0, err
		}
		for _, one := range timings {
			inner = append(inner, one.Measured-one.Plain)
		}
	}
	if len(inner) == 0 {
		return 0, nil
	}
	slices.Sort(inner)
	return max(0, inner[len(inner)/2]), nil
}
