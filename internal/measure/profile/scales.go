package profile

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// scales hold what hooks were found to cost in the target, from the beginning to
// the end of a run: the clock's own cost drifts.
type scales struct {
	lock    sync.Mutex
	steps   uint32 // of the known body, so that it takes about bodyNanos
	inner   []float64
	outer   []float64
	drawn   []float64 // inner, of calls that are timed by lot
	count   []float64
	overlap []float64
	memory  float64 // what a load from memory takes
	times   int
}

const (
	// bodyNanos is how long the known body is. With an empty one the two clock
	// readings overlap, and read a few nanoseconds too much.
	bodyNanos = 200
	// bodyRounds is how many calls a run has: so few that most runs are not
	// interrupted, also where others want the processor.
	bodyRounds = 800
	warmUp     = 20_000
	// trialPeriod is of how many calls one is timed, to learn what that costs.
	trialPeriod = 16
	// trials is how often each is asked for at a time.
	trials = 4
)

// measure adds a calibration. The first brings the hooks to their full speed.
func (c *scales) measure(ctx context.Context, r *run) error {
	timed := session.Trial{Flags: arena.On | arena.Timed, Body: session.Dependent, Rounds: bodyRounds}
	if c.steps == 0 {
		if err := c.fit(ctx, r, timed); err != nil {
			return err
		}
	}
	if c.steps == 0 {
		return nil // too busy: there will be another
	}
	timed.Steps = c.steps
	overlapping, counted := timed, session.Trial{Flags: arena.On, Body: session.Empty, Rounds: bodyRounds}
	overlapping.Body = session.Independent
	byLot := timed
	byLot.Flags, byLot.Period = arena.On|arena.Sampled, trialPeriod
	nested := timed
	nested.Body = session.Nested
	var runs, apart, counts, lots, nests []session.Timing
	for range trials {
		for _, one := range []struct {
			trial session.Trial
			to    *[]session.Timing
		}{{timed, &runs}, {overlapping, &apart}, {counted, &counts}, {byLot, &lots}, {nested, &nests}} {
			timings, err := r.session.Measure(ctx, one.trial)
			if err != nil {
				return err
			}
			*one.to = append(*one.to, timings...)
		}
	}
	if len(runs) == 0 || len(counts) == 0 || len(nests) == 0 {
		return nil // too busy: there will be another
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.times++
	var plain []float64
	for _, one := range runs {
		c.inner = append(c.inner, one.Measured-one.Plain)
		plain = append(plain, one.Plain)
	}
	inner, callee := span(c.inner).Median, span(plain).Median
	for _, one := range nests {
		// What is left of a caller's own time, without what it needs itself.
		c.outer = append(c.outer, one.Measured-inner-(one.Plain-callee))
	}
	for _, one := range apart {
		c.overlap = append(c.overlap, one.Measured-inner-one.Plain)
	}
	for _, one := range lots {
		if one.Measured > 0 {
			c.drawn = append(c.drawn, one.Measured-one.Plain)
		}
	}
	for _, one := range counts {
		c.count = append(c.count, max(0, one.Hooked-one.Plain))
	}
	c.keep()
	return nil
}

// firstTries is how often the first calibration is tried.
const firstTries = 10

var errNotCalibrated = errors.New("the JVM is too busy to find out what hooks cost in it: try again, or give it more processor time")

// begin makes the first calibration, without which there are no times.
func (c *scales) begin(ctx context.Context, r *run) error {
	c.memory = memoryLatency()
	for range firstTries {
		if err := c.measure(ctx, r); err != nil {
			return err
		}
		if c.calibration().Times > 0 {
			return nil
		}
	}
	return errNotCalibrated
}

// fit finds how many steps of the known body take as long as it should.
func (c *scales) fit(ctx context.Context, r *run, trial session.Trial) error {
	trial.Steps, trial.Rounds = 100, warmUp
	for _, body := range []session.Body{session.Empty, session.Independent, session.Dependent} {
		trial.Body = body
		if _, err := r.session.Measure(ctx, trial); err != nil {
			return err
		}
	}
	count := session.Trial{Flags: arena.On, Rounds: warmUp}
	if _, err := r.session.Measure(ctx, count); err != nil {
		return err
	}
	trial.Rounds = bodyRounds
	runs, err := r.session.Measure(ctx, trial)
	if err != nil {
		return err
	}
	var plain []float64
	for _, one := range runs {
		plain = append(plain, one.Plain)
	}
	if len(plain) == 0 {
		return nil // the next tries again
	}
	c.steps = uint32(max(1, bodyNanos/max(span(plain).Median/float64(trial.Steps), 0.01)))
	return nil
}

// calibration is what is known so far.
func (c *scales) calibration() cct.Calibration {
	c.lock.Lock()
	defer c.lock.Unlock()
	return cct.Calibration{
		Inner: span(c.inner), Outer: span(c.outer), Drawn: span(c.drawn), Count: span(c.count),
		Overlap: max(c.memory, span(c.overlap).High), Times: c.times,
	}
}

// mostFigures bounds how many figures are kept of each: those of the last minutes.
const mostFigures = 1000

// keep drops the oldest of too many figures.
func (c *scales) keep() {
	for _, figures := range []*[]float64{&c.inner, &c.outer, &c.drawn, &c.count, &c.overlap} {
		if over := len(*figures) - mostFigures; over > 0 {
			*figures = slices.Delete(*figures, 0, over)
		}
	}
}

// span is the median of figures and the band that holds four in five: what lies
// outside was interrupted.
func span(figures []float64) cct.Span {
	if len(figures) == 0 {
		return cct.Span{}
	}
	sorted := slices.Sorted(slices.Values(figures))
	at := func(part float64) float64 { return sorted[int(part*float64(len(sorted)-1)+0.5)] }
	return cct.Span{Median: at(0.5), Low: at(0.1), High: at(0.9)}
}
