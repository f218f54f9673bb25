// Walk measures what a walk costs a program, compared with instrumenting all of the same
// classes at once: H2 under a mix of SQL, and a program of many small methods.
//
//	go run ./bench/walk [-jdk N] [-programs H2,orders] [-phases N] [-again] [-timeline]
//
// On each JDK a program and an untouched twin run at the same time, each on its own
// processor if there are two. The program runs without hooks, is walked, runs without
// hooks, gets a timed hook in every method of the classes on the call paths that the
// walk found (for as long as the walk took), and runs without hooks again. Speed is
// work per second of processor time, relative to the twin in the same windows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Times are processor time of the program, except for the stay.
var (
	programs = flag.String("programs", "H2,orders", "programs to walk")
	phases   = flag.Int("phases", 2, "number of walks and of full instrumentations per program")
	warm     = flag.Duration("warm", 30*time.Second, "processor time each program gets before its first phase")
	rest     = flag.Duration("rest", 15*time.Second, "processor time without hooks between phases")
	settle   = flag.Duration("settle", 6*time.Second, "processor time for the program to settle after hooks are added or removed; work missing in this time counts as lost")
	stay     = flag.Duration("stay", 60*time.Second, "wall-clock time during which a walk looks for new hot spots")
	timeline = flag.Bool("timeline", false, "print the speed of the program throughout each walk")
	again    = flag.Bool("again", false, "walk each program once before measuring: JVMs before 21 discard all compiled code at the first redefinition by any tool")
)

func main() {
	harness.Main("walk", func(ctx context.Context, r *harness.Report) error {
		table := r.Table("JDK", "program", "", "times slower", "windows", "batches", "lost to them, s", "lost in all, s", "pause", "hooks", "live at most",
			"executed", "for an operation", "redefinitions of a class")
		r.Note(legend, harness.Window)
		var failures []error
		err := harness.EachJDK(func(jdk jvmtest.JDK) error {
			classes, err := harness.Compile(jdk, harness.Source{
				Files:     []string{"test/realprograms/testdata/RealProgram.java", "test/realprograms/testdata/H2Work.java", "bench/walk/java/*.java"},
				Classpath: h2Jar,
			})
			if err != nil {
				return err
			}
			defer os.RemoveAll(classes)
			for _, s := range subjects {
				if !slices.Contains(strings.Split(*programs, ","), s.name) || ctx.Err() != nil {
					continue
				}
				found, err := measure(ctx, jdk, s, classes)
				if err != nil {
					failures = append(failures, fmt.Errorf("JDK %s, %s: %w", jdk.Version, s.name, err))
				}
				if found != nil {
					found.report(r, table)
				}
			}
			return nil
		})
		return errors.Join(append(failures, err)...)
	})
}

// A course is how a program was walked, or had hooks everywhere.
type course struct {
	span      harness.Span
	disturbed []disturbance
	hooks     int // methods that had one
	mostLive  int
	executed  uint64
	batches   int
	redefined int           // the class that was most often
	pause     time.Duration // as the JVM reports it
	classes   []string      // that were on the ways
	lives     []string      // which hooks were on when
}

// A disturbance is a time in which hooks went in or out. While the program settles
// after that it is as fast as it is with its hooks, if it has them, or as without.
type disturbance struct {
	span   harness.Span
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
		span: harness.Span{From: began, Until: gone}, hooks: found.Cost.Hooked, mostLive: found.Cost.MostLive, executed: found.Cost.Executed,
		batches: len(found.Batches), redefined: found.Cost.Redefined, pause: found.Cost.Pause, classes: ownClasses(found),
	}
	for i, batch := range found.Batches {
		at := found.Began.Add(batch.At)
		s := harness.Span{From: at.Add(-notice), Until: at}
		if i == 0 {
			s.From = entering
		}
		if !batch.In && !leaving.IsZero() && at.After(leaving) {
			s = harness.Span{From: leaving, Until: gone}
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
	c := &course{span: harness.Span{From: time.Now()}, redefined: inAndOut}
	s, err := session.Open(ctx, pid, session.Settings{Command: command})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Release()) }()
	installation, err := s.Instrument(ctx, session.Wanted{Methods: set, Flags: arena.On | arena.Timed | arena.Flat})
	c.disturbed = append(c.disturbed, disturbance{harness.Span{From: c.span.From, Until: time.Now()}, true})
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
	c.disturbed = append(c.disturbed, disturbance{span: harness.Span{From: leaving, Until: c.span.Until}})
	for _, totals := range sum.Methods {
		c.executed += totals.Calls
	}
	c.hooks, c.mostLive, c.batches = len(s.Methods()), len(s.Methods()), len(installation.Batches)+1
	c.pause, _ = installation.Pause()
	c.pause += farewell.Pause.Pause
	return c, nil
}

const legend = `Times slower: how many times less the program does for the same processor time, relative to an untouched twin meanwhile,
against the same before and after; median and quartiles of windows of %v of processor time, without those in which hooks went in or out
and the program settled after that. Lost: processor time of the program that brought nothing, in those windows, and in all of a phase.
Pause: the program stood still, as the JVM reports it. Executed: hooks, in a phase. Walked and all hooks on have equally much processor
time; two programs run.`

func (r *result) report(to *harness.Report, table *harness.Table) {
	table.Row(r.jdk, r.program, "left alone", slower(r.alone).Text("%.3f"), len(r.alone))
	r.addRow(table, "walked", r.walked)
	r.addRow(table, "all hooks on", r.all)
	r.judge(to)
}

func (r *result) addRow(table *harness.Table, kind string, figures []figure) {
	if len(figures) == 0 {
		return
	}
	last := figures[len(figures)-1].course
	table.Row(r.jdk, r.program, kind, slower(windows(figures)).Text("%.3f"), len(windows(figures)),
		median(figures, func(f figure) float64 { return float64(f.course.batches) }), fmt.Sprintf("%.2f", median(figures, lostSeconds)),
		fmt.Sprintf("%.2f", median(figures, allSeconds)), last.pause.Round(time.Millisecond), last.hooks, most(figures, mostLive),
		fmt.Sprintf("%.0f", median(figures, executed)), fmt.Sprintf("%.3g", median(figures, perOperation)), most(figures, redefined))
}

// printTimeline prints how fast a program was throughout a course, and when hooks went
// in or out.
func printTimeline(w io.Writer, t harness.Track, c *course, plain float64) {
	for _, piece := range t.Windows(c.span) {
		share, err := piece.Share()
		if err != nil {
			continue
		}
		at := harness.Span{From: piece[0].At, Until: piece[len(piece)-1].At}
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

// windows are speeds.
func windows(figures []figure) []float64 {
	var all []float64
	for _, f := range figures {
		all = append(all, f.speeds...)
	}
	return all
}

// slower turns speeds into how many times slower that is.
func slower(speeds []float64) harness.Spread {
	s := harness.SpreadOf(speeds)
	return harness.Spread{Median: 1 / s.Median, Low: 1 / s.High, High: 1 / s.Low}
}

func median(figures []figure, value func(figure) float64) float64 {
	return harness.Over(figures, value).Median
}

func lostSeconds(f figure) float64 { return f.lost.Seconds() }

func allSeconds(f figure) float64 { return f.all.Seconds() }

// perOperation is how many hooks were executed for each operation of the program: all
// hooks make it slow, so it does less in the same time.
func perOperation(f figure) float64 { return float64(f.course.executed) / math.Max(1, f.done) }

func executed(f figure) float64 { return float64(f.course.executed) }

func mostLive(f figure) int { return f.course.mostLive }

func redefined(f figure) int { return f.course.redefined }

func most(figures []figure, value func(figure) int) (most int) {
	for _, f := range figures {
		most = max(most, value(f))
	}
	return most
}

// The bars of a walk.
const (
	mostSlower = 0.02 // between batches
	mostLost   = 0.1  // of what all hooks lose
	fewerHooks = 1000 // times, executed
	inAndOut   = 2    // redefinitions of a class
	severalX   = 2.0  // how many times slower all hooks make it, at least
)

// judge compares the walk with its bars.
func (r *result) judge(to *harness.Report) {
	if len(r.walked) == 0 || len(r.all) == 0 {
		return
	}
	bar := func(verdict harness.Verdict, format string, arguments ...any) {
		to.Bar(verdict, "JDK %s, %s: "+format, append([]any{r.jdk, r.program}, arguments...)...)
	}
	speed, within := harness.Mean(windows(r.walked))
	verdict := harness.Missed
	switch {
	case 1/(speed-within)-1 <= mostSlower:
		verdict = harness.Met
	case 1/(speed+within)-1 <= mostSlower:
		verdict = harness.Unclear
	}
	all := slower(windows(r.all)).Median
	lost, lostAll := median(r.walked, lostSeconds), median(r.all, allSeconds)
	fewer := median(r.all, perOperation) / median(r.walked, perOperation)
	limit := rootcause.Defaults().Hooks
	bar(verdict, "between batches the walked program is %+.1f %% ± %.1f slower (at most %.0f %%)", 100*(1/speed-1), 100*within, 100*mostSlower)
	bar(harness.Judge(all >= severalX), "where all hooks on make it %.1f times slower (several times)", all)
	bar(harness.Judge(lost <= mostLost*lostAll), "work lost to batches: %.2f s, where all hooks lose %.2f s, batches and hooks (at most a tenth)", lost, lostAll)
	bar(harness.Judge(fewer >= fewerHooks), "for the same work hooks were executed %.0f times less often (at least %d)", fewer, fewerHooks)
	bar(harness.Judge(most(r.walked, redefined) <= inAndOut), "a class was redefined at most %d times in a climb (at most %d)", most(r.walked, redefined), inAndOut)
	bar(harness.Judge(most(r.walked, mostLive) <= limit), "live hooks: at most %d (at most %d)", most(r.walked, mostLive), limit)
}
