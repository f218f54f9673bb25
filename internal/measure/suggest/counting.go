package suggest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A counter counts the calls of candidates.
type counter struct {
	session    *session.Session
	candidates []*Candidate
	probe      overhead.ProbeCost
	use        float64 // processors that the program uses
	budget     float64
}

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

// flagsOf says what the hooks of a candidate do.
type flagsOf func(*Candidate) arena.Flags

func allOff(*Candidate) arena.Flags   { return 0 }
func allTimed(*Candidate) arena.Flags { return arena.On | arena.Flat | arena.Timed }

func (c *counter) request(candidates []*Candidate, flags flagsOf) (request session.Request) {
	for _, one := range candidates {
		for _, m := range one.Members {
			request.Hooks = append(request.Hooks, session.Hook{MethodRef: classfile.MethodRef(m), Flags: flags(one)})
		}
	}
	return request
}

// weave puts hooks in, switched off, in one batch, and waits until the program runs as
// before.
func (c *counter) weave(ctx context.Context) error {
	if _, err := c.session.Hook(ctx, c.request(c.candidates, allOff)); err != nil {
		return err
	}
	return settle(ctx, c.session)
}

// read returns what hooks have counted so far.
func (c *counter) read() (map[*Candidate]tally, error) {
	sum, err := c.session.Sum()
	if err != nil {
		return nil, err
	}
	tallies := make(map[*Candidate]tally, len(c.candidates))
	for _, one := range c.candidates {
		var t tally
		for _, m := range one.Members {
			if totals := sum.Methods[c.session.ID(classfile.MethodRef(m))]; totals != nil {
				t.calls += totals.Calls
				t.timed += totals.Timed
				t.nanos += totals.Nanos
			}
		}
		tallies[one] = t
	}
	return tallies, nil
}

// span lets hooks count for a while, and returns what they counted.
func (c *counter) span(ctx context.Context, flags flagsOf, long time.Duration) (map[*Candidate]tally, error) {
	before, err := c.read()
	if err != nil {
		return nil, err
	}
	if _, err := c.session.Hook(ctx, c.request(c.candidates, flags)); err != nil {
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
// took so many nanoseconds. The processor time that the program had meanwhile counts, if
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

// count counts all candidates for a moment, and those that are not called too often for a
// longer time. Those that fit the budget are timed as well.
func (c *counter) count(ctx context.Context, long time.Duration) error {
	glanced, err := c.glance(ctx)
	if err != nil {
		return err
	}
	modes := modesFor(c.candidates, glanced, c.probe, c.budget*c.use)
	flags := func(one *Candidate) arena.Flags { return modes[one] }
	counted, latest, err := c.untilSteady(ctx, flags, long)
	if err != nil {
		return err
	}
	for one, mode := range modes {
		if mode == 0 {
			counted[one], latest[one] = glanced[one], glanced[one]
		}
	}
	return c.take(ctx, counted, latest, flags)
}

// recount takes the hooks of all but some candidates out, and counts those again as they
// will be: timed.
func (c *counter) recount(ctx context.Context, kept []*Candidate, long time.Duration) error {
	others := slices.DeleteFunc(slices.Clone(c.candidates), func(one *Candidate) bool { return slices.Contains(kept, one) })
	c.candidates = kept
	if _, err := c.session.Unhook(ctx, c.request(others, allOff)); err != nil {
		return err
	}
	if err := settle(ctx, c.session); err != nil {
		return err
	}
	counted, latest, err := c.untilSteady(ctx, allTimed, long)
	if err != nil {
		return err
	}
	return c.take(ctx, counted, latest, allTimed)
}

// take sets the rates and costs of candidates by what was counted.
func (c *counter) take(ctx context.Context, counted, latest map[*Candidate]tally, flags flagsOf) error {
	inner, err := c.session.ClockCost(ctx)
	if err != nil {
		return err
	}
	again, err := overhead.MeasureProbe(ctx, c.session)
	if err != nil {
		return err
	}
	c.probe = c.probe.Least(again) // on a busy machine the first may precede compilation
	for _, one := range c.candidates {
		one.take(counted[one], latest[one], flags(one)&arena.Timed != 0, inner, c.probe, c.use)
	}
	return nil
}

// take sets the rate and cost of a candidate by what was counted in all and last. Inner is
// the clock's own time in a timed call.
func (c *Candidate) take(all, latest tally, isTimed bool, inner float64, probe overhead.ProbeCost, use float64) {
	c.Measured, c.PerSecond, c.Ended = true, latest.rate(), all.calls
	if isTimed {
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
func (c *counter) glance(ctx context.Context) (map[*Candidate]tally, error) {
	short, err := c.span(ctx, func(*Candidate) arena.Flags { return arena.On | arena.Flat }, shortGlance)
	if err != nil {
		return nil, err
	}
	longer, err := c.span(ctx, func(one *Candidate) arena.Flags {
		if short[one].calls > plenty {
			return 0
		}
		return arena.On | arena.Flat
	}, longGlance)
	if err != nil {
		return nil, err
	}
	for one, t := range short {
		if t.calls <= plenty {
			short[one] = longer[one]
		}
	}
	return short, nil
}

// modesFor decides what the hook of each candidate does after a glance, the rarest first:
// time calls while that fits the budget, count them while that costs no more than twice
// the budget, or nothing. The budget is a part of a processor.
func modesFor(candidates []*Candidate, glanced map[*Candidate]tally, probe overhead.ProbeCost, budget float64) map[*Candidate]arena.Flags {
	modes := make(map[*Candidate]arena.Flags, len(glanced))
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(a, b *Candidate) int { return cmp.Compare(glanced[a].rate(), glanced[b].rate()) })
	allowed := budget * 1e9 // nanoseconds in a second
	spent := 0.0
	for _, one := range sorted {
		rate := glanced[one].rate()
		timing, counting := rate*probe.Call(rate, false), rate*overhead.HotCount
		switch {
		case spent+timing <= allowed:
			modes[one] = arena.On | arena.Flat | arena.Timed
			spent += timing
		case spent+counting <= 2*allowed:
			modes[one] = arena.On | arena.Flat
			spent += counting
		default:
			modes[one] = 0
		}
	}
	return modes
}

// untilSteady counts for a time, and longer until the program is as fast as it will be. It
// returns what was counted in all, and in the last slice.
func (c *counter) untilSteady(ctx context.Context, flags flagsOf, long time.Duration) (all, latest map[*Candidate]tally, err error) {
	all = make(map[*Candidate]tally, len(c.candidates))
	for s := (steadiness{long: long}); !s.isOver(); {
		latest, err = c.span(ctx, flags, long/slicesPerCount)
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
	return all, latest, nil
}

const (
	slicesPerCount = 4
	maxCounting    = 4   // how many times as long to count at most
	faster         = 1.1 // a pace that is no faster than this is the same
	calmSlices     = 2   // that are no faster: one may be by chance
)

// A steadiness decides when to stop counting: when the program makes no more calls for its
// processor time than before. Code that got hooks is slow until it is compiled again, and
// slow code makes few calls.
type steadiness struct {
	long time.Duration // asked for
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
	return s.took >= s.long && s.calm >= calmSlices || s.took >= maxCounting*s.long
}

// settle waits until code that got hooks is compiled again, for a bounded time.
func settle(ctx context.Context, s *session.Session) error {
	return overhead.ForSuggest.Wait(s.Read, func(d time.Duration) error { return pause(ctx, s, d) })
}

// pause lets time pass, unless the session or the context ends.
func pause(ctx context.Context, s *session.Session, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Done():
		return s.Err()
	case <-time.After(long):
		return nil
	}
}
