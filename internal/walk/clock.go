package walk

import (
	"context"
	"slices"

	"github.com/sonde-jvm/sonde/internal/arena"
	"github.com/sonde-jvm/sonde/internal/session"
)

const (
	knownSteps  = 100 // of a body of some hundred nanoseconds
	warmRounds  = 20_000
	clockRounds = 800
	clockTrials = 3
)

// learnClock finds what the hooks' own time is in a call that they time. Where the
// JVM is too busy to tell, nothing is taken off.
func (w *walker) learnClock(ctx context.Context) error {
	trial := session.Trial{Flags: arena.On | arena.Timed | arena.Spreads, Body: session.Dependent, Steps: knownSteps, Rounds: warmRounds}
	if _, err := w.session.Measure(ctx, trial); err != nil {
		return err
	}
	trial.Rounds = clockRounds
	var inner []float64
	for range clockTrials {
		timings, err := w.session.Measure(ctx, trial)
		if err != nil {
			return err
		}
		for _, one := range timings {
			inner = append(inner, one.Measured-one.Plain)
		}
	}
	if len(inner) > 0 {
		slices.Sort(inner)
		w.inner = max(0, inner[len(inner)/2])
	}
	return nil
}
