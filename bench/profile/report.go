package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A row is what the phases of one profiler on one program showed.
type row struct {
	jdk, program, profiler string
	figures                []*figure
	refusal                error // why there are none
}

func printHead() {
	fmt.Printf("%-8s %-6s %-15s | %7s %-17s %7s | %8s %8s | %6s %6s %8s %8s | %s\n", "JDK", "", "",
		"slower", "middle half", "by CPU", "lost in", "lost out", "hooks", "rounds", "pause", "waited", "own account")
}

func (r row) print() {
	if r.refusal != nil {
		fmt.Printf("%-8s %-6s %-15s | %s\n", r.jdk, r.program, r.profiler, strings.ReplaceAll(r.refusal.Error(), "\n", " "))
		return
	}
	last := r.figures[len(r.figures)-1].course
	slower := spreadOf(r.each(func(f *figure) float64 { return f.slower }))
	cpu := spreadOf(r.windows())
	own := "-"
	if last.budget > 0 {
		own = fmt.Sprintf("%.1f %% of %.0f %%", 100*last.steady, 100*last.budget)
	} else if last.steady > 0 {
		own = fmt.Sprintf("%.1f %%", 100*last.steady)
	}
	if !slices.ContainsFunc(r.figures, func(f *figure) bool { return f.course.settled }) {
		own += ", hooks still going in"
	}
	fmt.Printf("%-8s %-6s %-15s | × %5.3g %-17s ×%6.3g | %7.2fs %7.2fs | %6d %6d %8s %8s | %s\n", r.jdk, r.program, r.profiler,
		slower.median, fmt.Sprintf("%.3g to %.3g", slower.low, slower.high), cpu.median,
		r.median(func(f *figure) float64 { return f.in.Seconds() }), r.median(func(f *figure) float64 { return f.out.Seconds() }),
		last.hooks, last.rounds, millis(last.pause), millis(last.waited), own)
}

func (r row) each(value func(*figure) float64) []float64 {
	var all []float64
	for _, f := range r.figures {
		all = append(all, value(f))
	}
	return all
}

func (r row) median(value func(*figure) float64) float64 { return quantile(r.each(value), 0.5) }

// windows are how many times slower the program was in single windows.
func (r row) windows() []float64 {
	var all []float64
	for _, f := range r.figures {
		all = append(all, f.windows...)
	}
	return all
}

// judge says whether the hooks' steady cost is inside the budget: by windows by
// processor time, which others on the machine disturb least. It is open where the
// budget lies between the quartiles.
func (r row) judge(budget float64) string {
	cost := spreadOf(r.windows())
	switch {
	case math.IsNaN(cost.median):
		return "not measured against"
	case cost.low-1 > budget:
		return "OUTSIDE"
	case cost.high-1 > budget:
		return "within noise of"
	}
	return "inside"
}

func (r row) verdict(budget float64) string {
	cost := spreadOf(r.windows())
	return fmt.Sprintf("auto, %s on JDK %s: once woven %+.1f %% (middle half %+.1f to %+.1f): %s its budget of %.0f %%",
		r.program, r.jdk, 100*(cost.median-1), 100*(cost.low-1), 100*(cost.high-1), r.judge(budget), 100*budget)
}

// total says the same of a long run from its beginning to its end, weaving and
// un-weaving included, by the clock.
func (r row) total(budget float64) string {
	f := r.figures[0]
	cost := f.all.Seconds() / f.span.Seconds()
	judged := "inside"
	if cost > budget {
		judged = "OUTSIDE"
	}
	return fmt.Sprintf("auto, %s on JDK %s: over %s all told %.1f %% of its work (%.2f s, %.2f s of it to hooks going in and %.2f s out; "+
		"without hooks program and twin drifted by %+.1f %%): %s its budget of %.0f %%", r.program, r.jdk, f.span.Round(time.Second),
		100*cost, f.all.Seconds(), f.in.Seconds(), f.out.Seconds(), 100*f.disturbed, judged, 100*budget)
}

func printLegend() {
	fmt.Print(`
slower: how many times less the program does with all hooks in, of what an untouched twin does meanwhile, against the
same before and after; median and middle half of phases. by CPU: the same for each second of its processor time, in
windows of a second. lost: work missing until all hooks were in and from when they began to go out, in seconds of the
untouched program. pause: the program stood still for hooks, as the profiler tells it (JFluid: all its hot swapping).
waited: its threads waited in hooks. "nothing" shows the noise.
`)
}

func millis(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
