// Startup measures what instrumentation adds to the start of real applications: Tomcat
// with a web application that asks H2, and JRuby with a script.
//
//	go run ./bench/startup [-jdk N] [-programs tomcat,jruby] [-rounds N] [-least BYTES] [-together] [-json FILE]
//
// Each application is started plain; with agents that do nothing, which is the least that
// any agent costs; with Sonde's agent and a pack of 2,000 methods; and with an agent that
// weaves the same methods by ASM as their classes load; if -ways asks for it, by Byte Buddy,
// too. All of them take turns, round by round, or start at once (-together). A start ends
// when the application has answered: by the clock, and by the processor time of its process
// until then. The classes are a sample of those that the application's start loads, so that
// all of them are woven in every start; what was woven is counted by all agents that weave,
// and must agree. Of each class all methods are, or, with -least, those that are not short:
// who wants times leaves getters out.
//
// The exit code is 1 where a bar is missed and 2 where something could not be measured.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

type options struct {
	jdk, rounds    int
	methods, least int
	programs       string
	json           string
	sources        string
	jars           string
	ways           string
	sonde          string
	together       bool
}

func main() {
	var o options
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.IntVar(&o.rounds, "rounds", 10, "how often each is started")
	flag.IntVar(&o.methods, "methods", 2000, "how many methods are woven")
	flag.IntVar(&o.least, "least", 0, "weave methods of at least so many bytes of code, and those of the same name; sonde observe leaves out what has less than 36")
	flag.StringVar(&o.programs, "programs", "tomcat,jruby", "applications to start")
	flag.StringVar(&o.json, "json", "", "file to write the figures to as well")
	flag.StringVar(&o.sources, "sources", "bench/startup/java", "folder with the Java sources")
	flag.StringVar(&o.jars, "jars", "/usr/share/java", "folder with the jars of Tomcat, H2 and ASM")
	flag.StringVar(&o.ways, "ways", strings.Join(usualWays, ","), "ways to start; plain is always one, and buddy, an agent that weaves by Byte Buddy, can be another")
	flag.StringVar(&o.sonde, "sonde", "", "the command that makes packs (default: it is built)")
	flag.BoolVar(&o.together, "together", false, "start all ways of a round at once: what disturbs one disturbs all, so processor times are steadier, and the clock tells less")
	flag.Parse()
	machine.Main("bench/startup", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func run(ctx context.Context, o options) (met bool, err error) {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return false, err
	}
	// What is built stays, to be looked at; what starts write does not.
	built, err := filepath.Abs(filepath.Join("build", "bench-startup"))
	if err != nil {
		return false, err
	}
	if o.sonde == "" && slices.Contains(strings.Split(o.ways, ","), packed) {
		if o.sonde, err = buildSonde(ctx, built); err != nil {
			return false, err
		}
	}
	load := machine.Load()
	met = true
	var all []*report
	for _, jdk := range jdks {
		for _, p := range programs {
			if !slices.Contains(strings.Split(o.programs, ","), p.name) {
				continue
			}
			r, err := compare(ctx, jdk, p, filepath.Join(built, jdk.Version, p.name), o)
			if err != nil {
				return false, fmt.Errorf("JDK %s, %s: %w", jdk.Version, p.name, err)
			}
			r.print(os.Stdout)
			met = met && r.allMet()
			all = append(all, r)
		}
	}
	printLegend(os.Stdout, load, o.together)
	if o.json != "" {
		err = writeJSON(o.json, all, load)
	}
	return met, err
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
		told, err := w.account(folder, s)
		if err != nil {
			return err
		}
		if counts {
			w.accounts = append(w.accounts, told)
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
	Least            int `json:",omitempty"` // bytes of code that methods have which are chosen
	Rows             []row
	Bars             []bar
}

// A row is one way to start. Times are milliseconds.
type row struct {
	Way, Name           string
	Walls, CPUs         []float64
	WallCosts, CPUCosts []float64 `json:",omitempty"` // above plain in the same round
	Woven               *account  `json:",omitempty"` // in each start
	PackBytes           int64     `json:",omitempty"`
	PackSeconds         float64   `json:",omitempty"` // to make it
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
	first.Calls = uint64(spread.Median(calls))
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
	whole := spread.Median(of)
	share := spread.Median(costs) / whole
	// Of nothing, or less by chance, nobody can tell a share.
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

func (r *report) allMet() bool {
	return !slices.ContainsFunc(r.Bars, func(b bar) bool { return !b.Met })
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

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s on JDK %s: %d classes loaded, %d of them its own\n", r.Program, r.JDK, r.Loaded, r.Own)
	fmt.Fprintf(w, "to be woven: %d methods of %d classes that every start loads", r.Methods, r.Classes)
	if r.Least > 0 {
		fmt.Fprintf(w, ", of %d bytes of code at least, and those of the same name", r.Least)
	}
	fmt.Fprintln(w)
	for _, o := range r.Rows {
		if o.Woven != nil {
			fmt.Fprintf(w, "%s: wove %s\n", o.Name, o.Woven)
		}
		if o.PackBytes > 0 {
			fmt.Fprintf(w, "%s: %.0f KiB, made in %.1f s\n", o.Name, float64(o.PackBytes)/1024, o.PackSeconds)
		}
	}
	fmt.Fprintln(w)

	base := r.row(plain)
	fmt.Fprintf(w, "%-30s | %6s %17s %24s | %6s %17s %24s\n", "until ready, ms",
		"wall", "quartiles", "above plain", "CPU", "quartiles", "above plain")
	for _, o := range r.Rows {
		fmt.Fprintf(w, "%-30s |%s |%s\n", o.Name, figures(o.Walls, o.WallCosts, base.Walls), figures(o.CPUs, o.CPUCosts, base.CPUs))
	}
	fmt.Fprintln(w)
	for _, b := range r.Bars {
		verdict := "met"
		if !b.Met {
			verdict = "NOT MET"
		}
		fmt.Fprintf(w, "%-34s by %-4s %6.1f %%, at most %2.0f %%: %s\n", b.What, b.Clock, 100*b.Share, 100*b.Most, verdict)
	}
	r.printOwn(w)
	if ours, theirs := r.row(packed), r.row(byBuddy); ours != nil && theirs != nil {
		fmt.Fprintf(w, "the pack costs of what Byte Buddy costs by wall %.1f %%, by CPU %.1f %%\n",
			100*spread.Median(ours.WallCosts)/spread.Median(theirs.WallCosts), 100*spread.Median(ours.CPUCosts)/spread.Median(theirs.CPUCosts))
	}
}

// printOwn tells what the pack and ASM cost above what the JVM takes of whoever looks at classes as they load.
func (r *report) printOwn(w io.Writer) {
	floor, ours, theirs := r.row(able), r.row(packed), r.row(byASM)
	if floor == nil || ours == nil || theirs == nil {
		return
	}
	pack, asm := spread.Of(above(ours.CPUs, floor.CPUs)), spread.Of(above(theirs.CPUs, floor.CPUs))
	fmt.Fprintf(w, "above a transformer that returns null, by CPU: the pack %.0f ms (%.0f–%.0f), %.1f %% of plain; ASM %.0f (%.0f–%.0f)\n",
		pack.Median, pack.Low, pack.High, 100*pack.Median/spread.Median(r.row(plain).CPUs), asm.Median, asm.Low, asm.High)
}

// figures are a median with quartiles, and what lies above plain the same way.
func figures(values, costs, base []float64) string {
	s := spread.Of(values)
	text := fmt.Sprintf(" %6.0f %8.0f–%-8.0f", s.Median, s.Low, s.High)
	if costs == nil {
		return text + fmt.Sprintf(" %24s", "")
	}
	c := spread.Of(costs)
	return text + fmt.Sprintf(" %5.0f %-11s %4.1f %%", c.Median, fmt.Sprintf("(%.0f–%.0f)", c.Low, c.High), 100*c.Median/spread.Median(base))
}

// String tells what was woven.
func (a account) String() string {
	return fmt.Sprintf("%d methods of %d classes (%d calls)", a.Methods, a.Classes, a.Calls)
}

func printLegend(w io.Writer, load string, together bool) {
	order := "in turn"
	if together {
		order = "at once"
	}
	fmt.Fprintf(w, `
Medians with quartiles over rounds, all ways %s; what lies above plain is the median of
differences within rounds. CPU is the processor time of all threads of the process. ASM: entry,
exit and catch-all, COMPUTE_MAXS, frames visited expanded and none computed, a name filter.
%d processors; load of the machine %s before, %s after.
`, order, runtime.NumCPU(), load, machine.Load())
}

func writeJSON(path string, reports []*report, load string) error {
	all := struct {
		Processors            int
		LoadBefore, LoadAfter string
		Results               []*report
	}{runtime.NumCPU(), load, machine.Load(), reports}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
