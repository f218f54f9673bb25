// Ring measures what tracing costs a program that calls the traced method far more
// often than anybody can read: rings are full nearly always, calls are dropped and
// counted.
//
//	go run ./bench/ring [--rounds N] [--batch D] [--jdk N]
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
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// bar is the share of the throughput that must be left.
const bar = 0.95

type options struct {
	rounds  int
	batch   time.Duration
	jdk     int
	sources string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 30, "rounds, each with a batch of both ways")
	flag.DurationVar(&o.batch, "batch", 200*time.Millisecond, "how long a batch takes: several readings of the rings")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.StringVar(&o.sources, "sources", "bench/ring/java", "folder with the Java program")
	flag.Parse()
	machine.Main("bench/ring", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func run(ctx context.Context, o options) (met bool, err error) {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return false, err
	}
	met = true
	for _, jdk := range jdks {
		results, err := measure(ctx, jdk, o)
		if err != nil {
			return false, fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		fmt.Printf("JDK %s, load %s; medians with quartiles\n", jdk.Version, machine.Load())
		for _, r := range results {
			r.print(os.Stdout)
			met = met && (!r.hasBar || r.share().Median >= bar)
		}
	}
	return met, nil
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) (results []*result, err error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	p, err := driver.Start(jdk, "-cp", classes, "ring.Ring")
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if _, err := p.One("time", 1000, 1); err != nil { // loads what is to be woven
		return nil, err
	}
	s, err := session.Open(ctx, p.PID(), session.Settings{Command: "bench/ring"})
	if err != nil {
		return nil, err
	}
	defer func() {
		_, closing := s.Close(ctx)
		_ = s.Release()
		if err == nil {
			err = closing
		}
	}()
	methods, err := pattern.ParseSet("ring.Ring.Work.work")
	if err != nil {
		return nil, err
	}
	if _, err := s.Instrument(ctx, session.Wanted{Methods: methods}); err != nil {
		return nil, err
	}
	if woven := len(s.Methods()); woven != 1 {
		return nil, fmt.Errorf("%d methods have hooks, not 1; left alone: %v", woven, s.LeftAlone())
	}
	t := &target{Program: p, session: s, methods: methods}
	for _, r := range []*result{{name: "ten million calls a second", wantNanos: 100, hasBar: true}, {name: "as fast as it goes"}} {
		if err := t.rounds(ctx, r, o); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// compile makes the program's classes, in a new folder.
func compile(jdk jvmtest.JDK, sources string) (classes string, err error) {
	folder, err := os.MkdirTemp("", "sonde-ring-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(jdk.Tool("javac"), "-d", folder, filepath.Join(sources, "Ring.java")).CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(folder)
		return "", fmt.Errorf("compiling %s: %w\n%s", sources, err, out)
	}
	return folder, nil
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
