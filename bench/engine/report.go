package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// report is everything a run found.
type report struct {
	JDK       string
	CPUs      int
	Classes   int
	Bytes     int
	Proofs    map[string]string
	LeftAlone int
	Methods   int
	Results   []result
	Bars      []bar
	Scaling   []result
	Peaks     []peakMemory
}

func (r report) allMet() bool {
	return !slices.ContainsFunc(r.Bars, func(b bar) bool { return !b.Met })
}

func (r report) printJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r report) print(w io.Writer) {
	fmt.Fprintf(w, "java.base of JDK %s: %d classes, %.1f MB in memory; %d CPUs\n\n",
		r.JDK, r.Classes, float64(r.Bytes)/1e6, r.CPUs)

	fmt.Fprintf(w, "%-30s %10s %9s %9s %14s %14s %12s\n", "one thread, warm", "classes/s", "least", "most", "per CPU second", "objects/class", "bytes/class")
	for _, m := range r.Results {
		fmt.Fprintf(w, "%-30s %10.0f %9.0f %9.0f %14.0f", m.Name, m.Median, m.Least, m.Most, m.PerCPUSecond)
		if m.ObjectsPerClass > 0 {
			fmt.Fprintf(w, " %14.1f %12.0f", m.ObjectsPerClass, m.BytesPerClass)
		}
		fmt.Fprintln(w)
	}

	fmt.Fprintf(w, "\n%-54s %7s %16s %8s %7s\n", "ratio, median of paired rounds", "ratio", "single rounds", "by CPU", "bar")
	for _, b := range r.Bars {
		verdict := "met"
		if !b.Met {
			verdict = "NOT MET"
		}
		fmt.Fprintf(w, "%-54s %6.2fx %7.2f to %5.2f %7.2fx %6.1fx  %s\n",
			b.Ours+" / "+b.Theirs, b.Ratio, b.Low, b.High, b.CPURatio, b.Least, verdict)
	}

	fmt.Fprintf(w, "\n%-30s %12s %12s\n", "weave, enter/exit, goroutines", "classes/s", "of one")
	for _, m := range r.Scaling {
		fmt.Fprintf(w, "%-30s %12.0f %11.2fx\n", m.Name, m.Median, m.Median/r.Scaling[0].Median)
	}

	fmt.Fprintf(w, "\npeak resident memory (VmHWM of a process of its own)\n")
	for _, p := range r.Peaks {
		if p.KiB == 0 {
			fmt.Fprintf(w, "%-10s unknown on this system\n", p.What)
			continue
		}
		fmt.Fprintf(w, "%-10s %8.1f MiB  %s\n", p.What, float64(p.KiB)/1024, p.Note)
	}

	fmt.Fprintf(w, "\nwhat was woven: ours left alone %d of %d methods\n", r.LeftAlone, r.Methods)
	for _, way := range slices.Sorted(maps.Keys(r.Proofs)) {
		fmt.Fprintf(w, "ASM %-7s its own classes woven, loaded and run: %s\n", way, r.Proofs[way])
	}
}
