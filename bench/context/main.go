// Context measures what watching methods only where and when it matters costs a call.
//
//	go run ./bench/context [-jdk N] [-rounds N]
//
// One method has a twin for each thing that is measured: without a hook, with one that
// is switched off, in a sequence that is not met, with a condition on two fields, and
// so on. All hooks go in at once; every round runs all twins in turn, in batches of
// about a millisecond, so that what else the machine does hits all alike and falls out
// of medians. The same condition is asked by reflection and by an interpreter, in the
// program's own source, for comparison. The cost of hand-offs is compared with a second JVM
// that Sonde never entered. Sonde's counts prove afterwards that each hook did what it
// was measured for.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var (
	rounds  = flag.Int("rounds", 61, "rounds through all twins")
	batches = flag.Int("batches", 5, "batches for each of them in a round")
)

func main() {
	harness.Main("context", func(ctx context.Context, r *harness.Report) error {
		table := r.Table("JDK", "ns added to a call", "median and quartiles")
		return harness.EachJDK(func(jdk jvmtest.JDK) error {
			found, err := measure(ctx, jdk)
			if err == nil {
				judge(r, table, jdk.Version, found)
			}
			return err
		})
	})
}

// A mode is a twin of its own: what its method has in it, and what is measured.
type mode struct {
	name  string
	twin  string // the Java package of its classes
	shape string
	// Before stands in the source, before the method's body.
	before   string
	met      bool // its orders meet the condition
	probe    *probeset.Probe
	tag      *probeset.Tag
	off      bool // the probe is switched off, and stays in
	apart    bool // in a JVM that Sonde never entered
	counts   bool // every call is counted; else none is
	bar      float64
	baseline string          // the mode it is compared with; empty for bare
	second   *probeset.Probe // of another look at the same method, which acts on every call
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
	modeCounts  = "probe, counts"
	modeMet     = "condition on two fields, met, counts"
	modeTwo     = "two looks count the same"
	modeTwoMet  = "two looks count, with different conditions that are met"
)

// The bars, in nanoseconds that are added to a call.
const (
	mostForSequence  = 3
	mostForCondition = 10
	mostForAnchor    = 3
	mostForTwo       = 1.5 // times what one look costs
)

// modes are run in this order in each round.
var modes = []mode{
	{name: modeBare, twin: "bare", shape: "Leaf"},
	{name: "probe, switched off", twin: "off", shape: "Leaf", off: true, probe: &probeset.Probe{}},
	{name: modeCounts, twin: "plain", shape: "Leaf", counts: true, probe: &probeset.Probe{}},
	{name: "sequence by >> not met", twin: "below", shape: "Leaf", bar: mostForSequence,
		probe: &probeset.Probe{Within: spectest.Sequences("elsewhere.Leaf.within")}},
	{name: "sequence by > not met, not for the caller", twin: "near", shape: "Leaf", bar: mostForSequence,
		probe: &probeset.Probe{Within: spectest.Sequences("elsewhere.Leaf.run > near.Leaf.within >")}},
	{name: "sequence by > not met, for the caller only", twin: "caller", shape: "Leaf",
		probe: &probeset.Probe{Within: spectest.Sequences("caller.Leaf.run >")}},
	{name: "sequence by >> met, counts", twin: "met", shape: "Leaf", counts: true,
		probe: &probeset.Probe{Within: spectest.Sequences("met.Leaf.within")}},
	{name: "sequence by > met, counts", twin: "direct", shape: "Leaf", counts: true,
		probe: &probeset.Probe{Within: spectest.Sequences("direct.Leaf.within >")}},
	{name: "anchor", twin: "anchor", shape: "Leaf", bar: mostForAnchor,
		probe: &probeset.Probe{Methods: spectest.Patterns("elsewhere.Leaf.work"), Within: spectest.Sequences("anchor.Leaf.work")}},
	{name: modeNotMet, twin: "unmet", shape: "Leaf", bar: mostForCondition, probe: &probeset.Probe{When: spectest.Expr(condition)}},
	{name: modeMet, twin: "truly", shape: "Leaf", met: true, counts: true,
		probe: &probeset.Probe{When: spectest.Expr(condition)}},
	{name: modeTwo, twin: "twice", shape: "Leaf", counts: true, probe: &probeset.Probe{}, second: &probeset.Probe{}},
	{name: modeTwoMet, twin: "both", shape: "Leaf", met: true, counts: true, probe: &probeset.Probe{When: spectest.Expr(condition)},
		second: &probeset.Probe{When: spectest.Expr(`$order.amount > 150`)}},
	{name: modeReflect, twin: "reflected", shape: "Leaf", before: "Checks.reflect(order);"},
	{name: modeTree, twin: "interpreted", shape: "Leaf", before: "Checks.interpret(x, order);"},
	{name: "condition on a tag, not met", twin: "tagged", shape: "Leaf",
		probe: &probeset.Probe{When: spectest.Expr(`tx.tier == "silver"`)}, tag: &probeset.Tag{Name: "tier", Value: spectest.Expr("$2"), At: spectest.Pattern("tagged.Leaf.within")}},
	{name: "tag point, same value again", twin: "tagging", shape: "Leaf",
		tag: &probeset.Tag{Name: "kind", Value: spectest.Expr("$order.tier"), At: spectest.Pattern("tagging.Leaf.work")}},
	{name: modeApart, twin: "bare", shape: "HandOff", apart: true},
	{name: modeApart2, twin: "handing", shape: "HandOff", apart: true},
	{name: "hand-off, no context", twin: "bare", shape: "HandOff", baseline: modeApart},
	{name: "hand-off of a context", twin: "handing", shape: "HandOff", baseline: modeApart2,
		probe: &probeset.Probe{Methods: spectest.Patterns("elsewhere.Leaf.run"), Within: spectest.Sequences("handing.HandOff.within")}},
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

// wantedSet is all that the modes ask for of a look, at once: no class is woven again later.
func wantedSet(probe func(m *mode) *probeset.Probe) *probeset.Set {
	set := &probeset.Set{HandOff: true}
	for _, m := range modes {
		if asked := probe(&m); asked != nil {
			p := *asked
			p.Name, p.Level = m.twin, probeset.Count
			if p.Methods == nil {
				p.Methods = spectest.Patterns(m.twin + ".Leaf.work")
			}
			set.Probes = append(set.Probes, p)
		}
		if m.tag != nil && probe(&m) == m.probe {
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
func compile(jdk jvmtest.JDK) (classes string, err error) {
	generated := make(map[string]string)
	for _, m := range twins() {
		data := struct {
			Package, Before string
			Amount          int
		}{m.twin, m.before, little}
		if m.met {
			data.Amount = enough
		}
		if generated[m.twin+".java"], err = harness.Generate("bench/context/java/twin.tmpl", data); err != nil {
			return "", err
		}
	}
	return harness.Compile(jdk, harness.Source{
		Files: []string{"bench/context/java/*.java"}, Generated: generated, Flags: []string{"--release", "11", "-g"},
	})
}

// warmRounds come first and are not kept: what runs is compiled in them.
const warmRounds = 40

// A bench is two JVMs, one of which Sonde is in.
type bench struct {
	entered, apart *harness.Program
	session        *session.Look
	watch, second  *liveprobes.Probes
	timing         harness.Batches
	made           map[string]uint64 // calls since hooks were in, by mode
}

// measure does all of it on one JDK, and returns nanoseconds a call by mode, for each round.
func measure(ctx context.Context, jdk jvmtest.JDK) (found []map[string]float64, err error) {
	classes, err := compile(jdk)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	b := &bench{made: make(map[string]uint64)}
	for _, p := range []**harness.Program{&b.entered, &b.apart} {
		if *p, err = harness.Start(jdk, "-Xms256m", "-Xmx256m", "-cp", classes, "driven.Driver"); err != nil {
			return nil, err
		}
		defer (*p).Close()
	}
	if err := b.load(); err != nil {
		return nil, err
	}
	err = harness.InLooks(ctx, b.entered.PID(), 2, func(looks []*session.Look) error {
		b.session, b.watch, b.second = looks[0], liveprobes.New(looks[0], liveprobes.Options{}), liveprobes.New(looks[1], liveprobes.Options{})
		defer b.watch.Close()
		defer b.second.Close()
		if err := b.install(ctx); err != nil {
			return err
		}
		for round := range warmRounds + *rounds {
			nanos, err := b.round()
			if err != nil {
				return err
			}
			if round >= warmRounds {
				found = append(found, nanos)
			}
		}
		return b.prove()
	})
	return found, err
}

// load runs every twin once, so that its classes are there when hooks go in.
func (b *bench) load() error {
	for _, m := range twins() {
		for _, shape := range []string{"Leaf", "HandOff"} {
			for _, p := range []*harness.Program{b.entered, b.apart} {
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
	applied, err := b.watch.Apply(ctx, wantedSet(func(m *mode) *probeset.Probe { return m.probe }))
	if err != nil {
		return err
	}
	others, err := b.second.Apply(ctx, wantedSet(func(m *mode) *probeset.Probe { return m.second }))
	if err != nil {
		return err
	}
	for _, one := range slices.Concat(applied.Probes, applied.Tags, others.Probes) {
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
func (b *bench) round() (map[string]float64, error) {
	nanos := make(map[string]float64)
	for _, m := range modes {
		program := b.entered
		if m.apart {
			program = b.apart
		}
		n, made, err := b.timing.Time(program, m.name, *batches, m.twin, m.shape)
		if err != nil {
			return nil, err
		}
		nanos[m.name] = n
		b.made[m.name] += uint64(made)
	}
	return nanos, nil
}

// prove compares what Sonde counted with the calls that were made.
func (b *bench) prove() error {
	err := b.proveLook(b.watch, func(m *mode) bool { return m.counts })
	return errors.Join(err, b.proveLook(b.second, func(m *mode) bool { return m.second != nil }))
}

func (b *bench) proveLook(watch *liveprobes.Probes, counts func(m *mode) bool) error {
	results, err := watch.Results()
	if err != nil {
		return err
	}
	have := make(map[string]uint64)
	for _, row := range results.Rows {
		have[row.Probe] += row.Calls
	}
	for _, m := range modes {
		want := uint64(0)
		if counts(&m) {
			want = b.made[m.name]
		}
		if have[m.twin] != want {
			return fmt.Errorf("%s: %d calls were counted, not %d", m.name, have[m.twin], want)
		}
	}
	return nil
}

// judge reports what each mode adds to a call of the mode it is compared with; a mode that
// is compared with nothing is reported as a whole call. A bar that is missed while others
// keep the processors busy is unclear: a bare call hardly feels that, as each of its
// instructions waits for the one before; hooks do.
func judge(r *harness.Report, table *harness.Table, jdk string, found []map[string]float64) {
	for _, m := range modes {
		isWhole := m.name == modeBare || m.apart
		added := harness.Over(found, func(nanos map[string]float64) float64 {
			if isWhole {
				return nanos[m.name]
			}
			return nanos[m.name] - nanos[cmp.Or(m.baseline, modeBare)]
		})
		name := m.name
		if isWhole {
			name += " (the whole call)"
		}
		table.Row(jdk, name, added.Text("%.2f"))
		if m.bar > 0 {
			verdict := harness.Judge(added.Median <= m.bar)
			if verdict == harness.Missed && isBusy() {
				verdict = harness.Unclear
			}
			r.Bar(verdict, "JDK %s: %s adds %.2f ns (at most %.0f)", jdk, m.name, added.Median, m.bar)
		}
	}
	two := share(found, modeTwo, modeCounts)
	verdict := harness.Judge(two <= mostForTwo)
	if verdict == harness.Missed && isBusy() {
		verdict = harness.Unclear
	}
	r.Bar(verdict, "JDK %s: %s: %.2f of what one look costs (at most %.1f)", jdk, modeTwo, two, mostForTwo)
	r.Note("JDK %s: two looks with different conditions have a hook each, and cost %.2f of what one costs.", jdk, share(found, modeTwoMet, modeMet))
	r.Note("JDK %s: a condition that is not met adds %.2f of what it adds by reflection, and %.2f of what it adds by an interpreter.",
		jdk, share(found, modeNotMet, modeReflect), share(found, modeNotMet, modeTree))
}

// isBusy reports whether more programs than the measured one wanted the processors.
func isBusy() bool {
	load, err := strconv.ParseFloat(harness.Load(), 64)
	return err == nil && load > float64(runtime.NumCPU())
}

// share is what a mode adds relative to another, within the same rounds.
func share(found []map[string]float64, mode, of string) float64 {
	return harness.Over(found, func(nanos map[string]float64) float64 {
		return (nanos[mode] - nanos[modeBare]) / (nanos[of] - nanos[modeBare])
	}).Median
}
