// Context measures what watching methods only where and when it matters costs a call.
//
//	go run ./bench/context [-jdk N] [-rounds N] [-json]
//
// One method has a twin for each thing that is measured: without a hook, with one that
// is switched off, in a sequence that is not met, with a condition on two fields, and
// so on. All hooks go in at once; every round runs all twins in turn, in batches of
// about a millisecond, so that what else the machine does hits all alike and falls out
// of medians. The same condition is asked by reflection and by an interpreter, in the
// program's own source, for comparison. What hand-offs cost is beside a second JVM
// that Sonde never entered. Sonde's counts prove afterwards that each hook did what it
// was measured for.
//
// The exit code is 1 where a bar is missed, or nobody can tell, and 2 where something
// could not be measured.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"text/template"

	"github.com/sonde-jvm/sonde/bench/driver"
	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type options struct {
	rounds, batches int
	jdk             int
	json            bool
	sources         string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 61, "rounds through all twins")
	flag.IntVar(&o.batches, "batches", 5, "batches for each of them in a round")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	flag.StringVar(&o.sources, "sources", "bench/context/java", "folder with the Java program")
	flag.Parse()
	machine.Main("bench/context", func(ctx context.Context) (bool, error) {
		return machine.Compare(o.jdk, o.json, func(jdk jvmtest.JDK) (*report, error) { return measure(ctx, jdk, o) })
	})
}

// A mode is a twin of its own: what its method has in it, and what is measured.
type mode struct {
	name  string
	twin  string // the Java package of its classes
	shape string
	// Before stands in the source, before the method's body.
	before string
	met    bool // its orders meet the condition
	probe  *probeset.Probe
	tag    *probeset.Tag
	off    bool // the probe is switched off, and stays in
	apart  bool // in a JVM that Sonde never entered
	counts bool // every call is counted; else none is
	bar    float64
	beside string // the mode it is compared with; empty for bare
}

const condition = `$order.tier == "gold" && $order.amount > 100`

// The names of modes that others refer to.
const (
	modeBare    = "no hook"
	modeApart   = "hand-off, JVM without Sonde"
	modeApart2  = "hand-off, same, second twin"
	modeNotMet  = "condition on two fields, not met"
	modeReflect = "same condition by reflection"
	modeTree    = "same condition by an interpreter"
)

// The bars, in nanoseconds that are added to a call.
const (
	mostForSequence  = 3
	mostForCondition = 10
	mostForAnchor    = 3
)

// modes are run in this order in each round.
var modes = []mode{
	{name: modeBare, twin: "bare", shape: "Leaf"},
	{name: "probe, switched off", twin: "off", shape: "Leaf", off: true, probe: &probeset.Probe{}},
	{name: "probe, counts", twin: "plain", shape: "Leaf", counts: true, probe: &probeset.Probe{}},
	{name: "sequence by >> not met", twin: "below", shape: "Leaf", bar: mostForSequence,
		probe: &probeset.Probe{Within: []string{"elsewhere.Leaf.within"}}},
	{name: "sequence by > not met, not for the caller", twin: "near", shape: "Leaf", bar: mostForSequence,
		probe: &probeset.Probe{Within: []string{"elsewhere.Leaf.run > near.Leaf.within >"}}},
	{name: "sequence by > not met, for the caller only", twin: "caller", shape: "Leaf",
		probe: &probeset.Probe{Within: []string{"caller.Leaf.run >"}}},
	{name: "sequence by >> met, counts", twin: "met", shape: "Leaf", counts: true,
		probe: &probeset.Probe{Within: []string{"met.Leaf.within"}}},
	{name: "sequence by > met, counts", twin: "direct", shape: "Leaf", counts: true,
		probe: &probeset.Probe{Within: []string{"direct.Leaf.within >"}}},
	{name: "anchor", twin: "anchor", shape: "Leaf", bar: mostForAnchor,
		probe: &probeset.Probe{Methods: []string{"elsewhere.Leaf.work"}, Within: []string{"anchor.Leaf.work"}}},
	{name: modeNotMet, twin: "unmet", shape: "Leaf", bar: mostForCondition, probe: &probeset.Probe{When: condition}},
	{name: "condition on two fields, met, counts", twin: "truly", shape: "Leaf", met: true, counts: true,
		probe: &probeset.Probe{When: condition}},
	{name: modeReflect, twin: "reflected", shape: "Leaf", before: "Checks.reflect(order);"},
	{name: modeTree, twin: "interpreted", shape: "Leaf", before: "Checks.interpret(x, order);"},
	{name: "condition on a tag, not met", twin: "tagged", shape: "Leaf",
		probe: &probeset.Probe{When: `tx.tier == "silver"`}, tag: &probeset.Tag{Name: "tier", Value: "$2", At: "tagged.Leaf.within"}},
	{name: "tag point, same value again", twin: "tagging", shape: "Leaf",
		tag: &probeset.Tag{Name: "kind", Value: "$order.tier", At: "tagging.Leaf.work"}},
	{name: modeApart, twin: "bare", shape: "HandOff", apart: true},
	{name: modeApart2, twin: "handing", shape: "HandOff", apart: true},
	{name: "hand-off, no context", twin: "bare", shape: "HandOff", beside: modeApart},
	{name: "hand-off of a context", twin: "handing", shape: "HandOff", beside: modeApart2,
		probe: &probeset.Probe{Methods: []string{"elsewhere.Leaf.run"}, Within: []string{"handing.HandOff.within"}}},
}

// elsewhere is the twin whose methods nobody calls while others are measured.
const elsewhere = "elsewhere"

// twins are the packages that are generated, with what differs between them.
func twins() []mode {
	all := []mode{{twin: elsewhere}}
	for _, m := range modes {
		if !m.apart && (m.shape != "HandOff" || m.twin != "bare") {
			all = append(all, m)
		}
	}
	return all
}

// wantedSet is all that the modes ask for, at once: no class is woven again later.
func wantedSet() *probeset.Set {
	set := &probeset.Set{HandOff: true}
	for _, m := range modes {
		if m.probe != nil {
			p := *m.probe
			p.Name, p.Level = m.twin, probeset.Count
			if p.Methods == nil {
				p.Methods = []string{m.twin + ".Leaf.work"}
			}
			set.Probes = append(set.Probes, p)
		}
		if m.tag != nil {
			set.Tags = append(set.Tags, *m.tag)
		}
	}
	return set
}

// The amounts of orders that meet the condition, and of others.
const (
	enough = 200
	little = 20
)

// compile makes the classes of the program and its twins, in a new folder.
func compile(jdk jvmtest.JDK, sources string) (classes string, err error) {
	folder, err := os.MkdirTemp("", "sonde-context-")
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
		return "", fmt.Errorf("no Java sources in %s: run from the top of the repository, or name the folder by -sources", sources)
	}
	text, err := template.ParseFiles(filepath.Join(sources, "twin.tmpl"))
	if err != nil {
		return "", err
	}
	for _, m := range twins() {
		file := filepath.Join(folder, m.twin+".java")
		if err := writeTwin(file, text, m); err != nil {
			return "", err
		}
		files = append(files, file)
	}
	javac := exec.Command(jdk.Tool("javac"), append([]string{"--release", "11", "-g", "-d", folder}, files...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, out)
	}
	return folder, nil
}

func writeTwin(path string, text *template.Template, m mode) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data := struct {
		Package, Before string
		Amount          int
	}{m.twin, m.before, little}
	if m.met {
		data.Amount = enough
	}
	if err := text.Execute(file, data); err != nil {
		return err
	}
	return file.Close()
}

// start runs the program.
func start(jdk jvmtest.JDK, classes string) (*driver.Program, error) {
	return driver.Start(jdk, "-Xms256m", "-Xmx256m", "-cp", classes, "driven.Driver")
}

// warmRounds come first and are not kept: what runs is compiled in them.
const warmRounds = 40

// batchNanos is how long a batch should take: long against the clock, short against a
// turn that the system gives to somebody else.
const batchNanos = 1e6

// A bench is two JVMs, one of which Sonde is in.
type bench struct {
	entered, apart *driver.Program
	session        *session.Session
	watch          *liveprobes.Watch
	turns          map[string]int    // of a batch, by mode
	made           map[string]uint64 // calls since hooks were in, by mode
}

// measure does all of it on one JDK.
func measure(ctx context.Context, jdk jvmtest.JDK, o options) (r *report, err error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	b := &bench{turns: make(map[string]int), made: make(map[string]uint64)}
	for _, p := range []**driver.Program{&b.entered, &b.apart} {
		if *p, err = start(jdk, classes); err != nil {
			return nil, err
		}
		defer (*p).Close()
	}
	r = &report{JDK: jdk.Version, LoadBefore: machine.Load()}
	if err := b.load(); err != nil {
		return nil, err
	}
	if b.session, err = session.Open(ctx, b.entered.PID(), session.Settings{Command: "bench/context"}); err != nil {
		return nil, err
	}
	defer func() {
		_, closing := b.session.Close(ctx)
		_ = b.session.Release()
		err = errors.Join(err, closing)
	}()
	b.watch = liveprobes.New(b.session, liveprobes.Options{})
	defer b.watch.Close()
	if err := b.install(ctx); err != nil {
		return nil, err
	}
	for round := range warmRounds + o.rounds {
		nanos, err := b.round(o.batches)
		if err != nil {
			return nil, err
		}
		if round >= warmRounds {
			r.Rounds = append(r.Rounds, nanos)
		}
	}
	if err := b.prove(); err != nil {
		return nil, err
	}
	r.LoadAfter = machine.Load()
	r.judge()
	return r, nil
}

// load runs every twin once, so that its classes are there when hooks go in.
func (b *bench) load() error {
	for _, m := range twins() {
		for _, shape := range []string{"Leaf", "HandOff"} {
			for _, p := range []*driver.Program{b.entered, b.apart} {
				if _, err := p.Ask("time", m.twin, shape, 1<<10, 2); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// install has all hooks in, and those off that should be.
func (b *bench) install(ctx context.Context) error {
	applied, err := b.watch.Apply(ctx, wantedSet())
	if err != nil {
		return err
	}
	for _, one := range append(applied.Probes, applied.Tags...) {
		if len(one.LeftOut) > 0 || len(one.Methods) == 0 {
			return fmt.Errorf("%s has %d methods; left out: %v; named none: %v", one.Name, len(one.Methods), one.LeftOut, one.Unmatched)
		}
	}
	results, err := b.watch.Results()
	if err != nil {
		return err
	}
	off := make(map[uint32]arena.Probe)
	for _, row := range results.Rows {
		for _, m := range modes {
			if m.off && m.twin == row.Probe {
				off[row.SpotName.ID] = arena.Probe{ID: row.SpotName.ID}
			}
		}
	}
	if len(off) == 0 {
		return errors.New("no probe could be switched off")
	}
	return b.session.SwitchSpots(ctx, off)
}

// round runs everything once and returns nanoseconds a call, by mode.
func (b *bench) round(batches int) (map[string]float64, error) {
	nanos := make(map[string]float64)
	for _, m := range modes {
		n, err := b.time(m, batches)
		if err != nil {
			return nil, err
		}
		nanos[m.name] = n
	}
	return nanos, nil
}

// time returns what some batches took, in nanoseconds a call: the lower quartile,
// since being interrupted only ever adds. It learns how many turns make a batch.
func (b *bench) time(m mode, batches int) (float64, error) {
	if b.turns[m.name] == 0 {
		b.turns[m.name] = 1 << 12
	}
	turns := b.turns[m.name]
	program := b.entered
	if m.apart {
		program = b.apart
	}
	nanos, err := program.Ask("time", m.twin, m.shape, turns, batches)
	if err != nil {
		return 0, err
	}
	b.made[m.name] += uint64(turns * batches)
	took := spread.Quantile(nanos, 0.25)
	if took < batchNanos*2/3 || took > batchNanos*3/2 {
		b.turns[m.name] = int(math.Ceil(float64(turns) * batchNanos / max(took, 1)))
	}
	return took / float64(turns), nil
}

// prove compares what Sonde counted with the calls that were made.
func (b *bench) prove() error {
	results, err := b.watch.Results()
	if err != nil {
		return err
	}
	have := make(map[string]uint64)
	for _, row := range results.Rows {
		have[row.Probe] += row.Calls
	}
	for _, m := range modes {
		want := uint64(0)
		if m.counts {
			want = b.made[m.name]
		}
		if have[m.twin] != want {
			return fmt.Errorf("%s: %d calls were counted, not %d", m.name, have[m.twin], want)
		}
	}
	return nil
}

// A report is everything that was found on one JDK.
type report struct {
	JDK                   string
	LoadBefore, LoadAfter string
	Rounds                []map[string]float64 // nanoseconds a call, by mode
	Costs                 []cost
}

// A cost is what a mode adds to a call of what it is compared with; of one that is
// compared with nothing it is the whole call.
type cost struct {
	Name    string
	Added   spread.Spread
	Bar     float64 // 0 for none
	IsWhole bool
	// Unclear says that the bar is not met while others kept the processors busy. A bare
	// call hardly feels that, as each of its instructions waits for the one before; hooks
	// do.
	Unclear bool
	// Share is of the same condition by reflection and by an interpreter; 0 where that
	// says nothing.
	OfReflection, OfInterpreter float64
}

func (c cost) met() bool { return c.Bar == 0 || c.Added.Median <= c.Bar }

func (r *report) AllMet() bool {
	return !slices.ContainsFunc(r.Costs, func(c cost) bool { return !c.met() })
}

// isBusy reports whether others than the measured program wanted the processors.
func (r *report) isBusy() bool {
	for _, text := range []string{r.LoadBefore, r.LoadAfter} {
		if load, err := strconv.ParseFloat(text, 64); err == nil && load > float64(runtime.NumCPU()) {
			return true
		}
	}
	return false
}

// judge sums the rounds up.
func (r *report) judge() {
	for _, m := range modes {
		c := cost{Name: m.name, Bar: m.bar, IsWhole: m.name == modeBare || m.apart}
		c.Added = r.over(func(nanos map[string]float64) float64 {
			if c.IsWhole {
				return nanos[m.name]
			}
			return nanos[m.name] - nanos[cmp.Or(m.beside, modeBare)]
		})
		if m.name == modeNotMet {
			c.OfReflection, c.OfInterpreter = r.share(m.name, modeReflect), r.share(m.name, modeTree)
		}
		c.Unclear = !c.met() && r.isBusy()
		r.Costs = append(r.Costs, c)
	}
}

// share is what a mode adds of what another does, within the same rounds.
func (r *report) share(mode, of string) float64 {
	return r.over(func(nanos map[string]float64) float64 {
		return (nanos[mode] - nanos[modeBare]) / (nanos[of] - nanos[modeBare])
	}).Median
}

// over spreads, over the rounds, a value computed within each of them.
func (r *report) over(value func(nanos map[string]float64) float64) spread.Spread {
	values := make([]float64, 0, len(r.Rounds))
	for _, nanos := range r.Rounds {
		values = append(values, value(nanos))
	}
	return spread.Of(values)
}

func (r *report) Print(w io.Writer) {
	fmt.Fprintf(w, "JDK %s, %d rounds; load %s to %s\n\n", r.JDK, len(r.Rounds), r.LoadBefore, r.LoadAfter)
	fmt.Fprintf(w, "%-46s %9s %21s %7s\n", "ns added to a call", "median", "half of the rounds", "bar")
	for _, c := range r.Costs {
		fmt.Fprintf(w, "%-46s %9.2f %10.2f to %7.2f", c.Name, c.Added.Median, c.Added.Low, c.Added.High)
		switch {
		case c.IsWhole:
			fmt.Fprint(w, "  (the whole call)")
		case c.Bar > 0 && c.met():
			fmt.Fprintf(w, " %7.1f  met", c.Bar)
		case c.Unclear:
			fmt.Fprintf(w, " %7.1f  NOT MET, and the machine is too busy to tell", c.Bar)
		case c.Bar > 0:
			fmt.Fprintf(w, " %7.1f  NOT MET", c.Bar)
		}
		if c.OfReflection > 0 && c.OfInterpreter > 0 {
			fmt.Fprintf(w, "; %.2f of what reflection adds, %.2f of an interpreter", c.OfReflection, c.OfInterpreter)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
