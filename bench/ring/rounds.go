package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The two ways a call is dealt with.
const (
	counted = arena.On | arena.Flat
	traced  = arena.On | arena.Flat | arena.Root | arena.Traced
)

// readEvery is how often rings are read.
const readEvery = 50 * time.Millisecond

// warmRounds come first and are not kept.
const warmRounds = 5

// A target is the program with the hook in.
type target struct {
	*driver.Program
	session *session.Session
	methods *pattern.Set
}

// A result is what was measured of a method that takes so long.
type result struct {
	name      string
	wantNanos float64 // a call is to take with its hook counting; 0: as little as possible
	hasBar    bool

	steps          int
	counts, traces []float64 // nanoseconds a call, by rounds
	calls          float64   // that were to be traced
	records        uint64
	dropped        uint64
}

// rounds measures both ways by turns, while the rings are read.
func (t *target) rounds(ctx context.Context, r *result, o options) error {
	reading := t.read()
	err := t.takeTurns(ctx, r, o)
	records, readErr := reading()
	r.records = records
	if err == nil {
		err = readErr
	}
	return err
}

func (t *target) takeTurns(ctx context.Context, r *result, o options) error {
	calls, err := t.settle(ctx, r, o.batch)
	if err != nil {
		return err
	}
	before, err := t.dropped()
	if err != nil {
		return err
	}
	for round := range warmRounds + o.rounds {
		var nanos [2]float64
		for turn := range 2 {
			way := (turn + round) % 2 // now the one is first, now the other
			if err := t.session.Switch(ctx, t.methods, []arena.Flags{counted, traced}[way], 1); err != nil {
				return err
			}
			took, err := t.One("time", calls, r.steps)
			if err != nil {
				return err
			}
			nanos[way] = took / float64(calls)
		}
		r.calls += float64(calls)
		if round >= warmRounds {
			r.counts, r.traces = append(r.counts, nanos[0]), append(r.traces, nanos[1])
		}
	}
	after, err := t.dropped()
	r.dropped = after - before
	return err
}

// settle has the program compiled, finds how much the method has to do, and how many
// calls make a batch.
func (t *target) settle(ctx context.Context, r *result, batch time.Duration) (calls int64, err error) {
	if err := t.session.Switch(ctx, t.methods, counted, 1); err != nil {
		return 0, err
	}
	calls = 1 << 20
	for range 12 {
		took, err := t.One("time", calls, r.steps)
		if err != nil {
			return 0, err
		}
		nanos := took / float64(calls)
		if r.wantNanos > 0 {
			// A step takes about a nanosecond.
			r.steps = max(r.steps+int(math.Round((r.wantNanos-nanos)*0.7)), 0)
			nanos = r.wantNanos
		}
		calls = max(int64(float64(batch)/nanos), 1000)
	}
	return calls, nil
}

// dropped is how many calls rings had no room for.
func (t *target) dropped() (sum uint64, err error) {
	rings, err := t.session.Rings()
	if err != nil {
		return 0, err
	}
	for _, ring := range rings {
		state, err := ring.State()
		if err != nil {
			return 0, err
		}
		sum += state.Dropped
	}
	return sum, nil
}

// read reads all rings, again and again, until the function it returns is called, which
// tells how many records there were.
func (t *target) read() (end func() (uint64, error)) {
	type outcome struct {
		records uint64
		err     error
	}
	stop, done := make(chan struct{}), make(chan outcome)
	go func() {
		tick := time.NewTicker(readEvery)
		defer tick.Stop()
		var o outcome
		for isOver := false; !isOver; {
			select {
			case <-tick.C:
			case <-stop:
				isOver = true
			}
			rings, err := t.session.Rings()
			for _, ring := range rings {
				if err == nil {
					err = ring.Read(func(arena.Record) { o.records++ })
				}
			}
			if o.err == nil {
				o.err = err
			}
		}
		done <- o
	}()
	return func() (uint64, error) {
		close(stop)
		o := <-done
		return o.records, o.err
	}
}

// share is how much of the throughput of counting is left with tracing, by rounds.
func (r *result) share() spread.Spread {
	var shares []float64
	for i, nanos := range r.counts {
		shares = append(shares, nanos/r.traces[i])
	}
	return spread.Of(shares)
}

func (r *result) print(w io.Writer) {
	count, trace, share := spread.Of(r.counts), spread.Of(r.traces), r.share()
	verdict := ""
	if r.hasBar {
		verdict = fmt.Sprintf(", bar %.0f %%: met", 100*bar)
		if share.Median < bar {
			verdict = fmt.Sprintf(", bar %.0f %%: missed", 100*bar)
		}
	}
	_, _ = fmt.Fprintf(w, "  %s\n", r.name)
	_, _ = fmt.Fprintf(w, "    counted     %6.2f ns a call (%.2f to %.2f), %.1f million a second\n", count.Median, count.Low, count.High, 1000/count.Median)
	_, _ = fmt.Fprintf(w, "    traced      %6.2f ns a call (%.2f to %.2f)\n", trace.Median, trace.Low, trace.High)
	_, _ = fmt.Fprintf(w, "    throughput  %6.1f %% of counted (%.1f to %.1f)%s\n", 100*share.Median, 100*share.Low, 100*share.High, verdict)
	_, _ = fmt.Fprintf(w, "    of %.0f calls %d were written and read, %d dropped (%.2f %%)\n", r.calls, r.records, r.dropped, 100*float64(r.dropped)/r.calls)
}
