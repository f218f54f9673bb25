package profile

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A bill is what hooks took of a program's processor time since the last one, in
// nanoseconds, by counts and what each was found to cost.
type bill struct {
	seconds  float64 // that it covers
	program  float64 // processor time of the program
	allowed  float64
	counting float64
	timing   float64
	least    float64            // if no call were timed
	resting  float64            // of hooks that are in and off
	part     float64            // of the program's time
	cost     map[uint32]float64 // by method
	share    map[uint32]float64 // of the root's time that is a method's self time
}

// leastProgram is the processor time below which a program is idle: then a share
// of it says nothing.
const leastProgram = 20e6

// A moment is where the counters stood.
type moment struct {
	reading cost.Reading
	sums    map[uint32]sum
}

// A bill covers as much as this: less says nothing, as processor time is told in
// steps of 10 ms; more is the past.
const (
	leastCovered = 300 * time.Millisecond
	mostCovered  = 2 * time.Second
)

// account makes out the bill; false where there is nothing to go by yet.
func (g *governor) account() (bill, bool, error) {
	reading, err := g.run.session.Read()
	if err != nil {
		return bill{}, false, err
	}
	threads, err := g.run.session.Threads()
	if err != nil {
		return bill{}, false, err
	}
	now := moment{reading, addUp(threads, g.run.session.Now())}
	g.past = append(g.past, now)
	for len(g.past) > 1 && g.past[1].reading.Until(reading).Elapsed >= mostCovered {
		g.past = g.past[1:]
	}
	then := g.past[0]
	since := then.reading.Until(reading)
	if since.Elapsed < leastCovered {
		return bill{}, false, nil
	}
	b := bill{
		seconds: since.Elapsed.Seconds(), program: max(float64(since.Rest), leastProgram),
		cost: make(map[uint32]float64), share: make(map[uint32]float64),
	}
	b.allowed = g.run.Budget * b.program
	g.price(&b, then.sums, now.sums)
	b.part = (b.counting + b.timing + b.resting) / b.program
	return b, true, nil
}

// A sum is what all nodes of a method hold.
type sum struct {
	calls, timed float64
	self         float64 // of the timed calls
	beside       float64 // calls that are timed for their caller's sake
}

// addUp sums nodes by method, with calls under way as far as they have come. Of a
// call that is timed at random its callees are timed as well.
func addUp(threads []arena.Thread, now int64) map[uint32]sum {
	sums := make(map[uint32]sum)
	for _, t := range threads {
		soFar := underWay(t, now)
		drawn := make(map[uint32]float64, len(t.Nodes)) // the part of a node's calls that is timed
		for _, n := range t.Nodes {
			if n.Calls > 0 {
				drawn[n.Ref] = float64(min(n.Timed, n.Calls)) / float64(n.Calls)
			}
		}
		for _, n := range t.Nodes {
			if n.ID == arena.CalibrationID || n.ID == arena.AdjustmentID {
				continue
			}
			s := sums[n.ID]
			s.calls += float64(n.Calls)
			s.timed += float64(n.Timed)
			s.self += float64(n.Self + soFar[n.Ref])
			if soFar[n.Ref] > 0 {
				s.timed++
			}
			s.beside += float64(n.Calls) * (1 - drawn[n.Ref]) * drawn[n.Parent]
			sums[n.ID] = s
		}
	}
	return sums
}

// price fills in what the calls since the last bill cost, and where the time is.
func (g *governor) price(b *bill, before, after map[uint32]sum) {
	known := g.run.scales.calibration()
	var whole float64
	for _, h := range g.order {
		was, is := before[h.id], after[h.id]
		calls := is.calls - was.calls
		if h.root && is.calls > 0 && g.since.IsZero() {
			g.since = time.Now()
		}
		clocked := max(0, min(calls, is.timed-was.timed+is.beside-was.beside))
		each := careful(known, calls/b.seconds)
		counting, timing := (calls-clocked)*each.counted, clocked*each.timed
		b.counting += counting
		b.timing += timing
		b.least += calls * each.counted
		b.cost[h.id] = counting + timing
		switch {
		case h.mode == on:
			h.rate = calls / b.seconds
		case !h.out:
			b.resting += h.rate * b.seconds * offNanos
		}
		if is.timed > 0 {
			self := is.self/is.timed - known.Inner.Median
			b.share[h.id] = max(0, self) * is.calls
			whole += b.share[h.id]
		}
	}
	for id := range b.share {
		b.share[id] /= max(whole, 1)
	}
}

const (
	// Counting costs a program two to four times what the hook itself takes: code
	// around it is compiled less well. Timing hides that behind the clock.
	countingFactor = 3
	timingFactor   = 1.25

	// coldTiming and coldCounting are what a call costs beside, in nanoseconds, where
	// others come between two of a method. By what a hook takes in a loop, eleven hooks of
	// H2 were reckoned at 0.6 % of its time, and cost it 2.3 ± 1.0: 400 ns a call. In
	// Tomcat a timed call took 385 ± 140, a counted one 144 ± 125.
	coldTiming   = 300
	coldCounting = 100
)

// A tariff is what a call with a hook costs a program, in nanoseconds.
type tariff struct {
	counted, timed float64
}

// tariffAt is that of a method that is called so often in a second.
func tariffAt(known cct.Calibration, rate float64) tariff {
	cold := cost.Cold(rate)
	return tariff{
		counted: known.Count.Median + cold*coldCounting,
		timed:   known.Inner.Median + known.Outer.Median + cold*coldTiming,
	}
}

// at is what a second costs with so many calls, of which no more are timed than the pace says.
func (t tariff) at(rate, pace float64) float64 {
	timed := min(rate, pace)
	return (rate-timed)*t.counted + timed*t.timed
}

// careful is what who has to keep a budget reckons with.
func careful(known cct.Calibration, rate float64) tariff {
	known.Count.Median *= countingFactor
	known.Inner.Median *= timingFactor
	known.Outer.Median *= timingFactor
	return tariffAt(known, rate)
}

// price is what calls cost that the nodes of threads hold, in nanoseconds, if they came
// in so many seconds.
func price(known cct.Calibration, threads []arena.Thread, seconds float64) (nanos float64) {
	for _, s := range addUp(threads, 0) {
		each := tariffAt(known, s.calls/max(seconds, 1))
		nanos += each.at(s.calls, s.timed+s.beside)
	}
	return nanos
}

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

const (
	lineWords = 16      // of a cache line, in 32-bit words
	lines     = 1 << 20 // 64 MiB, more than caches hold
	hops      = 4000
	tries     = 9
)

// memoryLatency is about how many nanoseconds a load from memory takes here that no
// cache has and nothing overlaps. Calls that wait for memory one after the other,
// because the clock is read in between, may take that much less where it is not.
func memoryLatency() float64 {
	next := make([]uint32, lines*lineWords)
	order := rand.Perm(lines)
	for i, line := range order {
		next[line*lineWords] = uint32(order[(i+1)%lines] * lineWords)
	}
	// From the lines that were written first, and so are longest out of all caches.
	at := uint32(order[0] * lineWords)
	var times []float64
	for range tries {
		began := time.Now()
		for range hops {
			at = next[at]
		}
		times = append(times, float64(time.Since(began))/hops)
	}
	runtime.KeepAlive(at) // the walk is not done for nothing
	return span(times).Median
}
