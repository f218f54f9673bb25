// Overhead measures what hooks cost the program they are in and compares the
// results with targets.
//
//	go run ./bench/overhead [-jdk N] [-rounds N] [-phases N] [-pairs N] [-only PATTERN]
//
// On each JDK a Java program runs that times itself. It has its methods three
// times over: bare, with two readings of the clock around each body, and with
// hooks, which internal/session weaves into the running program and switches
// from mode to mode. Every round runs all of it in turn, in batches of about a
// millisecond, so that what else the machine does hits all alike and falls out
// of medians. What attaching alone costs is measured on two JVMs in turns, of
// which one is never touched.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var (
	rounds  = flag.Int("rounds", 61, "rounds through all twins, shapes and modes")
	batches = flag.Int("batches", 5, "batches for each of them in a round")
	phases  = flag.Int("phases", 6, "number of attachments that are measured")
	pairs   = flag.Int("pairs", 120, "pairs of turns of both JVMs in each phase")
	only    = flag.String("only", "", "only modes whose names match this regular expression, and the modes they are compared with")
)

func main() {
	harness.Main("overhead", func(ctx context.Context, to *harness.Report) error {
		return harness.EachJDK(func(jdk jvmtest.JDK) error {
			r := &result{Report: to, jdk: jdk.Version, modes: chosen(regexp.MustCompile(*only))}
			err := r.measure(ctx, jdk)
			if err == nil {
				r.judge()
			}
			return err
		})
	})
}

func (r *result) measure(ctx context.Context, jdk jvmtest.JDK) error {
	classes, err := compile(jdk)
	if err != nil {
		return err
	}
	defer os.RemoveAll(classes)
	if *rounds > 0 {
		if err := r.measureHooks(ctx, jdk, classes); err != nil {
			return err
		}
		r.addCosts()
	}
	if *phases > 0 {
		return r.measureAttached(ctx, jdk, classes)
	}
	return nil
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

// A result is what was found on one JDK.
type result struct {
	*harness.Report
	jdk       string
	modes     []mode
	rounds    []map[string]float64 // nanoseconds a call, by mode and shape
	allocated map[string]int64     // bytes by a million calls
	attached  attached
}

// over spreads, over the rounds, a value computed within each of them.
func (r *result) over(value func(nanos map[string]float64) float64) harness.Spread {
	return harness.Over(r.rounds, value)
}

// added is what a mode adds to a bare call of a shape.
func added(nanos map[string]float64, mode, shape string) float64 {
	return nanos[key(mode, shape)] - nanos[key(modeBare, shape)]
}

// addCosts adds the table of what modes add to bare calls; of bare calls it has the whole.
func (r *result) addCosts() {
	table := r.Table(append([]string{"JDK " + r.jdk + ": ns a call, added to a bare one"}, shapes...)...)
	for _, m := range r.modes {
		cells := []any{m.name}
		for _, shape := range shapes {
			cell := "–"
			if slices.Contains(m.allShapes(), shape) {
				cell = r.over(func(nanos map[string]float64) float64 {
					if m.name == modeBare {
						return nanos[key(m.name, shape)]
					}
					return added(nanos, m.name, shape)
				}).Text("%.2f")
			}
			cells = append(cells, cell)
		}
		table.Row(cells...)
	}
}

// The bars.
const (
	mostExact     = 1.35    // times two readings of the clock
	mostSampled   = 1.0 / 8 // of exact
	mostOutside   = 2.0     // ns
	mostAttached  = 0.5     // percent of the program's speed
	mostAllocated = 0       // bytes
)

// bar adds a bar: a value that must not be more than wanted.
func (r *result) bar(verdict harness.Verdict, name string, have harness.Spread, want float64) {
	r.Bar(verdict, "JDK %s: %s: %s (at most %.3f)", r.jdk, name, have.Text("%.3f"), want)
}

func (r *result) judge() {
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
	if len(r.attached.phases) > 0 {
		r.attachedBar()
	}
	if r.allocated != nil {
		r.allocationBar()
	}
}

func (r *result) ran(name string) bool {
	return len(r.rounds) > 0 && slices.ContainsFunc(r.modes, func(m mode) bool { return m.name == name })
}

// bars adds one bar for every shape that a mode runs.
func (r *result) bars(name, mode string, want float64, value func(nanos map[string]float64, shape string) float64) {
	for _, m := range r.modes {
		if m.name != mode || !r.ran(mode) {
			continue
		}
		for _, shape := range m.allShapes() {
			have := r.over(func(nanos map[string]float64) float64 { return value(nanos, shape) })
			r.bar(harness.Judge(have.Median <= want), name+", "+strings.ToLower(shape), have, want)
		}
	}
}

// attachedBar has the 95 % interval of the mean in the place of quartiles. The processor
// time of the agent's threads is added: they may run on a processor that a busier program
// would want.
func (r *result) attachedBar() {
	a := r.attached
	cost := a.mean + a.agentCPU
	have := harness.Spread{Median: cost, Low: cost - a.within, High: cost + a.within}
	verdict := harness.Judge(cost <= mostAttached)
	if a.within > mostAttached && have.Low <= mostAttached {
		verdict = harness.Unclear
	}
	name := fmt.Sprintf("attached, nothing woven, slower by %% (95 %% interval of %d phases, %.3f by the agent's threads)", len(a.phases), a.agentCPU)
	r.bar(verdict, name, have, mostAttached)
}

// allocationBar compares with what the same calls allocate without hooks.
func (r *result) allocationBar() {
	var most int64
	for _, m := range r.modes {
		for _, shape := range m.allShapes() {
			most = max(most, r.allocated[key(m.name, shape)]-r.allocated[key(modeBare, shape)])
		}
	}
	have := harness.SpreadOf([]float64{float64(most)})
	r.bar(harness.Judge(most <= mostAllocated), "Java heap by a million calls, most of any mode, bytes", have, mostAllocated)
}
