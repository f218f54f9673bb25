package session

import (
	"context"
	"errors"
	"slices"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A HookCost is what a pair of hooks, at a method's entry and exit, takes of a
// processor, in nanoseconds: measured in the target with calls of an empty
// method, several runs of many.
type HookCost struct {
	Median    float64
	Low, High float64 // the fastest and the slowest run
	Runs      int
}

const (
	warmUpRounds = 20_000
	// calibrationRounds is how many calls one run has: a fraction of a
	// millisecond, so that most runs are not interrupted, and enough that the
	// clock's grain does not count.
	calibrationRounds = 2_000
	calibrations      = 3
)

// errNoRun says that an agent measured nothing.
var errNoRun = errors.New("the agent made no run to calibrate by")

// HookCost measures what hooks with these settings cost the target now. It takes
// some ten milliseconds of one of its processors.
func (s *Session) HookCost(ctx context.Context, flags arena.Flags, period uint32) (HookCost, error) {
	asked := control.Calibration{Setting: arena.Probe{Flags: flags, Period: period}.Setting(), Rounds: warmUpRounds}
	// What runs for the first time is interpreted, then compiled.
	if _, err := s.peer.Calibrate(ctx, asked); err != nil {
		return HookCost{}, s.explain(err)
	}
	asked.Rounds = calibrationRounds
	var best HookCost // the calmest of a few measurements
	for range calibrations {
		runs, err := s.peer.Calibrate(ctx, asked)
		if err != nil {
			return HookCost{}, s.explain(err)
		}
		if len(runs) == 0 {
			return HookCost{}, errNoRun
		}
		if cost := hookCost(runs); best.Runs == 0 || cost.Median < best.Median {
			best = cost
		}
	}
	s.arena.SetHookCost(best.Median)
	return best, nil
}

// hookCost is what calls of an empty method take more with hooks than without.
func hookCost(measured []control.Run) HookCost {
	runs := make([]uint64, len(measured))
	for i, run := range measured {
		runs[i] = run.Hooked - min(run.Plain, run.Hooked)
	}
	slices.Sort(runs)
	middle := len(runs) / 2
	median := float64(runs[middle])
	if len(runs)%2 == 0 {
		median = (median + float64(runs[middle-1])) / 2
	}
	return HookCost{
		Median: median / calibrationRounds, Low: float64(runs[0]) / calibrationRounds,
		High: float64(runs[len(runs)-1]) / calibrationRounds, Runs: len(runs),
	}
}
