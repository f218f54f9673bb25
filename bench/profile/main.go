// Profile measures what a profile from a root high in the call tree costs a
// program: H2 under a mix of SQL, and javac compiling a large tree.
//
//	go run ./bench/profile [-jdk N] [-programs H2,javac] [-profilers …] [-phases N] [-minutes N] [-again] [-together]
//
// On each JDK a program and an untouched twin run at the same time, each on its own
// processor if there are two, or both on one (-together). The program runs without hooks
// and profiled by turns: exact, sampled, and auto within its budget. VisualVM's engine
// profiles the same root, if it is installed (.ci/setup visualvm). With -minutes, auto
// also profiles for that long and must keep its budget in total. Each row has a fresh
// pair of JVMs, which run until their speed by processor time changes by at most 2 %
// between two intervals of ten seconds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

type options struct {
	programs, profilers string
	phases, minutes     int
	budget              float64
	scheme              string
	again               bool // it was profiled before
	together            bool // both programs work on one processor
	lengths             lengths
}

func main() {
	var o options
	flag.StringVar(&o.programs, "programs", "H2,javac", "programs to profile")
	flag.StringVar(&o.profilers, "profilers", "nothing,exact,sampled,auto,jfluid", "profilers to run; jfluid-sampled and jfluid-eager also exist; empty for none")
	flag.IntVar(&o.phases, "phases", 2, "number of profiles per program and mode of Sonde; JFluid profiles once")
	flag.IntVar(&o.minutes, "minutes", 0, "also run one auto profile of this many minutes in total")
	flag.Float64Var(&o.budget, "budget", profile.DefaultBudget, "overhead budget of auto profiles")
	flag.StringVar(&o.scheme, "scheme", "", "lazy or eager; empty for the cheaper one")
	flag.BoolVar(&o.again, "again", false, "profile each program once before measuring: JVMs before 21 discard all compiled code at the first redefinition by any tool")
	flag.BoolVar(&o.together, "together", false, "run program and twin on one processor: processor times are steadier, wall-clock times mean less")
	flag.DurationVar(&o.lengths.warm, "warm", 10*time.Second, "minimum processor time of a program before its first phase")
	flag.DurationVar(&o.lengths.warmest, "warmest", 90*time.Second, "maximum wait for a program to become steady")
	flag.DurationVar(&o.lengths.before, "before", 5*time.Second, "time without hooks at the start and end of a phase; six times as long with -minutes")
	flag.DurationVar(&o.lengths.settle, "settle", 4*time.Second, "time to settle after all hooks are in; three times as long with -minutes")
	flag.DurationVar(&o.lengths.measuring, "measuring", 6*time.Second, "measured time")
	flag.DurationVar(&o.lengths.recovery, "recovery", 5*time.Second, "minimum time to recover after the hooks are removed; the program must also be back at 95 % of its speed")
	flag.DurationVar(&o.lengths.patience, "patience", 90*time.Second, "maximum extra time for each of these until a round ends or the old speed is reached")
	harness.Main("profile", func(ctx context.Context, r *harness.Report) error { return run(ctx, r, o) })
}

func run(ctx context.Context, r *harness.Report, o options) error {
	table := r.Table("JDK", "program", "profiler", "times slower", "by processor time", "lost while hooks went in, s", "out, s", "hooks", "rounds",
		"pause", "waited", "drift", "own account")
	r.Note("%s", legend)
	var failures []error
	err := harness.EachJDK(func(jdk jvmtest.JDK) error {
		classes, err := harness.Compile(jdk, harness.Source{
			Files:     []string{"test/realprograms/testdata/RealProgram.java", "test/realprograms/testdata/H2Work.java", "bench/profile/java/*.java"},
			Classpath: subjects[0].classpath,
		})
		if err != nil {
			return err
		}
		defer os.RemoveAll(classes)
		for _, s := range subjects {
			if slices.Contains(strings.Split(o.programs, ","), s.name) && ctx.Err() == nil {
				rows, err := measure(ctx, jdk, s, classes, o)
				if err != nil {
					failures = append(failures, fmt.Errorf("JDK %s, %s: %w", jdk.Version, s.name, err))
				}
				for _, one := range rows {
					one.report(r, table)
				}
			}
		}
		return nil
	})
	return errors.Join(append(failures, err)...)
}

// A bed is one program on one JDK, for all profilers.
type bed struct {
	jdk     jvmtest.JDK
	subject subject
	classes string
	options options
}

// measure lets all profilers profile one program on one JDK. The error says what
// ours could not do.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, classes string, o options) ([]row, error) {
	b := bed{jdk, s, classes, o}
	var rows []row
	var failures []error
	add := func(r row, ours bool) {
		if r.refusal != nil && ours {
			failures = append(failures, r.refusal)
		}
		rows = append(rows, r)
	}
	for _, p := range o.ours() {
		if ctx.Err() == nil {
			add(b.phases(ctx, p, o.phases), true)
		}
	}
	for _, scheme := range o.theirs() {
		if ctx.Err() == nil {
			add(b.visualVM(ctx, scheme), false) // a failure of VisualVM's engine is a result
		}
	}
	if o.minutes > 0 && ctx.Err() == nil {
		add(b.long(ctx, o.auto()), true)
	}
	return rows, errors.Join(append(failures, ctx.Err())...)
}

func (b bed) row(p string) row {
	fmt.Fprintf(os.Stderr, "%s JDK %s, %s, %s\n", time.Now().Format("15:04:05"), b.jdk.Version, b.subject.name, p)
	return row{jdk: b.jdk.Version, program: b.subject.name, profiler: p, wanted: b.options.budget}
}

// phases has a profiler profile a fresh program some times.
func (b bed) phases(ctx context.Context, p profiler, times int, more ...string) row {
	r := b.row(p.name())
	both, err := newStand(ctx, b, b.options.lengths, more...)
	if err != nil {
		r.refusal = err
		return r
	}
	defer both.close()
	for range times {
		f, err := both.phase(ctx, p, b.subject)
		if err != nil {
			r.refusal = err
			break
		}
		r.figures = append(r.figures, f)
	}
	return r
}

// visualVM profiles once with VisualVM's engine. The engine sometimes loses its target,
// so it may try twice.
func (b bed) visualVM(ctx context.Context, scheme jfluid.Scheme) row {
	const tries = 2
	engine, err := jfluid.Available(ctx, b.jdk)
	v := visualvm{engine, scheme}
	if err != nil {
		r := b.row(v.name())
		r.refusal = err
		return r
	}
	var r row
	for try := 1; try <= tries && ctx.Err() == nil; try++ {
		r = b.phases(ctx, v, 1, engine.Options()...)
		r.tries = try
		if r.refusal == nil || errors.Is(r.refusal, jfluid.ErrUnsupported) {
			break
		}
	}
	return r
}

// long has a profiler profile a fresh program for minutes.
func (b bed) long(ctx context.Context, p profiler) row {
	// The budget is small against noise, and there is time for all to be compiled.
	const longer, calmer = 6, 3
	r := b.row(fmt.Sprintf("auto, %d min", b.options.minutes))
	r.long = true
	l := b.options.lengths
	l.before *= longer
	l.settle *= calmer
	both, err := newStand(ctx, b, l)
	if err != nil {
		r.refusal = err
		return r
	}
	defer both.close()
	f, err := both.long(ctx, p, b.subject, time.Duration(b.options.minutes)*time.Minute)
	if r.refusal = err; err == nil {
		r.figures = []*figure{f}
	}
	return r
}

func (o options) auto() profiler {
	return sonde{timing: cct.Auto, budget: o.budget, scheme: profile.Scheme(o.scheme)}
}

// ours are the profilers asked for, in a fixed order.
func (o options) ours() []profiler {
	wanted := strings.Split(o.profilers, ",")
	var all []profiler
	if slices.Contains(wanted, "nothing") {
		all = append(all, nothing{})
	}
	for _, timing := range []cct.Timing{cct.Exact, cct.Sampled} {
		if slices.Contains(wanted, string(timing)) {
			all = append(all, sonde{timing: timing, scheme: profile.Scheme(o.scheme)})
		}
	}
	if slices.Contains(wanted, string(cct.Auto)) {
		all = append(all, o.auto())
	}
	return all
}

func (o options) theirs() []jfluid.Scheme {
	var all []jfluid.Scheme
	for _, word := range strings.Split(o.profilers, ",") {
		switch word {
		case "jfluid":
			all = append(all, jfluid.Lazy)
		case "jfluid-sampled":
			all = append(all, jfluid.Sampled)
		case "jfluid-eager":
			all = append(all, jfluid.Eager)
		}
	}
	return all
}

// The rule by which a program is warm: what it does for a second of processor time
// changes by no more than this from five windows to the next five.
const (
	warmWindow  = 2 * time.Second
	warmWindows = 5
	mostChange  = 0.02
)

// change is by how much the pace changed between the last two stretches of
// windows; NaN where there were not so many.
func (t track) change() float64 {
	windows := t.windows(0, math.MaxInt64, warmWindow)
	if len(windows) < 2*warmWindows {
		return math.NaN()
	}
	var rates []float64
	for _, w := range windows[len(windows)-2*warmWindows:] {
		if p, err := t.pace(w[0], w[1]); err == nil {
			rates = append(rates, p.cpu)
		}
	}
	if len(rates) < 2*warmWindows {
		return math.NaN()
	}
	return harness.Median(rates[warmWindows:])/harness.Median(rates[:warmWindows]) - 1
}

// warm lets both run until each had its processor time, however busy the machine
// is, and is steady. Programs that do not become so are taken as they are, and
// that is said.
func (s *stand) warm(ctx context.Context) error {
	const busy, look = 2 * time.Minute, 500 * time.Millisecond
	began := now()
	for {
		took, p := now()-began, s.pair()
		touched, twin := p.touched.change(), p.twin.change()
		enough := p.touched.used() >= s.lengths.warm && p.twin.used() >= s.lengths.warm
		steady := math.Abs(touched) <= mostChange && math.Abs(twin) <= mostChange // false of NaN
		switch {
		case enough && steady:
			s.warmed = fmt.Sprintf("steady after %.0f s", took.Seconds())
			return nil
		case enough && took >= s.lengths.warmest:
			s.warmed = fmt.Sprintf("not steady after %.0f s: changing by %s, its twin by %s", took.Seconds(), percent(touched), percent(twin))
			return nil
		case took >= s.lengths.warmest+busy:
			return errors.New("the programs do not get the processor time to warm up: the machine is too busy")
		}
		if err := s.touched.run(ctx, look); err != nil {
			return err
		}
	}
}

func percent(change float64) string {
	if math.IsNaN(change) {
		return "nobody knows, in so few rounds"
	}
	return fmt.Sprintf("%+.1f %%", 100*change)
}

// worker is the name of the thread that works, in both programs.
const worker = "worker"

// shareProcessor has the threads that work in both programs take turns on one processor,
// some milliseconds each: what others on the machine do to the one they do to the other.
// All else of the programs, compilers and collectors, stays where the system puts it.
func (s *stand) shareProcessor(ctx context.Context) error {
	const look, patience = 100 * time.Millisecond, 30 * time.Second
	for _, p := range []*program{s.touched, s.twin} {
		for began := now(); len(p.track()) == 0; { // it has a worker before it says anything
			if now()-began > patience {
				return errors.New("the program says nothing")
			}
			if err := p.run(ctx, look); err != nil {
				return err
			}
		}
		thread, err := threadOf(p.pid(), worker)
		if err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, "taskset", "--cpu-list", "--pid", "0", strconv.Itoa(thread)).CombinedOutput(); err != nil {
			return fmt.Errorf("keeping a thread on one processor: %w\n%s", err, out)
		}
	}
	return nil
}

// threadOf finds a thread of a process by its name.
func threadOf(pid int, name string) (int, error) {
	found := harness.Threads(pid, func(has string) bool { return has == name })
	if len(found) == 0 {
		return 0, fmt.Errorf("process %d has no thread %s", pid, name)
	}
	return strconv.Atoi(filepath.Base(found[0]))
}

// A cost is the part of its work that a program lost, with how far that may be off:
// by the spread of windows, and by half of what the programs drifted apart.
type cost struct {
	part, within float64
}

// judge compares it with a budget; within noise of the budget it is unclear.
func (c cost) judge(budget float64) harness.Verdict {
	switch {
	case c.part+c.within <= budget:
		return harness.Met
	case c.part-c.within > budget:
		return harness.Missed
	}
	return harness.Unclear
}

// woven is the hooks' steady cost, by processor time, which others on the machine
// disturb least.
func (r row) woven() cost {
	slower, within := harness.Mean(r.windows())
	return cost{slower - 1, within + math.Abs(r.drift())/2}
}

// allTold is what a long run cost from its beginning to its end, weaving and
// un-weaving included: by the clock, and by processor time.
func (r row) allTold() (clock, cpu cost) {
	f := r.figures[0]
	return cost{f.all.Seconds() / f.span.Seconds(), math.Abs(f.drift.wall) / 2}, cost{f.allCPU, math.Abs(f.drift.cpu) / 2}
}

// auto is whether a budget was kept in it.
func (r row) auto() bool { return r.long || strings.HasSuffix(r.profiler, "auto") }

// judge compares auto with its budget.
func (r row) judge(to *harness.Report) {
	if !r.auto() || len(r.figures) == 0 {
		return
	}
	c, windows := r.woven(), harness.SpreadOf(r.windows())
	to.Bar(c.judge(r.wanted), "JDK %s, %s, %s: once woven %+.1f %% ± %.1f (%d windows, quartiles %+.1f to %+.1f; budget %.0f %%)",
		r.jdk, r.program, r.profiler, 100*c.part, 100*c.within, len(r.windows()), 100*(windows.Low-1), 100*(windows.High-1), 100*r.wanted)
	if r.long {
		f := r.figures[0]
		clock, cpu := r.allTold()
		to.Bar(clock.judge(r.wanted), "JDK %s, %s, %s: in all, over %s, %.1f %% ± %.1f of its work (%.2f s; %.2f s to hooks going in, %.2f s out; "+
			"budget %.0f %%; by processor time %.1f %% ± %.1f; %s)", r.jdk, r.program, r.profiler, f.span.Round(time.Second),
			100*clock.part, 100*clock.within, f.all.Seconds(), f.in.Seconds(), f.out.Seconds(), 100*r.wanted, 100*cpu.part, 100*cpu.within, f.warm)
	}
}

// A row is what the phases of one profiler on one program showed.
type row struct {
	jdk, program, profiler string
	figures                []*figure
	refusal                error // why there are none, or no more
	tries                  int   // that VisualVM's engine took
	long                   bool
	wanted                 float64 // the budget that auto was given
}

func (r row) report(to *harness.Report, table *harness.Table) {
	if len(r.figures) > 0 {
		last := r.figures[len(r.figures)-1].course
		slower := r.slower().Text("%.3g")
		if slices.ContainsFunc(r.figures, func(f *figure) bool { return f.rough }) {
			slower = "~ " + slower
		}
		table.Row(r.jdk, r.program, r.profiler, slower, harness.SpreadOf(r.windows()).Text("%.3g"),
			fmt.Sprintf("%.2f", r.median(func(f *figure) float64 { return f.in.Seconds() })), fmt.Sprintf("%.2f", r.median(func(f *figure) float64 { return f.out.Seconds() })),
			last.hooks, last.rounds, millis(last.pause), millis(last.waited), fmt.Sprintf("%+.1f %%", 100*r.drift()), r.remark())
	}
	if r.refusal != nil {
		to.Note("JDK %s, %s, %s: %v", r.jdk, r.program, r.profiler, r.refusal)
	}
	r.judge(to)
}

// remark is the profiler's own account, and what else should be known of the row.
func (r row) remark() string {
	last := r.figures[len(r.figures)-1].course
	said := []string{"-"}
	switch {
	case last.budget > 0:
		said[0] = fmt.Sprintf("%.1f %% of %.0f %%", 100*last.steady, 100*last.budget)
	case last.steady > 0:
		said[0] = fmt.Sprintf("%.1f %%", 100*last.steady)
	}
	if !slices.ContainsFunc(r.figures, func(f *figure) bool { return f.course.settled }) {
		said = append(said, "hooks still going in")
	}
	if warm := r.figures[0].warm; strings.HasPrefix(warm, "not") {
		said = append(said, warm)
	}
	if slices.ContainsFunc(r.figures, func(f *figure) bool { return f.drift.cpu < -0.1 }) {
		said = append(said, "not at its old pace again")
	}
	if r.tries > 1 {
		said = append(said, fmt.Sprintf("at the %d. try", r.tries))
	}
	return strings.Join(said, ", ")
}

func (r row) median(value func(*figure) float64) float64 {
	return harness.Over(r.figures, value).Median
}

func (r row) slower() harness.Spread {
	return harness.Over(r.figures, func(f *figure) float64 { return f.slower })
}

// drift is that by processor time which was farthest from none.
func (r row) drift() (most float64) {
	for _, f := range r.figures {
		if d := f.drift.cpu; d*d > most*most {
			most = d
		}
	}
	return most
}

// windows are how many times slower the program was in single windows.
func (r row) windows() []float64 {
	var all []float64
	for _, f := range r.figures {
		all = append(all, f.windows...)
	}
	return all
}

const legend = `Times slower: how many times less the program does with all hooks in, relative to an untouched twin meanwhile, against the
same before and after; median and quartiles of phases (~: no whole round of it ended). By processor time: the same for each second of its
processor time, in windows of whole rounds, a second or more; windows in which hooks went in or out do not count. Lost: work missing until
all hooks were in and from when they began to go out, in seconds of the untouched program. Pause: the program stood still for hooks, as the
profiler reports it (JFluid: all its hot swapping). Waited: its threads waited in hooks. In all: work missing from when the profiler came
until the program had its old pace again, as a part of the time it stayed. Drift: how the two changed against each other without hooks, by
processor time. "nothing" shows the noise. Two programs run.`

func millis(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
