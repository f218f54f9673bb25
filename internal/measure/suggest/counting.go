package suggest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	sets "github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// A glance finds out how often methods are called, for a moment that nobody feels: a
	// longer one where that is seldom.
	shortGlance = 2 * time.Millisecond
	longGlance  = 50 * time.Millisecond
	plenty      = 2000 // calls in a short glance that need no longer one

	// leastUse is of a processor what a program is taken to use at least: one that idles
	// has time.
	leastUse = 0.1
)

// A counter counts the calls of candidates.
type counter struct {
	session    *session.Session
	candidates []*Candidate
	tariff     overhead.ProbeCost
	use        float64 // processors that the program uses
	budget     float64
}

// A tally is what was counted of a candidate, in what time.
type tally struct {
	calls, timed, nanos uint64
	over                time.Duration
	cpu                 time.Duration // that the program had meanwhile; told in steps of 10 ms
}

// request has the hooks of all candidates do something.
func (c *counter) request(flags func(*Candidate) arena.Flags) session.Request {
	var request session.Request
	for _, one := range c.candidates {
		for _, m := range one.Members {
			request.Hooks = append(request.Hooks, session.Hook{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor, Flags: flags(one)})
		}
	}
	return request
}

// weave puts hooks in, switched off, in one batch, and waits until the program runs as
// it did.
func (c *counter) weave(ctx context.Context) error {
	if _, err := c.session.Hook(ctx, c.request(func(*Candidate) arena.Flags { return 0 })); err != nil {
		return err
	}
	return settle(ctx, c.session)
}

// switchTo has hooks do something.
func (c *counter) switchTo(ctx context.Context, flags func(*Candidate) arena.Flags) error {
	_, err := c.session.Hook(ctx, c.request(flags))
	return err
}

// read is what hooks have counted so far.
func (c *counter) read() (map[*Candidate]tally, error) {
	sum, err := c.session.Sum()
	if err != nil {
		return nil, err
	}
	tallies := make(map[*Candidate]tally, len(c.candidates))
	for _, one := range c.candidates {
		var t tally
		for _, m := range one.Members {
			if totals := sum.Methods[c.session.ID(m.Class, m.Name, m.Descriptor)]; totals != nil {
				t.calls += totals.Calls
				t.timed += totals.Timed
				t.nanos += totals.Nanos
			}
		}
		tallies[one] = t
	}
	return tallies, nil
}

// span lets hooks count for a while, and gives what that brought.
func (c *counter) span(ctx context.Context, flags func(*Candidate) arena.Flags, long time.Duration) (map[*Candidate]tally, error) {
	before, err := c.read()
	if err != nil {
		return nil, err
	}
	if err := c.switchTo(ctx, flags); err != nil {
		return nil, err
	}
	begun, err := c.session.Read()
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, c.session, long); err != nil {
		return nil, err
	}
	after, err := c.read()
	if err != nil {
		return nil, err
	}
	now, err := c.session.Read()
	if err != nil {
		return nil, err
	}
	since := begun.Until(now)
	for one, t := range after {
		was := before[one]
		after[one] = tally{t.calls - was.calls, t.timed - was.timed, t.nanos - was.nanos, since.Elapsed, since.Rest}
	}
	return after, nil
}

func (t tally) rate() float64 {
	if t.over <= 0 {
		return 0
	}
	return float64(t.calls) / t.over.Seconds()
}

// part is what the calls would cost of the program's processor time, if one took so many
// nanoseconds. Where the program had enough of it meanwhile that counts, however busy the
// machine was: calls come with processor time.
func (t tally) part(nanos, use float64) float64 {
	used := use * t.over.Seconds()
	if t.cpu >= leastCPU {
		used = t.cpu.Seconds()
	}
	if least := leastUse * t.over.Seconds(); used < least {
		used = least
	}
	if used <= 0 {
		return 0
	}
	return float64(t.calls) * nanos / (used * 1e9)
}

// leastCPU is processor time that says something: it is told in steps.
const leastCPU = 100 * time.Millisecond

// count counts all candidates for a moment, and those that are not called too often for
// as long as is asked for. What could be had for the budget is timed as well.
func (c *counter) count(ctx context.Context, long time.Duration) error {
	glanced, err := c.glance(ctx)
	if err != nil {
		return err
	}
	modes := c.modes(glanced)
	counted, latest, err := c.until(ctx, func(one *Candidate) arena.Flags { return modes[one] }, long)
	if err != nil {
		return err
	}
	for one := range modes {
		if modes[one] == 0 {
			counted[one], latest[one] = glanced[one], glanced[one]
		}
	}
	return c.note(ctx, counted, latest, func(one *Candidate) arena.Flags { return modes[one] })
}

// note takes over what was counted.
func (c *counter) note(ctx context.Context, counted, latest map[*Candidate]tally, flags func(*Candidate) arena.Flags) error {
	inner, err := c.session.ClockCost(ctx)
	if err != nil {
		return err
	}
	again, err := overhead.MeasureProbe(ctx, c.session)
	if err != nil {
		return err
	}
	c.tariff = c.tariff.Least(again) // on a busy machine the first may have been before compilers were
	for _, one := range c.candidates {
		t, now := counted[one], latest[one]
		one.Measured, one.PerSecond, one.Ended = true, now.rate(), t.calls
		if flags(one)&arena.Timed != 0 {
			one.Ended = t.timed
		}
		if t.timed > 0 {
			one.Mean = time.Duration(max(0, float64(t.nanos)/float64(t.timed)-inner))
		}
		cost := func(thins bool) float64 {
			return max(t.part(c.tariff.Call(t.rate(), thins), c.use), now.part(c.tariff.Call(now.rate(), thins), c.use))
		}
		one.Cost, one.Thin = cost(false), cost(true)
	}
	return nil
}

// glance counts for so short a time that it costs nothing, and longer if that tells too
// little.
func (c *counter) glance(ctx context.Context) (map[*Candidate]tally, error) {
	counting := func(*Candidate) arena.Flags { return arena.On | arena.Flat }
	short, err := c.span(ctx, counting, shortGlance)
	if err != nil {
		return nil, err
	}
	often := make(map[*Candidate]bool)
	for one, t := range short {
		often[one] = t.calls > plenty
	}
	longer, err := c.span(ctx, func(one *Candidate) arena.Flags {
		if often[one] {
			return 0
		}
		return arena.On | arena.Flat
	}, longGlance)
	if err != nil {
		return nil, err
	}
	for one := range short {
		if !often[one] {
			short[one] = longer[one]
		}
	}
	return short, nil
}

// modes is what the hook of each candidate does for the rest of the time, by what a
// moment told: time its calls where that alone fits the budget, count them where it
// costs little, or nothing.
func (c *counter) modes(glanced map[*Candidate]tally) map[*Candidate]arena.Flags {
	modes := make(map[*Candidate]arena.Flags, len(glanced))
	allowed := c.budget * c.use * 1e9 // nanoseconds in a second
	spent := 0.0
	for _, one := range byRate(c.candidates, glanced) {
		rate := glanced[one].rate()
		nanos := c.tariff.Call(rate, false)
		switch {
		case spent+rate*nanos <= allowed:
			modes[one] = arena.On | arena.Flat | arena.Timed
			spent += rate * nanos
		case spent+rate*overhead.HotCount <= 2*allowed:
			modes[one] = arena.On | arena.Flat
			spent += rate * overhead.HotCount
		default:
			modes[one] = 0
		}
	}
	return modes
}

// byRate orders candidates by how often they are called, those that seldom are first.
func byRate(candidates []*Candidate, counted map[*Candidate]tally) []*Candidate {
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b *Candidate) int { return compareFloat(counted[a].rate(), counted[b].rate()) })
	return sorted
}

const (
	// Calls are counted in slices, until the program does no more for its processor time
	// than in the slice before: code that got hooks is slow until it is compiled again, and
	// what is slow makes few calls. That is waited for up to so many times as long.
	inSlices     = 4
	mostCounting = 4
	steady       = 1.1
	inRow        = 2 // slices that are no faster: one may be so by chance
)

// until counts for as long as is asked for, and on until the program is as fast as it
// will be. It gives what was counted in all, and of that the latest.
func (c *counter) until(ctx context.Context, flags func(*Candidate) arena.Flags, long time.Duration) (all, latest map[*Candidate]tally, err error) {
	all = make(map[*Candidate]tally, len(c.candidates))
	var took time.Duration
	for before, calm := 0.0, 0; ; {
		latest, err = c.span(ctx, flags, long/inSlices)
		if err != nil {
			return nil, nil, err
		}
		var calls uint64
		var one tally
		for candidate, t := range latest {
			calls += t.calls
			one = t
			all[candidate] = all[candidate].plus(t)
		}
		took += one.over
		pace := float64(calls) / max(one.cpu, leastCPU/inSlices).Seconds()
		if calm++; pace > steady*before {
			calm = 0
		}
		before = max(before, pace)
		if took >= long && calm >= inRow || took >= mostCounting*long {
			return all, latest, nil
		}
	}
}

func (t tally) plus(more tally) tally {
	return tally{t.calls + more.calls, t.timed + more.timed, t.nanos + more.nanos, t.over + more.over, t.cpu + more.cpu}
}

// recount takes the hooks of all but some candidates out, and counts those again as they
// will be: timed.
func (c *counter) recount(ctx context.Context, kept []*Candidate, long time.Duration) error {
	all := c.candidates
	c.candidates = slices.DeleteFunc(slices.Clone(all), func(one *Candidate) bool { return slices.Contains(kept, one) })
	out := c.request(func(*Candidate) arena.Flags { return 0 })
	c.candidates = kept
	if _, err := c.session.Unhook(ctx, out); err != nil {
		return err
	}
	if err := settle(ctx, c.session); err != nil {
		return err
	}
	timed := func(*Candidate) arena.Flags { return arena.On | arena.Flat | arena.Timed }
	counted, latest, err := c.until(ctx, timed, long)
	if err != nil {
		return err
	}
	return c.note(ctx, counted, latest, timed)
}

// settle waits until code that got hooks is compiled again, for a bounded time.
func settle(ctx context.Context, s *session.Session) error {
	return overhead.ForSuggest.Wait(s.Read, func(d time.Duration) error { return pause(ctx, s, d) })
}

// pause lets time pass, unless the session or the context ends.
func pause(ctx context.Context, s *session.Session, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Done():
		return s.Err()
	case <-timer.C:
		return nil
	}
}

// A Trial is what a set cost and covered while it was applied.
type Trial struct {
	Took     time.Duration // without the time in which compilers dealt with what was woven
	Applied  time.Duration // with it: what results are about
	Methods  int           // that have a probe
	Left     []string      // what was not woven, and why
	Calls    uint64
	Cost     float64 // by calls and what each costs, part of the program's processor time
	Coverage float64
	Samples  int
	Bare     []Bare
	Nanos    float64 // what a call costs, on average
	Use      float64
	Pause    time.Duration // for which the program stood still while hooks went in and out
	Results  *sets.Results
}

// Try applies what is proposed as it is, for as long as the options say, measures what
// that costs and covers, and takes it out again.
func Try(ctx context.Context, options Options, p *Proposal) (t *Trial, err error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	o := &observer{Options: options}
	o.tell(Applying)
	s, err := session.Open(ctx, o.PID, session.Settings{Command: o.Command, Force: o.Force, Notice: o.Notice, Waiting: o.Waiting, Cache: o.Cache})
	if err != nil {
		return nil, err
	}
	applied := sets.New(s, sets.Options{Flags: arena.Spreads, Notice: o.Notice})
	t = &Trial{}
	defer func() {
		o.tell(Leaving)
		applied.Close()
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
		defer cancel()
		farewell, closing := s.Close(leaving)
		t.Pause += farewell.Pause.Pause
		for _, remark := range farewell.Remarks {
			o.notice(remark)
		}
		err = errors.Join(err, closing, s.Release())
	}()
	cost, err := overhead.MeasureProbe(ctx, s)
	if err != nil {
		return t, err
	}
	report, err := applied.Apply(ctx, p.Set())
	if err != nil {
		return t, err
	}
	t.note(report)
	began := time.Now()
	defer func() { t.Applied = time.Since(began) }()
	if err := settle(ctx, s); err != nil {
		return t, err
	}
	o.tell(Measuring)
	called, used, err := o.measure(ctx, s, applied, t)
	if err != nil {
		return t, err
	}
	again, err := overhead.MeasureProbe(ctx, s)
	if err != nil {
		return t, err
	}
	t.reckon(p, cost.Least(again), called, used)
	return t, nil
}

// note takes over what was woven.
func (t *Trial) note(report *sets.Report) {
	for _, probe := range report.Probes {
		t.Methods += len(probe.Methods)
		for _, left := range probe.LeftOut {
			t.Left = append(t.Left, left.Method+": "+left.Err.Error())
		}
		for _, pattern := range probe.Unmatched {
			t.Left = append(t.Left, pattern+": no loaded method matches it")
		}
	}
	if report.Installation != nil {
		pause, _ := report.Installation.Pause() // 0 where the JVM does not tell
		t.Pause += pause
	}
}

// measure takes samples while probes are on, and reads what those counted: how often each
// method was called, and what processor time the program had meanwhile.
func (o *observer) measure(ctx context.Context, s *session.Session, applied *sets.Watch, t *Trial) (called map[Method]uint64, used time.Duration, err error) {
	before, err := applied.Results()
	if err != nil {
		return nil, 0, err
	}
	w, err := watch(ctx, &o.Options, false)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	if err := follow(ctx, w, o.For, s.Done()); err != nil {
		return nil, 0, err
	}
	after, err := applied.Results()
	if err != nil {
		return nil, 0, err
	}
	now, err := w.meter.Read()
	if err != nil {
		return nil, 0, err
	}
	seen := w.result()
	t.Took, t.Use, t.Samples, t.Results = seen.took, max(seen.use, leastUse), seen.table.Samples, after
	ended := endedOf(before, after)
	called = between(before, after, func(row *sets.Row) uint64 { return row.Calls })
	used = max(w.first.Until(now).Rest, time.Duration(leastUse*float64(t.Took)))
	covers := func(m Method) bool { return ended[m] >= fewEnded }
	if o.look = seen; seen.bias != "" { // thread dumps do not tell methods of one name apart
		covers = func(m Method) bool { return ended[m.anyOverload()] >= fewEnded }
	}
	t.Coverage = Coverage(seen.paths, covers)
	t.Bare = bareOf(seen.paths, covers)
	return called, used, nil
}

// reckon says what calls cost, as a part of the program's processor time.
func (t *Trial) reckon(p *Proposal, cost overhead.ProbeCost, called map[Method]uint64, used time.Duration) {
	thins := make(map[Method]bool)
	for _, c := range p.Choices {
		for _, m := range c.Members {
			thins[m] = c.Thins
		}
	}
	nanos := 0.0
	for m, calls := range called {
		t.Calls += calls
		nanos += float64(calls) * cost.Call(float64(calls)/t.Took.Seconds(), thins[m])
	}
	t.Nanos = nanos / max(float64(t.Calls), 1)
	t.Cost = nanos / float64(used)
}

// endedOf is how many calls of each method have ended between two results, and of all
// methods of a name.
func endedOf(before, after *sets.Results) map[Method]uint64 {
	ended := between(before, after, func(row *sets.Row) uint64 { return row.Timed })
	for m, calls := range maps.Clone(ended) {
		ended[m.anyOverload()] += calls
	}
	return ended
}

// between is by how much a figure of each method has grown from one result to the next. Rows
// never go away, nor do their figures sink.
func between(before, after *sets.Results, figure func(*sets.Row) uint64) map[Method]uint64 {
	grown := make(map[Method]uint64)
	for i := range after.Rows {
		grown[spotOf(&after.Rows[i])] += figure(&after.Rows[i])
	}
	for i := range before.Rows {
		grown[spotOf(&before.Rows[i])] -= figure(&before.Rows[i])
	}
	return grown
}

func spotOf(row *sets.Row) Method { return Method{row.Class, row.Name, row.Descriptor} }
