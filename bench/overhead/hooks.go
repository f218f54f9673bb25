package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// warmRounds come first and are not kept: what runs is compiled in them.
const warmRounds = 12

// batchNanos is how long a batch should take: long against the clock, short
// against a turn that the system gives to somebody else.
const batchNanos = 1e6

// allocationCalls is around how many calls the JVM's allocation counter is read.
const allocationCalls = 1 << 20

// A target is the program with hooks in.
type target struct {
	*driver.Program
	session *session.Session
	modes   []mode
	methods *pattern.Set
	turns   map[string]int // of a batch, by mode and shape
	calls   map[string]int // in a turn, by shape
}

// measureHooks fills in what calls cost in every mode and shape.
func (r *report) measureHooks(ctx context.Context, jdk jvmtest.JDK, classes string, o options) (err error) {
	p, err := start(jdk, classes)
	if err != nil {
		return err
	}
	defer p.Close()
	t := &target{Program: p, modes: r.modes, turns: make(map[string]int), calls: make(map[string]int)}
	if err := t.learn(); err != nil {
		return err
	}
	t.session, err = session.Open(ctx, p.PID(), session.Settings{Command: "bench/overhead"})
	if err != nil {
		return err
	}
	defer func() {
		_, closing := t.session.Close(ctx)
		_ = t.session.Release()
		if err == nil {
			err = closing
		}
	}()
	if err := t.weave(ctx); err != nil {
		return err
	}
	for round := range warmRounds + o.rounds {
		nanos, err := t.round(ctx, o.batches)
		if err != nil {
			return err
		}
		if round >= warmRounds {
			r.Rounds = append(r.Rounds, nanos)
		}
	}
	r.Allocated, err = t.allocations(ctx)
	return err
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
func (t *target) round(ctx context.Context, batches int) (map[string]float64, error) {
	nanos := make(map[string]float64)
	for _, m := range t.modes {
		if err := t.enter(ctx, m); err != nil {
			return nil, err
		}
		for _, shape := range m.allShapes() {
			n, err := t.time(m, shape, batches)
			if err != nil {
				return nil, err
			}
			nanos[key(m.name, shape)] = n
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

// time returns what some batches took, in nanoseconds a call: the lower quartile,
// since being interrupted only ever adds. It learns how many turns make a batch.
func (t *target) time(m mode, shape string, batches int) (float64, error) {
	k := key(m.name, shape)
	if t.turns[k] == 0 {
		t.turns[k] = 1 << 12
	}
	turns := t.turns[k]
	nanos, err := t.Ask("time", m.twin, shape, turns, batches)
	if err != nil {
		return 0, err
	}
	took := spread.Quantile(nanos, 0.25)
	if took < batchNanos*2/3 || took > batchNanos*3/2 {
		t.turns[k] = int(math.Ceil(float64(turns) * batchNanos / max(took, 1)))
	}
	return took / float64(turns) / float64(t.calls[shape]), nil
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
func compile(jdk jvmtest.JDK, sources string) (classes string, err error) {
	folder, err := os.MkdirTemp("", "sonde-overhead-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(folder)
		}
	}()
	files, err := filepath.Glob(filepath.Join(sources, "*.java"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no Java sources in %s: run from the top of the repository, or name the folder by --sources", sources)
	}
	text, err := template.ParseFiles(filepath.Join(sources, "twin.tmpl"))
	if err != nil {
		return "", err
	}
	for _, t := range []twin{bare, clocked, hooked} {
		file := filepath.Join(folder, string(t)+".java")
		if err := writeTwin(file, text, t); err != nil {
			return "", err
		}
		files = append(files, file)
	}
	javac := exec.Command(jdk.Tool("javac"), append([]string{"--release", "11", "-d", folder}, files...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, out)
	}
	return folder, nil
}

// start runs the program.
func start(jdk jvmtest.JDK, classes string) (*driver.Program, error) {
	return driver.Start(jdk, "-Xms128m", "-Xmx128m", "-cp", classes, "overhead.Driver")
}

func writeTwin(path string, text *template.Template, t twin) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data := struct {
		Package       twin
		Before, After string
		Mixed         []int
	}{Package: t}
	if t == clocked {
		data.Before, data.After = "long begun = System.nanoTime();", "Body.clock += System.nanoTime() - begun;"
	}
	for i := range mixed {
		data.Mixed = append(data.Mixed, i)
	}
	if err := text.Execute(file, data); err != nil {
		return err
	}
	return file.Close()
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
	Phases      []float64 // slowdown in each, against the same two JVMs before and after it
	Mean        float64
	Within      float64 // of the true mean, 95 times in 100
	AgentCPU    float64 // percent of one processor that the agent's own threads used
	Pairs       int     // in each half of a phase
	TwinsDiffer float64 // by how much the two JVMs differ while neither is touched
}

// A couple is two JVMs that run the same program, never both at once. They are
// never quite alike, so what attaching does to one is read from how their ratio
// changes.
type couple struct {
	touched, untouched *driver.Program
	turns              int // in a batch
}

// measureAttached alternates between phases with and without a session in one
// of two JVMs.
func (r *report) measureAttached(ctx context.Context, jdk jvmtest.JDK, classes string, o options) error {
	var c couple
	for _, p := range []**driver.Program{&c.touched, &c.untouched} {
		var err error
		if *p, err = start(jdk, classes); err != nil {
			return err
		}
		defer (*p).Close()
	}
	if err := c.warm(); err != nil {
		return err
	}
	before, err := c.ratio(o.pairs)
	if err != nil {
		return err
	}
	a := &r.Attached
	a.Pairs, a.TwinsDiffer = o.pairs, 100*before
	var agent, wall time.Duration
	for begun := time.Now(); len(a.Phases) < max(o.phases, enoughPhases); {
		if len(a.Phases) >= enoughPhases && (a.Within <= closeEnough || time.Since(begun) > patience) {
			break
		}
		during, used, took, err := c.attachedRatio(ctx, o.pairs)
		if err != nil {
			return err
		}
		after, err := c.ratio(o.pairs)
		if err != nil {
			return err
		}
		agent, wall = agent+used, wall+took
		a.Phases = append(a.Phases, 100*(during-(before+after)/2))
		a.Mean, a.Within = spread.Mean(a.Phases)
		before = after
	}
	a.AgentCPU = 100 * float64(agent) / float64(wall)
	return nil
}

// warm has both compile what they run, and settles how many turns make a batch.
func (c *couple) warm() error {
	c.turns = 16
	for range warmTurns {
		for _, p := range []*driver.Program{c.touched, c.untouched} {
			took, err := c.take(p)
			if err != nil {
				return err
			}
			c.turns = max(int(float64(c.turns)*batchNanos/took), 1)
		}
	}
	return nil
}

// take gives one JVM a turn. The lower quartile is of batches that were neither
// interrupted nor met by a collection, which only ever add.
func (c *couple) take(p *driver.Program) (nanos float64, err error) {
	batches, err := p.Ask("time", bare, everyday, c.turns, turnBatches)
	return spread.Quantile(batches, 0.25), err
}

// ratio is the logarithm of how much longer the one JVM takes than the other:
// the median over pairs of turns, of which now the one is first, now the other.
func (c *couple) ratio(pairs int) (float64, error) {
	logarithms := make([]float64, 0, pairs)
	for pair := range pairs {
		order := []*driver.Program{c.touched, c.untouched}
		if pair%2 == 1 {
			slices.Reverse(order)
		}
		took := make(map[*driver.Program]float64)
		for _, p := range order {
			var err error
			if took[p], err = c.take(p); err != nil {
				return 0, err
			}
		}
		logarithms = append(logarithms, math.Log(took[c.touched]/took[c.untouched]))
	}
	return spread.Median(logarithms), nil
}

// attachedRatio is ratio while a session holds the one JVM, with the processor
// time that the agent's threads used meanwhile.
func (c *couple) attachedRatio(ctx context.Context, pairs int) (ratio float64, used, took time.Duration, err error) {
	s, err := session.Open(ctx, c.touched.PID(), session.Settings{Command: "bench/overhead"})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() {
		_, closing := s.Close(ctx)
		_ = s.Release()
		if err == nil {
			err = closing
		}
	}()
	begun, usedBefore := time.Now(), agentTime(c.touched.PID())
	if ratio, err = c.ratio(pairs); err != nil {
		return 0, 0, 0, err
	}
	return ratio, agentTime(c.touched.PID()) - usedBefore, time.Since(begun), nil
}

// agentTime is what threads whose names begin with "sonde" had of processors.
func agentTime(pid int) (sum time.Duration) {
	isOurs := func(name string) bool { return strings.HasPrefix(name, "sonde") }
	for _, thread := range machine.Threads(pid, isOurs) {
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
