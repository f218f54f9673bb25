package suggest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A tally is what was counted for a candidate, and in which time.
type tally struct {
	calls, timed, nanos uint64
	over                time.Duration
	cpu                 time.Duration // of the program meanwhile, in steps of 10 ms
}

const (
	// A glance finds out how often methods are called, too short to be felt: a longer one if
	// that is rarely.
	shortGlance = 2 * time.Millisecond
	longGlance  = 50 * time.Millisecond
	plenty      = 2000 // calls in a short glance that make a longer one needless

	// minUse is the part of a processor that an idle program is assumed to use.
	minUse = 0.1
	// minCPU is the processor time of which steps of 10 ms are a small part.
	minCPU = 100 * time.Millisecond
)

// What hooks of candidates do.
const (
	countCalls = arena.On | arena.Flat
	timeCalls  = countCalls | arena.Timed
)

func setAll(candidates []*Candidate, flags arena.Flags) {
	for _, one := range candidates {
		one.flags = flags
	}
}

// request asks for the hooks of candidates as they are set.
func request(candidates []*Candidate) (request session.Request) {
	for _, one := range candidates {
		for _, m := range one.Members {
			request.Hooks = append(request.Hooks, session.Hook{MethodRef: m, Flags: one.flags})
		}
	}
	return request
}

type tallies map[*Candidate]tally

// read returns what hooks have counted so far.
func (o *observer) read(candidates []*Candidate) (tallies, error) {
	sum, err := o.session.Sum()
	if err != nil {
		return nil, err
	}
	all := make(tallies, len(candidates))
	for _, one := range candidates {
		var t tally
		for _, m := range one.Members {
			if totals := sum.Methods[o.session.ID(m)]; totals != nil {
				t = t.plus(tally{calls: totals.Calls, timed: totals.Timed, nanos: totals.Nanos})
			}
		}
		all[one] = t
	}
	return all, nil
}

// span lets hooks count for a while, and returns what they counted.
func (o *observer) span(ctx context.Context, candidates []*Candidate, long time.Duration) (tallies, error) {
	before, err := o.read(candidates)
	if err != nil {
		return nil, err
	}
	if _, err := o.session.Hook(ctx, request(candidates)); err != nil {
		return nil, err
	}
	begun, err := o.session.Read()
	if err != nil {
		return nil, err
	}
	switch err := o.pause(ctx, long); {
	case err != nil && ctx.Err() != nil:
		o.isCut = true // what was counted so far is kept
	case err != nil:
		return nil, err
	}
	after, err := o.read(candidates)
	if err != nil {
		return nil, err
	}
	now, err := o.session.Read()
	if err != nil {
		return nil, err
	}
	since := begun.Until(now)
	o.counted += since.Elapsed
	for one, t := range after {
		was := before[one]
		after[one] = tally{t.calls - was.calls, t.timed - was.timed, t.nanos - was.nanos, since.Elapsed, since.Rest}
	}
	return after, nil
}

func (t tally) plus(more tally) tally {
	return tally{t.calls + more.calls, t.timed + more.timed, t.nanos + more.nanos, t.over + more.over, t.cpu + more.cpu}
}

func (t tally) rate() float64 {
	if t.over <= 0 {
		return 0
	}
	return float64(t.calls) / t.over.Seconds()
}

// part returns what the calls would cost as a part of the program's processor time, if one
// took nanos. The processor time that the program had meanwhile counts, if
// it is enough to be exact, however busy the machine was: calls come with processor time.
func (t tally) part(nanos, use float64) float64 {
	used := use * t.over.Seconds()
	if t.cpu >= minCPU {
		used = t.cpu.Seconds()
	}
	used = max(used, minUse*t.over.Seconds())
	if used <= 0 {
		return 0
	}
	return float64(t.calls) * nanos / (used * 1e9)
}

// countPicked counts all candidates for a moment, and candidates that are not called too often
// for a longer time. Those that fit the budget are timed as well.
func (o *observer) countPicked(ctx context.Context, long time.Duration) error {
	glanced, err := o.glance(ctx)
	if err != nil {
		return err
	}
	setModes(o.picked, glanced, o.probe, o.Budget*max(o.look.use, minUse))
	counted, latest, err := o.untilSteady(ctx, o.picked, long)
	if err != nil {
		return err
	}
	for _, one := range o.picked {
		if one.flags == 0 {
			counted[one], latest[one] = glanced[one], glanced[one]
		}
	}
	return o.take(ctx, counted, latest)
}

// take sets the rates and costs of candidates by what was counted.
func (o *observer) take(ctx context.Context, counted, latest tallies) error {
	ctx = context.WithoutCancel(ctx)
	inner, err := o.session.ClockCost(ctx)
	if err != nil {
		return err
	}
	again, err := overhead.MeasureProbe(ctx, o.session)
	if err != nil {
		return err
	}
	o.probe = o.probe.Least(again) // on a busy machine the first may precede compilation
	for one, all := range counted {
		one.take(all, latest[one], inner, o.probe, o.look.use)
	}
	return nil
}

// take sets the rate and cost of a candidate by what was counted in all and last. Inner is
// the clock's own time in a timed call.
func (c *Candidate) take(all, latest tally, inner float64, probe overhead.ProbeCost, use float64) {
	c.Measured, c.PerSecond, c.Ended = true, latest.rate(), all.calls
	if c.flags&arena.Timed != 0 {
		c.Ended = all.timed
	}
	if all.timed > 0 {
		c.Mean = time.Duration(max(0, float64(all.nanos)/float64(all.timed)-inner))
	}
	price := func(thin bool) float64 {
		return max(all.part(probe.Call(all.rate(), thin), use), latest.part(probe.Call(latest.rate(), thin), use))
	}
	c.Cost, c.Thin = price(false), price(true)
}

// glance counts for so short a time that it costs nothing, and longer for candidates that
// are rarely called.
func (o *observer) glance(ctx context.Context) (tallies, error) {
	setAll(o.picked, countCalls)
	glanced, err := o.span(ctx, o.picked, shortGlance)
	if err != nil {
		return nil, err
	}
	for one, t := range glanced {
		if t.calls > plenty {
			one.flags = 0
		}
	}
	if o.isCut {
		return nil, ctx.Err() // too short to show anything
	}
	longer, err := o.span(ctx, o.picked, longGlance)
	if err != nil {
		return nil, err
	}
	for one, t := range longer {
		if one.flags != 0 {
			glanced[one] = t
		}
	}
	return glanced, nil
}

// setModes decides what the hook of each candidate does after a glance, the rarest first:
// time calls while that fits the budget, then count them, or nothing. The budget is a part of
// a processor.
func setModes(candidates []*Candidate, glanced tallies, probe overhead.ProbeCost, budget float64) {
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b *Candidate) int { return cmp.Compare(glanced[a].rate(), glanced[b].rate()) })
	allowed := budget * 1e9 // nanoseconds in a second
	spent := 0.0
	for _, one := range sorted {
		rate := glanced[one].rate()
		timing, counting := rate*probe.Call(rate, false), rate*overhead.HotCount
		switch {
		case spent+timing <= allowed:
			one.flags = timeCalls
			spent += timing
		case spent+counting <= allowed:
			one.flags = countCalls
			spent += counting
		default:
			one.flags = 0
		}
	}
}

// untilSteady counts for a time, and longer until the program is as fast as it will be, or the user
// ends it. It returns what was counted in all, and in the last slice.
func (o *observer) untilSteady(ctx context.Context, candidates []*Candidate, long time.Duration) (all, latest tallies, err error) {
	all = make(tallies, len(candidates))
	s := steadiness{long: long, most: long + o.patience()}
	for !s.isOver() && !o.isCut {
		latest, err = o.span(ctx, candidates, long/slicesPerCount)
		if err != nil {
			return nil, nil, err
		}
		var sum tally
		for one, t := range latest {
			sum.calls += t.calls
			sum.over, sum.cpu = t.over, t.cpu
			all[one] = all[one].plus(t)
		}
		s.add(sum)
	}
	o.waited += max(0, s.took-long)
	return all, latest, nil
}

const (
	slicesPerCount = 4
	faster         = 1.1 // a pace that is no faster than this is the same
	calmSlices     = 2   // that are no faster: one may be by chance
)

// A steadiness decides when to stop counting: when the program makes no more calls for its
// processor time than before. Code that got hooks is slow until it is compiled again, and
// slow code makes few calls.
type steadiness struct {
	long time.Duration // asked for
	most time.Duration
	took time.Duration
	pace float64 // the highest so far
	calm int     // slices in a row that were no faster
}

// add takes in the calls of all candidates in a slice.
func (s *steadiness) add(slice tally) {
	s.took += slice.over
	pace := float64(slice.calls) / max(slice.cpu, minCPU/slicesPerCount).Seconds()
	if s.calm++; pace > faster*s.pace {
		s.calm = 0
	}
	s.pace = max(s.pace, pace)
}

func (s *steadiness) isOver() bool {
	return s.took >= s.long && s.calm >= calmSlices || s.took >= s.most
}

// settle waits until code that got hooks is compiled again, for a bounded time.
func (o *observer) settle(ctx context.Context) error {
	rule, began := overhead.ForSuggest, time.Now()
	rule.Limit = min(rule.Limit, o.patience())
	defer func() { o.waited += time.Since(began) }()
	return rule.Wait(o.session.Read, func(d time.Duration) error { return o.pause(ctx, d) })
}

// pause lets time pass, unless the session or the context ends.
func (o *observer) pause(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-o.session.Done():
		return o.session.Err()
	case <-time.After(long):
		return nil
	}
}
