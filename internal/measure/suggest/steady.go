package suggest

import (
	"context"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

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
