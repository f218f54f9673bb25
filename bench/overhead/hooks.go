package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// warmRounds come first and are not kept: what runs is compiled in them.
const warmRounds = 12

// allocationCalls is around how many calls the JVM's allocation counter is read.
const allocationCalls = 1 << 20

// A target is the program with hooks in.
type target struct {
	*harness.Program
	session *session.Look
	modes   []mode
	methods *pattern.Set
	timing  harness.Batches
	calls   map[string]int // in a turn, by shape
}

// measureHooks measures what calls cost in every mode and shape.
func (r *result) measureHooks(ctx context.Context, jdk jvmtest.JDK, classes string) error {
	p, err := start(jdk, classes)
	if err != nil {
		return err
	}
	defer p.Close()
	t := &target{Program: p, modes: r.modes, calls: make(map[string]int)}
	if err := t.learn(); err != nil {
		return err
	}
	return harness.InSession(ctx, p.PID(), func(s *session.Look) error {
		t.session = s
		if err := t.weave(ctx); err != nil {
			return err
		}
		for round := range warmRounds + *rounds {
			nanos, err := t.round(ctx)
			if err != nil {
				return err
			}
			if round >= warmRounds {
				r.rounds = append(r.rounds, nanos)
			}
		}
		r.allocated, err = t.allocations(ctx)
		return err
	})
}

// learn runs every shape once, so that its classes are loaded, and asks how
// many calls are in it.
func (t *target) learn() error {
	for _, shape := range shapes {
		calls, err := t.One("calls", hooked, shape)
		if err != nil {
			return err
		}
		t.calls[shape] = int(calls)
		for _, which := range []twin{bare, clocked, hooked} {
			if _, err := t.Ask("time", which, shape, 1<<14, 4); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *target) weave(ctx context.Context) (err error) {
	if t.methods, err = pattern.ParseSet(hookedMethods...); err != nil {
		return err
	}
	if _, err := t.session.Instrument(ctx, session.Wanted{Methods: t.methods}); err != nil {
		return err
	}
	if woven := len(t.session.Methods()); woven != hookedCount {
		return fmt.Errorf("%d methods have hooks, not %d; left alone: %v", woven, hookedCount, t.session.LeftAlone())
	}
	return nil
}

// round runs everything once and returns nanoseconds a call, by key.
func (t *target) round(ctx context.Context) (map[string]float64, error) {
	nanos := make(map[string]float64)
	for _, m := range t.modes {
		if err := t.enter(ctx, m); err != nil {
			return nil, err
		}
		for _, shape := range m.allShapes() {
			n, _, err := t.timing.Time(t.Program, key(m.name, shape), *batches, m.twin, shape)
			if err != nil {
				return nil, err
			}
			nanos[key(m.name, shape)] = n / float64(t.calls[shape])
		}
	}
	return nanos, nil
}

// enter switches the hooks as a mode wants them, and leaves them alone for one
// that has none.
func (t *target) enter(ctx context.Context, m mode) error {
	if m.twin != hooked {
		return nil
	}
	return t.session.Switch(ctx, t.methods, m.flags, m.period)
}

// allocations asks in every mode how many bytes a million calls take of the
// Java heap.
func (t *target) allocations(ctx context.Context) (map[string]int64, error) {
	bytes := make(map[string]int64)
	for _, m := range t.modes {
		if err := t.enter(ctx, m); err != nil {
			return nil, err
		}
		for _, shape := range m.allShapes() {
			n, err := t.allocated(m, shape)
			if err != nil {
				return nil, err
			}
			bytes[key(m.name, shape)] = n
		}
	}
	return bytes, nil
}

// allocated also proves that the hooks did what the mode says: the arena must
// have counted every call, or none.
func (t *target) allocated(m mode, shape string) (int64, error) {
	before, err := t.counted()
	if err != nil {
		return 0, err
	}
	turns := allocationCalls / t.calls[shape]
	n, err := t.One("allocated", m.twin, shape, turns)
	if err != nil {
		return 0, err
	}
	after, err := t.counted()
	if err != nil {
		return 0, err
	}
	var want uint64
	if m.flags&arena.On != 0 && m.flags&arena.Inside == 0 {
		want = uint64(2 * turns * t.calls[shape]) // the driver runs them twice
	}
	if after-before != want {
		return 0, fmt.Errorf("%s, %s: hooks counted %d calls of %d", m.name, shape, after-before, want)
	}
	return int64(n), nil
}

// counted is how many calls the arena has, of all methods.
func (t *target) counted() (calls uint64, err error) {
	sum, err := t.session.Sum()
	if err != nil {
		return 0, err
	}
	for _, totals := range sum.Methods {
		calls += totals.Calls
	}
	return calls, nil
}

func key(mode, shape string) string { return mode + "/" + shape }

// A twin is a set of the same methods; its name is their Java package.
type twin string

const (
	bare    twin = "bare"    // as they are
	clocked twin = "clocked" // with two readings of System.nanoTime around each body
	hooked  twin = "hooked"  // as bare, until they are woven
)

// mixed is of how many methods the mix is.
const mixed = 200

// shapes are the classes of a twin: ways for methods to call each other.
var shapes = []string{"Leaf", "Chain", "Recursion", "Mix"}

// hookedMethods are those that get hooks; what loops over them does not.
var hookedMethods = []string{
	"hooked.Leaf.work", "hooked.Chain.first", "hooked.Chain.second", "hooked.Chain.third",
	"hooked.Recursion.down", "hooked.Mix.*.work",
}

// hookedCount is how many methods those patterns name; the interface's has no
// code.
const hookedCount = 5 + mixed

// compile makes the classes of the program and its twins, in a new folder.
func compile(jdk jvmtest.JDK) (classes string, err error) {
	generated := make(map[string]string)
	for _, t := range []twin{bare, clocked, hooked} {
		data := struct {
			Package       twin
			Before, After string
			Mixed         [mixed]int
		}{Package: t}
		for i := range data.Mixed {
			data.Mixed[i] = i
		}
		if t == clocked {
			data.Before, data.After = "long begun = System.nanoTime();", "Body.clock += System.nanoTime() - begun;"
		}
		if generated[string(t)+".java"], err = harness.Generate("bench/overhead/java/twin.tmpl", data); err != nil {
			return "", err
		}
	}
	return harness.Compile(jdk, harness.Source{
		Files: []string{"bench/overhead/java/*.java"}, Generated: generated, Flags: []string{"--release", "11"},
	})
}

// start runs the program.
func start(jdk jvmtest.JDK, classes string) (*harness.Program, error) {
	return harness.Start(jdk, "-Xms128m", "-Xmx128m", "-cp", classes, "overhead.Driver")
}

const (
	everyday     = "Everyday"       // the shape no method of which is ever woven
	warmTurns    = 500              // of each JVM, before anything is kept
	turnBatches  = 5                // in a turn of one JVM
	enoughPhases = 3                // the fewest that say anything of their spread
	closeEnough  = 0.2              // percent; once the mean is known as well as this, it is known
	patience     = 45 * time.Second // for phases, on a machine that is busy
)

// attached is what being attached to, with no method woven, costs a program.
// Percentages are of its speed.
type attached struct {
	phases   []float64 // slowdown in each, against the same two JVMs before and after it
	mean     float64
	within   float64 // of the true mean, 95 times in 100
	agentCPU float64 // percent of one processor that the agent's own threads used
}

// A couple is two JVMs that run the same program, never both at once. They are
// never quite alike, so what attaching does to one is read from how their ratio
// changes.
type couple struct {
	touched, untouched *harness.Program
	turns              int // in a batch
}

// turnNanos is how long a batch of a turn should take.
const turnNanos = 1e6

// measureAttached alternates between phases with and without a session in one
// of two JVMs.
func (r *result) measureAttached(ctx context.Context, jdk jvmtest.JDK, classes string) error {
	var c couple
	for _, p := range []**harness.Program{&c.touched, &c.untouched} {
		var err error
		if *p, err = start(jdk, classes); err != nil {
			return err
		}
		defer (*p).Close()
	}
	if err := c.warm(); err != nil {
		return err
	}
	before, err := c.ratio(*pairs)
	if err != nil {
		return err
	}
	a := &r.attached
	var agent, wall time.Duration
	for begun := time.Now(); len(a.phases) < max(*phases, enoughPhases); {
		if len(a.phases) >= enoughPhases && (a.within <= closeEnough || time.Since(begun) > patience) {
			break
		}
		during, used, took, err := c.attachedRatio(ctx, *pairs)
		if err != nil {
			return err
		}
		after, err := c.ratio(*pairs)
		if err != nil {
			return err
		}
		agent, wall = agent+used, wall+took
		a.phases = append(a.phases, 100*(during-(before+after)/2))
		a.mean, a.within = harness.Mean(a.phases)
		before = after
	}
	a.agentCPU = 100 * float64(agent) / float64(wall)
	return nil
}

// warm has both compile what they run, and settles how many turns make a batch.
func (c *couple) warm() error {
	c.turns = 16
	for range warmTurns {
		for _, p := range []*harness.Program{c.touched, c.untouched} {
			took, err := c.take(p)
			if err != nil {
				return err
			}
			c.turns = max(int(float64(c.turns)*turnNanos/took), 1)
		}
	}
	return nil
}

// take gives one JVM a turn. The lower quartile is of batches that were neither
// interrupted nor met by a collection, which only ever add.
func (c *couple) take(p *harness.Program) (nanos float64, err error) {
	batches, err := p.Ask("time", bare, everyday, c.turns, turnBatches)
	return harness.Quantile(batches, 0.25), err
}

// ratio is the logarithm of how much longer the one JVM takes than the other:
// the median over pairs of turns, of which now the one is first, now the other.
func (c *couple) ratio(pairs int) (float64, error) {
	logarithms := make([]float64, 0, pairs)
	for pair := range pairs {
		order := []*harness.Program{c.touched, c.untouched}
		if pair%2 == 1 {
			slices.Reverse(order)
		}
		took := make(map[*harness.Program]float64)
		for _, p := range order {
			var err error
			if took[p], err = c.take(p); err != nil {
				return 0, err
			}
		}
		logarithms = append(logarithms, math.Log(took[c.touched]/took[c.untouched]))
	}
	return harness.Median(logarithms), nil
}

// attachedRatio is ratio while a session holds the one JVM, with the processor
// time that the agent's threads used meanwhile.
func (c *couple) attachedRatio(ctx context.Context, pairs int) (ratio float64, used, took time.Duration, err error) {
	err = harness.InSession(ctx, c.touched.PID(), func(*session.Look) error {
		begun, usedBefore := time.Now(), agentTime(c.touched.PID())
		var err error
		ratio, err = c.ratio(pairs)
		used, took = agentTime(c.touched.PID())-usedBefore, time.Since(begun)
		return err
	})
	return ratio, used, took, err
}

// agentTime is what threads whose names begin with "sonde" had of processors.
func agentTime(pid int) (sum time.Duration) {
	isOurs := func(name string) bool { return strings.HasPrefix(name, "sonde") }
	for _, thread := range harness.Threads(pid, isOurs) {
		stat, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		if err != nil {
			continue // it has ended
		}
		if first, _, found := strings.Cut(string(stat), " "); found {
			nanos, _ := strconv.ParseInt(first, 10, 64)
			sum += time.Duration(nanos)
		}
	}
	return sum
}
