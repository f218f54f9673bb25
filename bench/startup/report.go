package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/sonde-jvm/sonde/bench/machine"
	"github.com/sonde-jvm/sonde/bench/spread"
)

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
