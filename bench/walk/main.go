// Walk measures what a walk costs a program, beside instrumenting all of the same
// classes at once: H2 under a mix of SQL, and a program of many small methods.
//
//	go run ./bench/walk [-jdk N] [-programs H2,orders] [-phases N] [-again] [-timeline] [-json FILE]
//
// On each JDK a program runs beside an untouched twin, on a processor each if there
// are two. In turn it is left alone, walked, left alone, has a timed hook in every
// method of the classes that were on the ways the walk found, for as long as the walk
// took, and is left alone again. Speeds are what a program does for a second of its
// own processor time, against its twin in the same windows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Options are a run's. Times are processor time of the program, but for the stay.
type options struct {
	jdk      int
	programs string
	phases   int
	warm     time.Duration // before its first phase
	rest     time.Duration // left alone between
	settle   time.Duration // after hooks went in or out: what is lost meanwhile is lost to that
	stay     time.Duration // how long a walk goes on looking for new hot spots, by the clock
	json     string
	timeline bool
	again    bool // it was walked before
}

func main() {
	var o options
	flag.IntVar(&o.jdk, "jdk", 0, "only this major version")
	flag.StringVar(&o.programs, "programs", "H2,orders", "programs to walk")
	flag.IntVar(&o.phases, "phases", 2, "how often each is walked, and instrumented")
	flag.DurationVar(&o.warm, "warm", 30*time.Second, "processor time a program has before its first phase")
	flag.DurationVar(&o.rest, "rest", 15*time.Second, "processor time it has between, left alone")
	flag.DurationVar(&o.settle, "settle", 6*time.Second, "processor time in which a program settles after hooks went in or out")
	flag.DurationVar(&o.stay, "stay", 60*time.Second, "how long a walk goes on looking for new hot spots")
	flag.BoolVar(&o.timeline, "timeline", false, "tell how fast it was throughout each walk")
	flag.BoolVar(&o.again, "again", false, "walk it once before that counts: JVMs before 21 throw all compiled code away at their first redefinition, whoever asks for it")
	flag.StringVar(&o.json, "json", "", "file to write the figures to as well")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench/walk: %v\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, o options) error {
	jdks, err := machine.JDKs(o.jdk)
	if err != nil {
		return err
	}
	var all []*result
	var failures []error
	load := machine.Load()
	printHead(os.Stdout)
	for _, jdk := range jdks {
		classes, err := classesFor(jdk)
		if err != nil {
			return fmt.Errorf("JDK %s: %w", jdk.Version, err)
		}
		for _, s := range subjects {
			if !slices.Contains(strings.Split(o.programs, ","), s.name) || ctx.Err() != nil {
				continue
			}
			r, err := measure(ctx, jdk, s, classes, o)
			if err != nil {
				failures = append(failures, fmt.Errorf("JDK %s, %s: %w", jdk.Version, s.name, err))
			}
			if r != nil {
				r.print(os.Stdout)
				all = append(all, r)
			}
		}
	}
	printLegend(os.Stdout, load)
	for _, r := range all {
		r.printBars(os.Stdout)
	}
	if o.json != "" {
		failures = append(failures, writeJSON(o.json, all, load))
	}
	return errors.Join(failures...)
}

// classesFor compiles the programs, below the folder of what is built.
func classesFor(jdk jvmtest.JDK) (string, error) {
	folder, err := filepath.Abs(filepath.Join("build", "bench-walk", jdk.Version))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return folder, compile(jdk, folder)
}

// A course is how a program was walked, or had hooks everywhere.
type course struct {
	span      twin.Span
	disturbed []disturbance
	hooks     int // methods that had one
	mostLive  int
	executed  uint64
	batches   int
	redefined int           // the class that was most often
	pause     time.Duration // as the JVM tells it
	classes   []string      // that were on the ways
	lives     []string      // which hooks were on when
}

// A disturbance is a time in which hooks went in or out. While the program settles
// after that it is as fast as it is with its hooks, if it has them, or as without.
type disturbance struct {
	span   twin.Span
	hooked bool
}

const command = "bench/walk"

// notice is how long before its end a batch is taken to have begun.
const notice = time.Second

// walked walks a program.
func walked(ctx context.Context, pid int, stay time.Duration) (*course, error) {
	options := rootcause.Defaults()
	options.PID, options.Command, options.Duration, options.Source = pid, command, stay, sampler.FlightRecorder
	var entering, leaving time.Time
	options.Progress = func(p rootcause.Progress) {
		switch {
		case p.Stage == rootcause.Entering && entering.IsZero():
			entering = time.Now()
		case p.Stage == rootcause.Leaving && leaving.IsZero():
			leaving = time.Now()
		}
	}
	began := time.Now()
	found, err := rootcause.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	gone := time.Now()
	if entering.IsZero() || len(found.Batches) == 0 {
		return nil, errors.New("the walk put no hooks in: " + strings.Join(found.Notes, "; "))
	}
	c := &course{
		span: twin.Span{From: began, Until: gone}, hooks: found.Cost.Hooked, mostLive: found.Cost.MostLive, executed: found.Cost.Executed,
		batches: len(found.Batches), redefined: found.Cost.Redefined, pause: found.Cost.Pause, classes: ownClasses(found),
	}
	for i, batch := range found.Batches {
		at := found.Began.Add(batch.At)
		s := twin.Span{From: at.Add(-notice), Until: at}
		if i == 0 {
			s.From = entering
		}
		if !batch.In && !leaving.IsZero() && at.After(leaving) {
			s = twin.Span{From: leaving, Until: gone}
		}
		c.disturbed = append(c.disturbed, disturbance{span: s})
	}
	for _, l := range found.Hooks {
		m := found.Methods[l.Method]
		c.lives = append(c.lives, fmt.Sprintf("%s.%s level %d, %.1f s to %.1f s, %d calls, %d drawn", m.Class, m.Name, l.Level, l.From.Seconds(), l.Until.Seconds(), l.Calls, l.Drawn))
	}
	return c, nil
}

// ownClasses are the classes on the ways that a walk found, but for the JDK's, which
// nobody would instrument as a whole.
func ownClasses(found *rootcause.Climb) []string {
	var classes []string
	for _, m := range found.Methods {
		isLibrary := strings.HasPrefix(m.Class, "java/") || strings.HasPrefix(m.Class, "jdk/") || strings.HasPrefix(m.Class, "sun/")
		if !isLibrary && !strings.Contains(m.Class, "$$Lambda") {
			classes = append(classes, strings.ReplaceAll(m.Class, "/", "."))
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

// instrumented has hooks that time every call in all methods of classes, while stay
// takes.
func instrumented(ctx context.Context, pid int, classes []string, stay func() error) (_ *course, err error) {
	var patterns []string
	for _, class := range classes {
		patterns = append(patterns, class+".*")
	}
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		return nil, err
	}
	c := &course{span: twin.Span{From: time.Now()}, redefined: inAndOut}
	s, err := session.Open(ctx, pid, session.Settings{Command: command})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Release()) }()
	installation, err := s.Instrument(ctx, session.Wanted{Methods: set, Flags: arena.On | arena.Timed | arena.Flat})
	c.disturbed = append(c.disturbed, disturbance{twin.Span{From: c.span.From, Until: time.Now()}, true})
	if err == nil {
		err = stay()
	}
	sum, failed := s.Sum()
	leaving := time.Now()
	farewell, closing := s.Close(context.WithoutCancel(ctx))
	if err := errors.Join(err, failed, closing); err != nil {
		return nil, err
	}
	c.span.Until = time.Now()
	c.disturbed = append(c.disturbed, disturbance{span: twin.Span{From: leaving, Until: c.span.Until}})
	for _, totals := range sum.Methods {
		c.executed += totals.Calls
	}
	c.hooks, c.mostLive, c.batches = len(s.Methods()), len(s.Methods()), len(installation.Batches)+1
	c.pause, _ = installation.Pause()
	c.pause += farewell.Pause.Pause
	return c, nil
}

func printHead(w io.Writer) {
	fmt.Fprintf(w, "%-8s %-7s %-14s | %8s %-15s %4s | %7s %7s %7s %9s | %6s %5s %12s %9s | %s\n", "JDK", "", "", "slower", "middle half", "n",
		"batches", "lost", "in all", "pause", "hooks", "live", "executed", "an op.", "a class redefined")
}

func (r *result) print(w io.Writer) {
	alone := slower(r.alone)
	fmt.Fprintf(w, "%-8s %-7s %-14s | ×%7.3f %-15s %4d |\n", r.jdk, r.program, "left alone", alone.Median, ends(alone), len(r.alone))
	printRow(w, r.jdk, r.program, "walked", r.walked)
	printRow(w, r.jdk, r.program, "all hooks on", r.all)
}

func printRow(w io.Writer, jdk, program, kind string, figures []figure) {
	if len(figures) == 0 {
		return
	}
	slower := slower(windows(figures))
	last := figures[len(figures)-1].course
	fmt.Fprintf(w, "%-8s %-7s %-14s | ×%7.3f %-15s %4d | %7.3g %6.2fs %6.2fs %9s | %6d %5d %12.0f %9.3g | at most %d times\n", jdk, program, kind,
		slower.Median, ends(slower), len(windows(figures)), median(figures, func(f figure) float64 { return float64(f.course.batches) }),
		median(figures, lostSeconds), median(figures, allSeconds), last.pause.Round(time.Millisecond), last.hooks, mostLive(figures),
		median(figures, executed), median(figures, perOperation), mostRedefined(figures))
}

func printLegend(w io.Writer, load string) {
	fmt.Fprintf(w, `
slower: how many times less the program does for the same processor time, of what an untouched twin does meanwhile, against
the same before and after; median and middle half of n windows of %v of processor time, without those in which hooks went in or out and the
program settled after that. lost: processor time of the program that brought nothing in those, and in all of a phase; pause:
it stood still, as the JVM tells. hooks: methods that had one; live: at most at a time; executed: how often, in a phase, and
for each operation of the program. Walked and all hooks on have equally much processor time. The machine's load was %s at
first and is %s now; two programs run.

`, twin.Window, load, machine.Load())
}

// printTimeline tells how fast a program was throughout a course, and when hooks went
// in or out.
func printTimeline(w io.Writer, t twin.Track, c *course, plain float64) {
	for _, piece := range t.Windows(c.span) {
		share, err := piece.Share()
		if err != nil {
			continue
		}
		at := twin.Span{From: piece[0].At, Until: piece[len(piece)-1].At}
		mark := ""
		for _, d := range c.disturbed {
			if d.span.From.Before(at.Until) && at.From.Before(d.span.Until) {
				mark = "hooks in or out"
			}
		}
		fmt.Fprintf(w, "  %5.1f s  ×%6.3f  %s\n", at.From.Sub(c.span.From).Seconds(), plain/share, mark)
	}
	for _, life := range c.lives {
		fmt.Fprintf(w, "  %s\n", life)
	}
}

func ends(s spread.Spread) string { return fmt.Sprintf("%.3f to %.3f", s.Low, s.High) }

// windows are speeds.
func windows(figures []figure) []float64 {
	var all []float64
	for _, f := range figures {
		all = append(all, f.speeds...)
	}
	return all
}

// slower turns speeds into how many times slower that is.
func slower(speeds []float64) spread.Spread {
	s := spread.Of(speeds)
	return spread.Spread{Median: 1 / s.Median, Low: 1 / s.High, High: 1 / s.Low}
}

func median(figures []figure, value func(figure) float64) float64 {
	var all []float64
	for _, f := range figures {
		all = append(all, value(f))
	}
	return spread.Median(all)
}

func lostSeconds(f figure) float64 { return f.lost.Seconds() }

func allSeconds(f figure) float64 { return f.all.Seconds() }

// perOperation is how many hooks were executed for each operation of the program: all
// hooks make it slow, so it does less in the same time.
func perOperation(f figure) float64 { return float64(f.course.executed) / math.Max(1, f.done) }

func executed(f figure) float64 { return float64(f.course.executed) }

func mostLive(figures []figure) (most int) {
	for _, f := range figures {
		most = max(most, f.course.mostLive)
	}
	return most
}

func mostRedefined(figures []figure) (most int) {
	for _, f := range figures {
		most = max(most, f.course.redefined)
	}
	return most
}

// A bar is something that has to hold.
type bar struct {
	Says string
	Met  string
}

// What a walk has to keep to.
const (
	mostSlower = 0.02 // between batches
	mostLost   = 0.1  // of what all hooks lose
	fewerHooks = 1000 // times, executed
	inAndOut   = 2    // redefinitions of a class
	severalX   = 2.0  // how many times slower all hooks make it, at least
	yes, no    = "met", "NOT MET"
)

// bars hold the walk against what it has to keep to.
func (r *result) bars() []bar {
	if len(r.walked) == 0 || len(r.all) == 0 {
		return nil
	}
	speed, within := spread.Mean(windows(r.walked))
	verdict := no
	switch {
	case 1/(speed-within)-1 <= mostSlower:
		verdict = yes
	case 1/(speed+within)-1 <= mostSlower:
		verdict = "within noise"
	}
	all := slower(windows(r.all)).Median
	lost, lostAll := median(r.walked, lostSeconds), median(r.all, allSeconds)
	fewer := median(r.all, perOperation) / median(r.walked, perOperation)
	limit := rootcause.Defaults().Hooks
	return []bar{
		{fmt.Sprintf("between batches the walked program is %+.1f %% ± %.1f slower (at most %.0f %%)", 100*(1/speed-1), 100*within, 100*mostSlower), verdict},
		{fmt.Sprintf("where all hooks on make it %.1f times slower (several times)", all), met(all >= severalX)},
		{fmt.Sprintf("work lost to batches: %.2f s, where all hooks lose %.2f s, batches and hooks (at most a tenth)", lost, lostAll), met(lost <= mostLost*lostAll)},
		{fmt.Sprintf("for the same work hooks were executed %.0f times less often (at least %d)", fewer, fewerHooks), met(fewer >= fewerHooks)},
		{fmt.Sprintf("a class was redefined at most %d times in a climb (at most %d)", mostRedefined(r.walked), inAndOut), met(mostRedefined(r.walked) <= inAndOut)},
		{fmt.Sprintf("live hooks: at most %d (at most %d)", mostLive(r.walked), limit), met(mostLive(r.walked) <= limit)},
	}
}

func met(is bool) string {
	if is {
		return yes
	}
	return no
}

func (r *result) printBars(w io.Writer) {
	for _, b := range r.bars() {
		fmt.Fprintf(w, "%-8s %-7s %s: %s\n", r.jdk, r.program, b.Says, b.Met)
	}
}
