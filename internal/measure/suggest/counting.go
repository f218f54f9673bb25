package suggest

import (
	"context"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const (
	// countNanos is what a call costs whose hook counts it, in code that is hot.
	countNanos = 6
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
	tariff     tariff
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
	again, err := tariffOf(ctx, c.session)
	if err != nil {
		return err
	}
	c.tariff = c.tariff.least(again) // on a busy machine the first may have been before compilers were
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
			return max(t.part(c.tariff.call(t.rate(), thins), c.use), now.part(c.tariff.call(now.rate(), thins), c.use))
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
		nanos := c.tariff.call(rate, false)
		switch {
		case spent+rate*nanos <= allowed:
			modes[one] = arena.On | arena.Flat | arena.Timed
			spent += rate * nanos
		case spent+rate*countNanos <= 2*allowed:
			modes[one] = arena.On | arena.Flat
			spent += rate * countNanos
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
