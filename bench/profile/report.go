package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
)

// A row is what the phases of one profiler on one program showed.
type row struct {
	jdk, program, profiler string
	figures                []*figure
	refusal                error // why there are none, or no more
	tries                  int   // that VisualVM's engine took
	long                   bool
	wanted                 float64 // the budget that auto was given
}

func printHead() {
	fmt.Printf("%-8s %-6s %-12s | %8s %-15s %7s %-15s | %7s %7s | %6s %6s %8s %8s | %6s | %s\n", "JDK", "", "", "slower", "middle half",
		"by CPU", "middle half", "lost in", "out", "hooks", "rounds", "pause", "waited", "drift", "own account")
}

func (r row) print() {
	if len(r.figures) > 0 {
		r.printFigures()
	}
	if r.refusal != nil {
		fmt.Printf("%-8s %-6s %-12s | %s\n", r.jdk, r.program, r.profiler, strings.ReplaceAll(r.refusal.Error(), "\n", " "))
	}
}

func (r row) printFigures() {
	last := r.figures[len(r.figures)-1].course
	slower, cpu := r.slower(), spread.Of(r.windows())
	rough := "×"
	if slices.ContainsFunc(r.figures, func(f *figure) bool { return f.rough }) {
		rough = "~"
	}
	fmt.Printf("%-8s %-6s %-12s | %s %6.3g %-15s ×%6.3g %-15s | %6.2fs %6.2fs | %6d %6d %8s %8s | %+5.1f%% | %s\n", r.jdk, r.program, r.profiler,
		rough, slower.Median, ends(slower), cpu.Median, ends(cpu),
		r.median(func(f *figure) float64 { return f.in.Seconds() }), r.median(func(f *figure) float64 { return f.out.Seconds() }),
		last.hooks, last.rounds, millis(last.pause), millis(last.waited), 100*r.drift(), r.remark())
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

func (r row) each(value func(*figure) float64) []float64 {
	var all []float64
	for _, f := range r.figures {
		all = append(all, value(f))
	}
	return all
}

func (r row) median(value func(*figure) float64) float64 { return spread.Median(r.each(value)) }

func (r row) slower() spread.Spread {
	return spread.Of(r.each(func(f *figure) float64 { return f.slower }))
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

func printLegend(rows []row, load string) {
	fmt.Printf(`
slower: how many times less the program does with all hooks in, of what an untouched twin does meanwhile, against the
same before and after; median and middle half of phases (~: no whole round of it ended). by CPU: the same for each second
of its processor time, in windows of whole rounds, a second or more; those in which hooks went in or out do not count.
lost: work missing until all hooks were in and from when they began to go out, in seconds of the untouched program.
pause: the program stood still for hooks, as the profiler tells it (JFluid: all its hot swapping). waited: its threads
waited in hooks. all told: work missing from when the profiler came until the program had its old pace again, as a part of
the time it stayed. drift: how the two changed against each other without hooks, by processor time. "nothing" shows the
noise. The machine's load was %s at first and is %s now; two programs run.

`, load, machine.Load())
	for _, r := range rows {
		for _, said := range r.verdicts() {
			fmt.Println(said)
		}
	}
}

func ends(s spread.Spread) string { return fmt.Sprintf("%.3g to %.3g", s.Low, s.High) }

func millis(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
