// Ring measures what tracing costs a program that calls the traced method far more
// often than anybody can read: rings are full nearly always, calls are dropped and
// counted.
//
//	go run ./bench/ring [-jdk N] [-rounds N] [-batch D]
//
// On each JDK a Java program calls one method in a loop. Its hook now only counts, now
// traces every call as a transaction of its own, in batches by turns in one run; Sonde
// reads the rings all the while, as often as it does for a user. The figure is the share
// of the throughput that is left when calls are traced, for a method called ten million
// times a second and, without a bar, for one that does nothing. Time is what the calling
// thread had of a processor.
//
// The exit code is 1 where the bar is missed, and 2 where something could not be
// measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// least is the share of the throughput that must be left.
const least = 0.95

var (
	rounds = flag.Int("rounds", 30, "rounds, each with a counted and a traced batch")
	batch  = flag.Duration("batch", 200*time.Millisecond, "length of a batch; Sonde reads the rings several times in it")
)

func main() {
	harness.Main("ring", func(ctx context.Context, r *harness.Report) error {
		table := r.Table("JDK", "method", "counted, ns a call", "traced, ns a call", "throughput left", "calls", "written and read", "dropped")
		return harness.EachJDK(func(jdk jvmtest.JDK) error {
			results, err := measure(ctx, jdk)
			for _, one := range results {
				one.report(r, table, jdk.Version)
			}
			return err
		})
	})
}

func measure(ctx context.Context, jdk jvmtest.JDK) (results []*result, err error) {
	classes, err := harness.Compile(jdk, harness.Source{Files: []string{"bench/ring/java/*.java"}})
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	p, err := harness.Start(jdk, "-cp", classes, "ring.Ring")
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if _, err := p.One("time", 1000, 1); err != nil { // loads what is to be woven
		return nil, err
	}
	methods, err := pattern.ParseSet("ring.Ring.Work.work")
	if err != nil {
		return nil, err
	}
	err = harness.InSession(ctx, p.PID(), func(s *session.Look) error {
		if _, err := s.Instrument(ctx, session.Wanted{Methods: methods}); err != nil {
			return err
		}
		if woven := len(s.Methods()); woven != 1 {
			return fmt.Errorf("%d methods have hooks, not 1; left alone: %v", woven, s.LeftAlone())
		}
		t := &target{Program: p, session: s, methods: methods}
		for _, r := range []*result{{name: "ten million calls a second", wantNanos: 100, hasBar: true}, {name: "as fast as it goes"}} {
			if err := t.rounds(ctx, r); err != nil {
				return err
			}
			results = append(results, r)
		}
		return nil
	})
	return results, err
}

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
	*harness.Program
	session *session.Look
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
func (t *target) rounds(ctx context.Context, r *result) error {
	reading := t.read()
	err := t.takeTurns(ctx, r)
	records, readErr := reading()
	r.records = records
	if err == nil {
		err = readErr
	}
	return err
}

func (t *target) takeTurns(ctx context.Context, r *result) error {
	calls, err := t.settle(ctx, r)
	if err != nil {
		return err
	}
	before, err := t.dropped()
	if err != nil {
		return err
	}
	for round := range warmRounds + *rounds {
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
func (t *target) settle(ctx context.Context, r *result) (calls int64, err error) {
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
		calls = max(int64(float64(*batch)/nanos), 1000)
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
// returns how many records there were.
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

// report adds a row, and the bar where there is one.
func (r *result) report(to *harness.Report, table *harness.Table, jdk string) {
	var shares []float64
	for i, nanos := range r.counts {
		shares = append(shares, 100*nanos/r.traces[i])
	}
	left := harness.SpreadOf(shares)
	table.Row(jdk, r.name, harness.SpreadOf(r.counts).Text("%.2f"), harness.SpreadOf(r.traces).Text("%.2f"), left.Text("%.1f %%"),
		fmt.Sprintf("%.0f", r.calls), r.records, fmt.Sprintf("%d (%.2f %%)", r.dropped, 100*float64(r.dropped)/r.calls))
	if r.hasBar {
		to.Bar(harness.Judge(left.Median >= 100*least), "JDK %s, %s: %.1f %% of the throughput is left (at least %.0f %%)", jdk, r.name, left.Median, 100*least)
	}
}
