package main

import (
	"fmt"
	"time"
)

func printHead() {
	fmt.Printf("%-8s %s %s %-8s | %6s %7s %6s %7s %6s | %13s %6s | %6s %6s %6s %6s | %9s %9s\n",
		"JDK", "p", "r", "class", "call", "pause", "stops", "compile", "VM", "recompile", "rest at",
		"lost", "<10%", "back", "after", "lost/rec.", "lost/rest")
}

func (r round) print() {
	class := r.Class
	if class == nothing {
		class = "-"
	}
	rest := fmt.Sprintf("%.2f", r.Loss.Unsettled.Seconds())
	if !r.Loss.Settled {
		rest = "> " + rest
	}
	fmt.Printf("%-8s %d %d %-8s | %6s %7s %6d %7s %6s | %6s ± %4s %6s | %6.2f %6.2f %6.2f %5.0f%% | %9s %9s\n",
		r.JDK, r.Program, r.Round, class,
		millis(r.Call), millis(r.Batch.Pause), r.Batch.Safepoints, millis(r.Batch.CompileCPU), millis(r.Batch.VMThread),
		millis(r.Loss.Recompile), millis(r.Loss.Error), rest,
		r.Dip.Lost.Seconds(), r.Dip.Slow.Seconds(), r.Dip.Back.Seconds(), 100*r.Dip.After/r.Dip.Rate,
		ratio(r.Dip.Lost, r.Loss.Recompile), ratio(r.Dip.Lost, r.Loss.Unsettled))
}

func printLegend() {
	fmt.Print(`
p program, r round.
During the call, in ms: the agent's call, all pauses and how many, processor time of compilers and VM thread.
After it, from outside: processor time of compilation above that before, in ms, ± one standard error;
when the compilers were at rest again, in s.
By the program's own account, in s: work lost (processor time of its threads that brought nothing, at its
former speed), processor time below a tenth of that speed, when it was back at 95 % of it; its speed when
all was over. In rounds without a class what is lost is noise.
Ratios: work lost to processor time of recompilation, and to the time until the compilers were at rest.
`)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

// ratio leaves out what is divided by next to nothing.
func ratio(a, b time.Duration) string {
	const little = 20 * time.Millisecond
	if b < little {
		return "-"
	}
	return fmt.Sprintf("%.2f", a.Seconds()/b.Seconds())
}
