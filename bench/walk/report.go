package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

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
