package overhead

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A Calibrator measures what plain hooks cost in a target, repeatedly during a run because
// the cost of the clock drifts (RATIONALE, "How accurate are profiled times?"). It is not safe
// for concurrent use.
type Calibrator struct {
	session *session.Look
	steps   uint32  // of the known body, so that it takes about bodyNanos; 0 until fitted
	memory  float64 // latency of main memory

	times   int
	inner   figures
	outer   figures
	drawn   figures // inner, of calls that are timed at random
	count   figures
	overlap figures
}

const (
	// bodyNanos is the length of the known body. With an empty one the two clock readings
	// overlap and show a few nanoseconds too much.
	bodyNanos = 200
	// bodyRounds is the number of calls of a run: few enough that most runs are not
	// interrupted on a busy machine.
	bodyRounds = 800
	warmUp     = 20_000
	// drawnPeriod is the sampling period of the runs that are timed at random.
	drawnPeriod = 16
	// repeats is how often each kind of run is made for one calibration.
	repeats = 4
	// firstTries is how often the first calibration is tried.
	firstTries = 10
)

var errNotCalibrated = errors.New("the cost of hooks could not be measured because the JVM got too little processor time: try again, or give it more processor time")

// NewCalibrator makes the first calibration, without which there are no times.
func NewCalibrator(ctx context.Context, s *session.Look) (*Calibrator, error) {
	c := &Calibrator{session: s, memory: memoryLatency()}
	for range firstTries {
		if err := c.Measure(ctx); err != nil {
			return nil, err
		}
		if c.times > 0 {
			return c, nil
		}
	}
	return nil, errNotCalibrated
}

// Measure adds a calibration, unless the JVM is too busy for one now.
func (c *Calibrator) Measure(ctx context.Context) error {
	if c.steps == 0 {
		if err := c.fit(ctx); err != nil || c.steps == 0 {
			return err
		}
	}
	timed := session.Trial{Flags: arena.On | arena.Timed, Body: session.Dependent, Steps: c.steps, Rounds: bodyRounds}
	independent, drawn, nested := timed, timed, timed
	independent.Body = session.Independent
	drawn.Flags, drawn.Period = arena.On|arena.Sampled, drawnPeriod
	nested.Body = session.Nested
	counted := session.Trial{Flags: arena.On, Body: session.Empty, Rounds: bodyRounds}
	trials := []session.Trial{timed, independent, counted, drawn, nested}
	runs := make([][]session.Timing, len(trials))
	for range repeats {
		for i, trial := range trials {
			timings, err := c.session.Measure(ctx, trial)
			if err != nil {
				return err
			}
			runs[i] = append(runs[i], timings...)
		}
	}
	c.add(calibrationRuns{timed: runs[0], independent: runs[1], counted: runs[2], drawn: runs[3], nested: runs[4]})
	return nil
}

// calibrationRuns are the runs of one calibration, by what their calls did.
type calibrationRuns struct {
	timed, independent, counted, drawn, nested []session.Timing
}

// add takes in the runs of one calibration; too few are no calibration.
func (c *Calibrator) add(runs calibrationRuns) {
	if len(runs.timed) == 0 || len(runs.counted) == 0 || len(runs.nested) == 0 {
		return
	}
	c.times++
	var plain figures
	for _, run := range runs.timed {
		c.inner.add(run.Measured - run.Plain)
		plain.add(run.Plain)
	}
	inner, callee := c.inner.span().Median, plain.span().Median
	for _, run := range runs.nested {
		// The rest of a caller's own time, without the time its own code takes.
		c.outer.add(run.Measured - inner - (run.Plain - callee))
	}
	for _, run := range runs.independent {
		c.overlap.add(run.Measured - inner - run.Plain)
	}
	for _, run := range runs.drawn {
		if run.Measured > 0 {
			c.drawn.add(run.Measured - run.Plain)
		}
	}
	for _, run := range runs.counted {
		c.count.add(max(0, run.Hooked-run.Plain))
	}
}

// fit warms the hooks up, and finds how many steps of the known body take bodyNanos.
func (c *Calibrator) fit(ctx context.Context) error {
	timed := session.Trial{Flags: arena.On | arena.Timed, Steps: 100, Rounds: warmUp}
	for _, body := range []session.Body{session.Empty, session.Independent, session.Dependent} {
		timed.Body = body
		if _, err := c.session.Measure(ctx, timed); err != nil {
			return err
		}
	}
	if _, err := c.session.Measure(ctx, session.Trial{Flags: arena.On, Rounds: warmUp}); err != nil {
		return err
	}
	timed.Rounds = bodyRounds
	runs, err := c.session.Measure(ctx, timed)
	if err != nil || len(runs) == 0 {
		return err
	}
	var plain figures
	for _, run := range runs {
		plain.add(run.Plain)
	}
	c.steps = uint32(max(1, bodyNanos/max(plain.span().Median/float64(timed.Steps), 0.01)))
	return nil
}

// Calibration returns what is known so far.
func (c *Calibrator) Calibration() cct.Calibration {
	return cct.Calibration{
		Inner: c.inner.span(), Outer: c.outer.span(), Drawn: c.drawn.span(), Count: c.count.span(),
		Overlap: max(c.memory, c.overlap.span().High), Times: c.times,
	}
}

// figures are repeated measurements of one cost, in nanoseconds: the measurements of the last
// minutes.
type figures []float64

const maxFigures = 1000

func (f *figures) add(figure float64) {
	if len(*f) == maxFigures {
		*f = slices.Delete(*f, 0, 1)
	}
	*f = append(*f, figure)
}

// span returns the median and the band that holds four in five: runs outside of it were
// interrupted. No cost is below 0, although a measurement of a small one can be.
func (f figures) span() cct.Span {
	if len(f) == 0 {
		return cct.Span{}
	}
	sorted := slices.Sorted(slices.Values(f))
	at := func(part float64) float64 { return max(0, sorted[int(part*float64(len(sorted)-1)+0.5)]) }
	return cct.Span{Median: at(0.5), Low: at(0.1), High: at(0.9)}
}

// memoryLatency returns about how many nanoseconds a load from memory takes on this
// machine if no cache has it and nothing overlaps it. Calls that wait for memory one
// after the other, because the clock is read in between, may take that much less without
// the clock.
func memoryLatency() float64 {
	const (
		lineWords = 16      // of a cache line, in 32-bit words
		lines     = 1 << 20 // 64 MiB, more than caches hold
		hops      = 4000
		tries     = 9
	)
	next := make([]uint32, lines*lineWords)
	order := rand.Perm(lines)
	for i, line := range order {
		next[line*lineWords] = uint32(order[(i+1)%lines] * lineWords)
	}
	// Start at the lines that were written first: they have left all caches.
	at := uint32(order[0] * lineWords)
	var times figures
	for range tries {
		began := time.Now()
		for range hops {
			at = next[at]
		}
		times.add(float64(time.Since(began)) / hops)
	}
	runtime.KeepAlive(at) // so that the loop is not optimised away
	return times.span().Median
}

const (
	// meterEvery keeps the cost of measuring far below a hundredth of a processor.
	meterEvery = 10 * time.Second
	meterLimit = 5 * time.Second
)

// A Meter measures repeatedly what a hook costs in a JVM: clocks drift, and at first the
// JVM has not compiled the hooked methods. If it cannot be measured, the cost stays
// unknown.
type Meter struct {
	session *session.Look
	flags   arena.Flags
	period  uint32

	turn sync.Mutex // held during a measurement
	lock sync.Mutex
	last *session.HookCost
	at   time.Time
}

// NewMeter returns a meter for hooks with these flags and this sampling period.
func NewMeter(s *session.Look, flags arena.Flags, period uint32) *Meter {
	return &Meter{session: s, flags: flags, period: period}
}

// Cost returns the last measurement, or nil if there is none. A nil Meter has none.
func (m *Meter) Cost() *session.HookCost {
	if m == nil {
		return nil
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.last
}

// Measure measures now, or after a measurement that is running.
func (m *Meter) Measure(ctx context.Context) {
	m.turn.Lock()
	defer m.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, meterLimit)
	defer cancel()
	if cost, err := m.session.HookCost(ctx, m.flags, m.period); err == nil {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.last, m.at = &cost, time.Now()
		m.session.SetHookCost(cost.Median)
	}
}

// Refresh starts a measurement in the background if the last one is old, or was made
// before a moment.
func (m *Meter) Refresh(ctx context.Context, after time.Time) {
	m.lock.Lock()
	due := m.at.Before(after) || time.Since(m.at) > meterEvery
	m.lock.Unlock()
	if due && m.turn.TryLock() {
		m.turn.Unlock()
		go m.Measure(ctx)
	}
}
