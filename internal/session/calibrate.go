package session

import (
	"context"
	"errors"
	"slices"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
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

// A Body is what calls do that are made to learn what hooks cost.
type Body uint8

// The bodies.
const (
	Empty       Body = 0
	Dependent   Body = 1 // each step needs the one before
	Independent Body = 2 // a processor does the steps of several calls at once
	Nested      Body = 3 // dependent steps, then one call of as many more; the outer calls are measured
)

// A Trial is how calls are made to learn what hooks cost.
type Trial struct {
	Flags  arena.Flags
	Period uint32
	Body   Body
	Steps  uint32 // how long the body is
	Rounds uint32 // calls of a run
}

// A Timing is what a call of a run took on average, in nanoseconds.
type Timing struct {
	Plain    float64 // without hooks
	Hooked   float64 // with them
	Measured float64 // what the hooks say one took, of those they timed
}

// Measure has the target make calls with and without hooks, several runs of them.
// It gives none where the JVM was too busy for it, or hooks went in meanwhile.
func (s *Session) Measure(ctx context.Context, trial Trial) ([]Timing, error) {
	setting := arena.Probe{Flags: trial.Flags, Period: trial.Period}.Setting()
	runs, err := s.peer.Calibrate(ctx, control.Calibration{
		Rounds: trial.Rounds, Setting: setting, Body: uint8(trial.Body), Steps: trial.Steps,
	})
	if err != nil {
		return nil, s.explain(err)
	}
	timings := make([]Timing, len(runs))
	for i, run := range runs {
		n := float64(trial.Rounds)
		timings[i] = Timing{Plain: float64(run.Plain) / n, Hooked: float64(run.Hooked) / n}
		if run.Timed > 0 {
			timings[i].Measured = float64(run.Measured) / float64(run.Timed)
		}
	}
	return timings, nil
}

// Read is where the target's own counters stand.
func (s *Session) Read() (cost.Reading, error) { return s.meter.Read() }

// Stacks are the threads with the calls they are in, without their trees.
func (s *Session) Stacks() ([]arena.Thread, error) { return s.arena.Stacks() }

// Method is the method of an id that has a hook.
func (s *Session) Method(id uint32) (Method, bool) {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	m, known := s.book.methods[id]
	return m, known
}

// ReflectiveClasses are those that Request.Reflection puts hooks into.
func ReflectiveClasses() []string {
	names := make([]string, 0, len(reflective))
	for name := range reflective {
		names = append(names, name)
	}
	return names
}
