package session

import (
	"context"
	"errors"
	"slices"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A HookCost is the processor time of a pair of hooks, at a method's entry and exit, in
// nanoseconds. It is measured in the target with calls of an empty method, in several
// runs of many calls.
type HookCost struct {
	Median float64 `json:"nanosPerCall"`
	Low    float64 `json:"low"`  // of the fastest run
	High   float64 `json:"high"` // of the slowest run
	Runs   int     `json:"runs"`
}

const (
	warmUpRounds = 20_000
	// calibrationRounds is the number of calls of a run: it takes a fraction of a
	// millisecond, so that most runs are not interrupted, but is long compared with the
	// resolution of the clock.
	calibrationRounds = 2_000
	calibrations      = 3
)

var errNoRun = errors.New("the cost of hooks could not be measured: the agent returned no result")

// HookCost measures what hooks with these settings cost the target now. It uses some ten
// milliseconds of one of its processors.
func (s *Session) HookCost(ctx context.Context, flags arena.Flags, period uint32) (HookCost, error) {
	measured, err := s.calibrate(ctx, Trial{Flags: flags, Period: period, Rounds: calibrationRounds})
	if err != nil {
		return HookCost{}, err
	}
	var best HookCost // the calmest measurement
	for _, timings := range measured {
		if len(timings) == 0 {
			return HookCost{}, errNoRun
		}
		if cost := hookCost(timings); best.Runs == 0 || cost.Median < best.Median {
			best = cost
		}
	}
	return best, nil
}

// calibrate measures a trial several times. Code that runs for the first time is
// interpreted, then compiled, so the first measurement is dropped.
func (s *Session) calibrate(ctx context.Context, trial Trial) ([calibrations][]Timing, error) {
	var measured [calibrations][]Timing
	first := trial
	first.Rounds = warmUpRounds
	_, err := s.Measure(ctx, first)
	for i := 0; err == nil && i < calibrations; i++ {
		measured[i], err = s.Measure(ctx, trial)
	}
	return measured, err
}

// hookCost returns how much longer calls of an empty method take with hooks.
func hookCost(timings []Timing) HookCost {
	runs := make([]float64, len(timings))
	for i, one := range timings {
		runs[i] = max(0, one.Hooked-one.Plain)
	}
	slices.Sort(runs)
	middle := len(runs) / 2
	median := runs[middle]
	if len(runs)%2 == 0 {
		median = (median + runs[middle-1]) / 2
	}
	return HookCost{Median: median, Low: runs[0], High: runs[len(runs)-1], Runs: len(runs)}
}

// A Body is what the calls of a trial do.
type Body uint8

// The bodies.
const (
	Empty       Body = 0
	Dependent   Body = 1 // each step needs the one before
	Independent Body = 2 // a processor can do steps of several calls at once
	Nested      Body = 3 // dependent steps, then one call of as many more; the outer calls are measured
)

// A Trial is a series of calls that shows what hooks cost.
type Trial struct {
	Flags  arena.Flags
	Period uint32
	Body   Body
	Steps  uint32 // length of the body
	Rounds uint32 // calls per run
}

// A Timing is the average duration of the calls of a run, in nanoseconds.
type Timing struct {
	Plain    float64 // without hooks
	Hooked   float64 // with hooks
	Measured float64 // as the hooks measured it, for the calls they timed
}

// Measure makes the target run a trial several times, with and without hooks. It returns
// no timings where the JVM was too busy, or hooks went in meanwhile.
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

const (
	clockSteps  = 100 // of a body of some hundred nanoseconds
	clockRounds = 800
)

// ClockCost returns the hooks' own time, in nanoseconds, in a measured call: the time
// between their two readings of the clock that is not the call's. It is to be subtracted.
// It is 0 where the JVM is too busy to measure it.
func (s *Session) ClockCost(ctx context.Context) (float64, error) {
	trial := Trial{Flags: arena.On | arena.Timed | arena.Spreads, Body: Dependent, Steps: clockSteps, Rounds: clockRounds}
	measured, err := s.calibrate(ctx, trial)
	if err != nil {
		return 0, err
	}
	var inner []float64
	for _, one := range slices.Concat(measured[:]...) {
		inner = append(inner, one.Measured-one.Plain)
	}
	if len(inner) == 0 {
		return 0, nil
	}
	slices.Sort(inner)
	return max(0, inner[len(inner)/2]), nil
}

// Read returns the target's own counters.
func (s *Session) Read() (cost.Reading, error) { return s.meter.Read() }
