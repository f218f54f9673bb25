package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// A report is everything that was found on one JDK.
type report struct {
	JDK                   string
	LoadBefore, LoadAfter string
	Rounds                []map[string]float64 // nanoseconds a call, by mode and shape
	Allocated             map[string]int64     // bytes by a million calls
	Attached              attached
	Bars                  []bar
	modes                 []mode
}

func (r *report) AllMet() bool {
	return !slices.ContainsFunc(r.Bars, func(b bar) bool { return !b.Met })
}

// over spreads, over the rounds, a value computed within each of them.
func (r *report) over(value func(nanos map[string]float64) float64) spread.Spread {
	values := make([]float64, 0, len(r.Rounds))
	for _, nanos := range r.Rounds {
		values = append(values, value(nanos))
	}
	return spread.Of(values)
}

// added is what a mode adds to a bare call of a shape.
func added(nanos map[string]float64, mode, shape string) float64 {
	return nanos[key(mode, shape)] - nanos[key(modeBare, shape)]
}

func (r *report) Print(w io.Writer) {
	fmt.Fprintf(w, "JDK %s, %d rounds; load %s to %s\n\n", r.JDK, len(r.Rounds), r.LoadBefore, r.LoadAfter)
	if len(r.Rounds) > 0 {
		r.printCosts(w)
	}
	r.printBars(w)
}

func (r *report) printCosts(w io.Writer) {
	fmt.Fprintf(w, "%-30s", "ns a call, added to a bare one")
	for _, shape := range shapes {
		fmt.Fprintf(w, "%24s", strings.ToLower(shape))
	}
	fmt.Fprintln(w)
	for _, m := range r.modes {
		fmt.Fprintf(w, "%-30s", m.name)
		for _, shape := range shapes {
			fmt.Fprintf(w, "%24s", r.cell(m, shape))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

func (r *report) printBars(w io.Writer) {
	fmt.Fprintf(w, "%-53s %9s %21s %9s\n", "bar", "have", "half of the rounds", "want")
	for _, b := range r.Bars {
		verdict := "pass"
		switch {
		case b.Unclear:
			verdict = "UNCLEAR, the machine is too busy to tell"
		case !b.Met:
			verdict = "MISS"
		}
		fmt.Fprintf(w, "%-53s %9.3f %10.3f to %7.3f %9.3f  %s%s\n", b.Name, b.Have.Median, b.Have.Low, b.Have.High, b.Want, verdict, b.Note)
	}
	fmt.Fprintln(w)
}

// cell is one number of the table; of bare calls it is the whole.
func (r *report) cell(m mode, shape string) string {
	if !slices.Contains(m.allShapes(), shape) {
		return "–"
	}
	s := r.over(func(nanos map[string]float64) float64 {
		if m.name == modeBare {
			return nanos[key(m.name, shape)]
		}
		return added(nanos, m.name, shape)
	})
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Low, s.High)
}
