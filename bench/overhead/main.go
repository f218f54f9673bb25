// Overhead measures what hooks cost the program they are in, and holds that
// against bars.
//
//	go run ./bench/overhead [--rounds N] [--phases N] [--pairs N] [--jdk N] [--only PATTERN] [--json]
//
// On each JDK a Java program runs that times itself. It has its methods three
// times over: bare, with two readings of the clock around each body, and with
// hooks, which internal/session weaves into the running program and switches
// from mode to mode. Every round runs all of it in turn, in batches of about a
// millisecond, so that what else the machine does hits all alike and falls out
// of medians. What attaching alone costs is measured on two JVMs in turns, of
// which one is never touched.
//
// The exit code is 1 where a bar is missed, or nobody can tell, and 2 where
// something could not be measured.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type options struct {
	rounds, batches int
	phases, pairs   int
	jdk             int
	only            *regexp.Regexp // names of modes
	json            bool
	sources         string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 61, "rounds through all twins, shapes and modes")
	flag.IntVar(&o.batches, "batches", 5, "batches for each of them in a round")
	flag.IntVar(&o.phases, "phases", 6, "how often a JVM is attached to, to see what that costs")
	flag.IntVar(&o.pairs, "pairs", 120, "pairs of turns of both JVMs in each phase")
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	only := flag.String("only", "", "only modes whose names match this regular expression, and what they are compared with")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	flag.StringVar(&o.sources, "sources", "bench/overhead/java", "folder with the Java program")
	flag.Parse()
	o.only = regexp.MustCompile(*only)
	machine.Main("bench/overhead", func(ctx context.Context) (bool, error) {
		return machine.Compare(o.jdk, o.json, func(jdk jvmtest.JDK) (*report, error) { return measure(ctx, jdk, o) })
	})
}

func measure(ctx context.Context, jdk jvmtest.JDK, o options) (*report, error) {
	classes, err := compile(jdk, o.sources)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(classes)
	r := &report{JDK: jdk.Version, LoadBefore: machine.Load(), modes: chosen(o.only)}
	if o.rounds > 0 {
		if err := r.measureHooks(ctx, jdk, classes, o); err != nil {
			return nil, err
		}
	}
	if o.phases > 0 {
		if err := r.measureAttached(ctx, jdk, classes, o); err != nil {
			return nil, err
		}
	}
	r.LoadAfter = machine.Load()
	r.judge()
	return r, nil
}

// A mode is what a method is run as: a twin, and for the hooked one what its
// hooks do.
type mode struct {
	name   string
	twin   twin
	flags  arena.Flags
	period uint32
	shapes []string // nil for all
}

// production is the period that users get where they do not choose one.
const production = 1000

const (
	modeBare    = "bare"
	modeClocks  = "two nanoTime"
	modeOff     = "hook, off"
	modeOutside = "hook, outside its context"
	modeCount   = "count, flat"
	modeFlat    = "exact, flat"
	modeTree    = "exact, tree"
	modeSampled = "sampled, k=1000"
	modeOften   = "sampled, k=64"
)

// nested are the shapes in which a tree is deeper than a list.
var nested = []string{"Leaf", "Chain", "Recursion"}

// modes are run in this order in each round; the first two are what the others
// are compared with.
var modes = []mode{
	{name: modeBare, twin: bare},
	{name: modeClocks, twin: clocked},
	{name: modeOff, twin: hooked},
	{name: modeOutside, twin: hooked, flags: arena.On | arena.Inside | arena.Timed},
	{name: modeCount, twin: hooked, flags: arena.On | arena.Flat},
	{name: modeFlat, twin: hooked, flags: arena.On | arena.Timed | arena.Flat},
	{name: modeTree, twin: hooked, flags: arena.On | arena.Timed, shapes: nested},
	{name: modeSampled, twin: hooked, flags: arena.On | arena.Sampled | arena.Flat, period: production},
	{name: modeOften, twin: hooked, flags: arena.On | arena.Sampled | arena.Flat, period: 64},
}

// chosen are the modes whose names match, with those they are compared with.
func chosen(names *regexp.Regexp) []mode {
	var some []mode
	for _, m := range modes {
		if m.twin != hooked || names.MatchString(m.name) {
			some = append(some, m)
		}
	}
	return some
}

func (m mode) allShapes() []string {
	if m.shapes != nil {
		return m.shapes
	}
	return shapes
}

// A report is everything that was found on one JDK.
type report struct {
	JDK                   string
	LoadBefore, LoadAfter string
	Rounds                []map[string]float64 // nanoseconds a call, by mode and shape
	Allocated             map[string]int64     // bytes by a million calls
	Attached              attached
	Bars                  []bar
	modes                 []mode
}

func (r *report) AllMet() bool {
	return !slices.ContainsFunc(r.Bars, func(b bar) bool { return !b.Met })
}

// over spreads, over the rounds, a value computed within each of them.
func (r *report) over(value func(nanos map[string]float64) float64) spread.Spread {
	values := make([]float64, 0, len(r.Rounds))
	for _, nanos := range r.Rounds {
		values = append(values, value(nanos))
	}
	return spread.Of(values)
}

// added is what a mode adds to a bare call of a shape.
func added(nanos map[string]float64, mode, shape string) float64 {
	return nanos[key(mode, shape)] - nanos[key(modeBare, shape)]
}

func (r *report) Print(w io.Writer) {
	fmt.Fprintf(w, "JDK %s, %d rounds; load %s to %s\n\n", r.JDK, len(r.Rounds), r.LoadBefore, r.LoadAfter)
	if len(r.Rounds) > 0 {
		r.printCosts(w)
	}
	r.printBars(w)
}

func (r *report) printCosts(w io.Writer) {
	fmt.Fprintf(w, "%-30s", "ns a call, added to a bare one")
	for _, shape := range shapes {
		fmt.Fprintf(w, "%24s", strings.ToLower(shape))
	}
	fmt.Fprintln(w)
	for _, m := range r.modes {
		fmt.Fprintf(w, "%-30s", m.name)
		for _, shape := range shapes {
			fmt.Fprintf(w, "%24s", r.cell(m, shape))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

func (r *report) printBars(w io.Writer) {
	fmt.Fprintf(w, "%-53s %9s %21s %9s\n", "bar", "have", "half of the rounds", "want")
	for _, b := range r.Bars {
		verdict := "pass"
		switch {
		case b.Unclear:
			verdict = "UNCLEAR, the machine is too busy to tell"
		case !b.Met:
			verdict = "MISS"
		}
		fmt.Fprintf(w, "%-53s %9.3f %10.3f to %7.3f %9.3f  %s%s\n", b.Name, b.Have.Median, b.Have.Low, b.Have.High, b.Want, verdict, b.Note)
	}
	fmt.Fprintln(w)
}

// cell is one number of the table; of bare calls it is the whole.
func (r *report) cell(m mode, shape string) string {
	if !slices.Contains(m.allShapes(), shape) {
		return "–"
	}
	s := r.over(func(nanos map[string]float64) float64 {
		if m.name == modeBare {
			return nanos[key(m.name, shape)]
		}
		return added(nanos, m.name, shape)
	})
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Low, s.High)
}

// The bars.
const (
	mostExact     = 1.35    // times two readings of the clock
	mostSampled   = 1.0 / 8 // of exact
	mostOutside   = 2.0     // ns
	mostAttached  = 0.5     // percent of the program's speed
	mostAllocated = 0       // bytes
)

// A bar is a value that must not be more than wanted.
type bar struct {
	Name    string
	Have    spread.Spread
	Want    float64
	Met     bool
	Unclear bool // not met, nor missed: what was measured has too wide an interval
	Note    string
}

func (r *report) judge() {
	for _, exact := range []string{modeFlat, modeTree} {
		r.bars(exact+" / two nanoTime", exact, mostExact, func(nanos map[string]float64, shape string) float64 {
			return added(nanos, exact, shape) / added(nanos, modeClocks, shape)
		})
	}
	if r.ran(modeFlat) {
		r.bars(modeSampled+" / "+modeFlat, modeSampled, mostSampled, func(nanos map[string]float64, shape string) float64 {
			return added(nanos, modeSampled, shape) / added(nanos, modeFlat, shape)
		})
	}
	r.bars(modeOutside+", ns", modeOutside, mostOutside, func(nanos map[string]float64, shape string) float64 {
		return added(nanos, modeOutside, shape)
	})
	if len(r.Attached.Phases) > 0 {
		r.attachedBar()
	}
	if r.Allocated != nil {
		r.allocationBar()
	}
}

func (r *report) ran(name string) bool {
	return len(r.Rounds) > 0 && slices.ContainsFunc(r.modes, func(m mode) bool { return m.name == name })
}

// bars adds one bar for every shape that a mode runs.
func (r *report) bars(name, mode string, want float64, value func(nanos map[string]float64, shape string) float64) {
	for _, m := range r.modes {
		if m.name != mode || !r.ran(mode) {
			continue
		}
		for _, shape := range m.allShapes() {
			have := r.over(func(nanos map[string]float64) float64 { return value(nanos, shape) })
			r.Bars = append(r.Bars, bar{
				Name: fmt.Sprintf("%s, %s", name, strings.ToLower(shape)),
				Have: have, Want: want, Met: have.Median <= want,
			})
		}
	}
}

// attachedBar has the 95 % interval of the mean in the place of quartiles. What
// the agent's threads use is added: they may run on a processor that a busier
// program would want.
func (r *report) attachedBar() {
	a := r.Attached
	cost := a.Mean + a.AgentCPU
	b := bar{
		Name: "attached, nothing woven: slower by, %",
		Have: spread.Spread{Median: cost, Low: cost - a.Within, High: cost + a.Within},
		Want: mostAttached, Met: cost <= mostAttached,
		Note: fmt.Sprintf(" (95 %% interval of %d phases; %.3f of it the agent's threads)", len(a.Phases), a.AgentCPU),
	}
	if a.Within > mostAttached && b.Have.Low <= mostAttached {
		b.Met, b.Unclear = false, true
	}
	r.Bars = append(r.Bars, b)
}

// allocationBar compares with what the same calls allocate without hooks.
func (r *report) allocationBar() {
	var most int64
	for _, m := range r.modes {
		for _, shape := range m.allShapes() {
			most = max(most, r.Allocated[key(m.name, shape)]-r.Allocated[key(modeBare, shape)])
		}
	}
	have := float64(most)
	r.Bars = append(r.Bars, bar{
		Name: "Java heap by a million calls, most of any mode, bytes",
		Have: spread.Spread{Median: have, Low: have, High: have}, Want: mostAllocated, Met: most <= mostAllocated,
	})
}
