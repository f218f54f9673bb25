// Startup measures what instrumentation adds to the start of real applications: Tomcat
// with a web application that asks H2, and JRuby with a script.
//
//	go run ./bench/startup [-jdk N] [-programs tomcat,jruby] [-rounds N] [-least BYTES] [-together]
//
// Each application is started without an agent; with agents that do nothing, which is the
// minimum cost of any agent; with Sonde's agent and a pack of 2,000 methods; and with an agent
// that weaves the same methods with ASM as their classes load (with -ways also Byte Buddy). All of them take turns, round by round, or start at once (-together). A start ends
// when the application has answered: by the clock, and by the processor time of its process
// until then. The classes are a sample of those that the application's start loads, so that
// all of them are woven in every start. Each agent that weaves counts the woven classes, and
// the counts must agree. All methods of a class are woven, or with -least only the longer
// ones, because getters are rarely timed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	rounds         int
	methods, least int
	programs       string
	jars           string
	ways           string
	sonde          string
	together       bool
}

// sources is the folder with the Java sources.
const sources = "bench/startup/java"

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 10, "number of starts of each application")
	flag.IntVar(&o.methods, "methods", 2000, "number of methods to weave")
	flag.IntVar(&o.least, "least", 0, "weave only methods with at least this many bytes of code, and methods of the same name; sonde observe leaves out methods with fewer than 36")
	flag.StringVar(&o.programs, "programs", "tomcat,jruby", "applications to start")
	flag.StringVar(&o.jars, "jars", "/usr/share/java", "folder with the jars of Tomcat, H2 and ASM")
	flag.StringVar(&o.ways, "ways", strings.Join(usualWays, ","), "ways to start the applications; plain is always included, and buddy (an agent that weaves with Byte Buddy) can be added")
	flag.StringVar(&o.sonde, "sonde", "", "the sonde binary that makes packs (default: build it)")
	flag.BoolVar(&o.together, "together", false, "start all ways of a round at the same time: processor times are steadier because disturbances affect all of them, but wall-clock times mean less")
	harness.Main("startup", func(ctx context.Context, r *harness.Report) error { return run(ctx, r, o) })
}

func run(ctx context.Context, to *harness.Report, o options) error {
	// What is built stays, to be looked at; what starts write does not.
	built, err := filepath.Abs(filepath.Join("build", "bench-startup"))
	if err != nil {
		return err
	}
	if o.sonde == "" && slices.Contains(strings.Split(o.ways, ","), packed) {
		if o.sonde, err = harness.BuildSonde(ctx, built); err != nil {
			return err
		}
	}
	order := "in turn"
	if o.together {
		order = "at once"
	}
	to.Note("Medians with quartiles over rounds, all ways %s; what lies above plain is the median of differences within rounds. CPU is the "+
		"processor time of all threads of the process. ASM: entry, exit and catch-all, COMPUTE_MAXS, frames visited expanded and none computed, a name filter.", order)
	return harness.EachJDK(func(jdk jvmtest.JDK) error {
		for _, p := range programs {
			if !slices.Contains(strings.Split(o.programs, ","), p.name) {
				continue
			}
			r, err := compare(ctx, jdk, p, filepath.Join(built, jdk.Version, p.name), o)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			r.report(to)
		}
		return nil
	})
}

// compare measures one application on one JDK.
func compare(ctx context.Context, jdk jvmtest.JDK, p program, folder string, o options) (*report, error) {
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	a, err := p.prepare(ctx, jdk, filepath.Join(folder, "application"), o)
	if err != nil {
		return nil, err
	}
	a.program = p
	c, err := choose(ctx, a, filepath.Join(folder, "looks"), o.methods, o.least)
	if err != nil {
		return nil, err
	}
	ways, err := waysToStart(ctx, a, c, filepath.Join(folder, "agents"), o)
	if err != nil {
		return nil, err
	}
	if err := alternate(ctx, a, ways, filepath.Join(folder, "starts"), o); err != nil {
		return nil, err
	}
	return newReport(a, c, ways)
}

// alternate starts the application in each of the ways, round after round. Each round begins
// with another one, so that none always follows the same. The first round only warms the
// machine's caches, and is not kept.
func alternate(ctx context.Context, a application, ways []*way, folder string, o options) error {
	for round := range o.rounds + 1 {
		order := slices.Concat(ways[round%len(ways):], ways[:round%len(ways)])
		if err := startAll(ctx, a, order, folder, round, o.together); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts the application once in each way: one after the other, or all at once.
func startAll(ctx context.Context, a application, ways []*way, folder string, round int, together bool) error {
	failures := make([]error, len(ways))
	var under sync.WaitGroup
	for i, w := range ways {
		under.Go(func() { failures[i] = w.startIn(ctx, a, folder, round) })
		if together {
			continue
		}
		if under.Wait(); failures[i] != nil {
			break
		}
	}
	under.Wait()
	return errors.Join(failures...)
}

// startIn starts the application once, in a folder below one.
func (w *way) startIn(ctx context.Context, a application, folder string, round int) error {
	err := inFolder(folder, fmt.Sprintf("%d-%s", round, w.key), func(folder string) error {
		s, err := a.start(ctx, folder, w.options(folder)...)
		if err != nil {
			return err
		}
		return w.keep(folder, s, round > 0)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return nil
}

// keep takes note of a start, where it counts.
func (w *way) keep(folder string, s start, counts bool) error {
	if w.account != nil {
		counted, err := w.account(folder, s)
		if err != nil {
			return err
		}
		if counts {
			w.accounts = append(w.accounts, counted)
		}
	}
	if counts {
		w.starts = append(w.starts, s)
	}
	return nil
}

// The bars of what a pack may cost.
const (
	mostOfPlain = 0.05
	mostOfASM   = 0.25
)

// A report is what was found of one application on one JDK.
type report struct {
	JDK, Program     string
	Loaded, Own      int // classes
	Classes, Methods int // chosen
	Least            int // bytes of code that methods have which are chosen
	Rows             []row
	Bars             []bar
}

// A row is one way to start. Times are milliseconds.
type row struct {
	Way, Name           string
	Walls, CPUs         []float64
	WallCosts, CPUCosts []float64 // above plain in the same round
	Woven               *account  // in each start
	PackBytes           int64
	PackSeconds         float64 // to make it
}

// A bar is a share that what the pack costs must not exceed.
type bar struct {
	What  string
	Clock string // "wall" or "CPU"
	Share float64
	Most  float64
	Met   bool
}

func newReport(a application, c choice, ways []*way) (*report, error) {
	r := &report{JDK: a.jdk.Version, Program: a.name, Loaded: c.loaded, Own: c.own, Classes: len(c.classes), Methods: c.methods, Least: c.least}
	for _, w := range ways {
		o := row{Way: w.key, Name: w.name, Walls: millis(w.starts, wallOf), CPUs: millis(w.starts, cpuOf)}
		if w.pack != nil {
			o.PackBytes, o.PackSeconds = w.pack.size, w.pack.took.Seconds()
		}
		if len(w.accounts) > 0 {
			woven, err := agreed(w)
			if err != nil {
				return nil, err
			}
			o.Woven = &woven
		}
		r.Rows = append(r.Rows, o)
	}
	base := r.row(plain)
	for i := range r.Rows {
		if o := &r.Rows[i]; o.Way != plain {
			o.WallCosts, o.CPUCosts = above(o.Walls, base.Walls), above(o.CPUs, base.CPUs)
		}
	}
	return r, r.judge()
}

// agreed is what was woven in every start alike, with the median of calls.
func agreed(w *way) (account, error) {
	first := w.accounts[0]
	var calls []float64
	for _, a := range w.accounts {
		calls = append(calls, float64(a.Calls))
		if a.Classes != first.Classes || a.Methods != first.Methods {
			return first, fmt.Errorf("%s: %d methods of %d classes were woven in one start, %d of %d in another",
				w.name, first.Methods, first.Classes, a.Methods, a.Classes)
		}
	}
	first.Calls = uint64(harness.Median(calls))
	return first, nil
}

// judge compares what the pack costs with the bars. Where both wove, they must have woven the same.
func (r *report) judge() error {
	base, ours, theirs := r.row(plain), r.row(packed), r.row(byASM)
	if ours == nil {
		return nil
	}
	for _, o := range []*row{theirs, r.row(byBuddy)} {
		if o != nil && (ours.Woven.Classes != o.Woven.Classes || ours.Woven.Methods != o.Woven.Methods) {
			return fmt.Errorf("the pack wove %s, the %s %s: they must be the same", ours.Woven, o.Name, o.Woven)
		}
	}
	r.add("of plain start-up", "wall", ours.WallCosts, base.Walls, mostOfPlain)
	r.add("of plain start-up", "CPU", ours.CPUCosts, base.CPUs, mostOfPlain)
	if theirs != nil {
		r.add("of what ASM costs", "wall", ours.WallCosts, theirs.WallCosts, mostOfASM)
		r.add("of what ASM costs", "CPU", ours.CPUCosts, theirs.CPUCosts, mostOfASM)
	}
	return nil
}

func (r *report) add(what, clock string, costs, of []float64, most float64) {
	whole := harness.Median(of)
	share := harness.Median(costs) / whole
	// A share of nothing, or of less by chance, has no meaning.
	r.Bars = append(r.Bars, bar{"the pack costs " + what, clock, share, most, whole > 0 && share <= most})
}

// row is that of a way, nil where the application was not started so.
func (r *report) row(key string) *row {
	for i := range r.Rows {
		if r.Rows[i].Way == key {
			return &r.Rows[i]
		}
	}
	return nil
}

func wallOf(s start) time.Duration { return s.wall }
func cpuOf(s start) time.Duration  { return s.cpu }

func millis(starts []start, of func(start) time.Duration) (all []float64) {
	for _, s := range starts {
		all = append(all, float64(of(s))/float64(time.Millisecond))
	}
	return all
}

// above is by how much each exceeds that of the same round.
func above(values, base []float64) (all []float64) {
	for i := range values {
		all = append(all, values[i]-base[i])
	}
	return all
}

func (r *report) report(to *harness.Report) {
	least := ""
	if r.Least > 0 {
		least = fmt.Sprintf(", of %d bytes of code at least, and those of the same name", r.Least)
	}
	to.Note("%s on JDK %s: %d classes loaded, %d of them its own; to be woven: %d methods of %d classes that every start loads%s.",
		r.Program, r.JDK, r.Loaded, r.Own, r.Methods, r.Classes, least)
	table := to.Table(r.Program+", JDK "+r.JDK+": ms until ready", "wall", "above plain", "CPU", "above plain", "woven", "pack")
	base := r.row(plain)
	for _, o := range r.Rows {
		woven, pack := "", ""
		if o.Woven != nil {
			woven = o.Woven.String()
		}
		if o.PackBytes > 0 {
			pack = fmt.Sprintf("%.0f KiB, made in %.1f s", float64(o.PackBytes)/1024, o.PackSeconds)
		}
		table.Row(o.Name, harness.SpreadOf(o.Walls).Text("%.0f"), costText(o.WallCosts, base.Walls), harness.SpreadOf(o.CPUs).Text("%.0f"),
			costText(o.CPUCosts, base.CPUs), woven, pack)
	}
	for _, b := range r.Bars {
		to.Bar(harness.Judge(b.Met), "%s, JDK %s: %s by %s %.1f %% (at most %.0f %%)", r.Program, r.JDK, b.What, b.Clock, 100*b.Share, 100*b.Most)
	}
	r.noteOwn(to)
	if ours, theirs := r.row(packed), r.row(byBuddy); ours != nil && theirs != nil {
		to.Note("The pack costs of what Byte Buddy costs by wall %.1f %%, by CPU %.1f %%.",
			100*harness.Median(ours.WallCosts)/harness.Median(theirs.WallCosts), 100*harness.Median(ours.CPUCosts)/harness.Median(theirs.CPUCosts))
	}
}

// noteOwn notes what the pack and ASM cost above the JVM's own cost of a transformer.
func (r *report) noteOwn(to *harness.Report) {
	floor, ours, theirs := r.row(able), r.row(packed), r.row(byASM)
	if floor == nil || ours == nil || theirs == nil {
		return
	}
	pack, asm := harness.SpreadOf(above(ours.CPUs, floor.CPUs)), harness.SpreadOf(above(theirs.CPUs, floor.CPUs))
	to.Note("Above a transformer that returns null, by CPU: the pack %s ms, %.1f %% of plain; ASM %s ms.",
		pack.Text("%.0f"), 100*pack.Median/harness.Median(r.row(plain).CPUs), asm.Text("%.0f"))
}

// costText is what lies above plain, with its share of plain.
func costText(costs, base []float64) string {
	if costs == nil {
		return ""
	}
	c := harness.SpreadOf(costs)
	return fmt.Sprintf("%s, %.1f %%", c.Text("%.0f"), 100*c.Median/harness.Median(base))
}

// String describes what was woven.
func (a account) String() string {
	return fmt.Sprintf("%d methods of %d classes (%d calls)", a.Methods, a.Classes, a.Calls)
}
