package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// A report is everything that was found on one JDK.
type report struct {
	JDK                   string
	LoadBefore, LoadAfter string
	Rounds                []map[string]float64 // nanoseconds a call, by mode
	Costs                 []cost
}

// A cost is what a mode adds to a call of what it is compared with; of one that is
// compared with nothing it is the whole call.
type cost struct {
	Name    string
	Added   spread.Spread
	Bar     float64 // 0 for none
	IsWhole bool
	// Unclear says that the bar is not met while others kept the processors busy. A bare
	// call hardly feels that, as each of its instructions waits for the one before; hooks
	// do.
	Unclear bool
	// Share is of the same condition by reflection and by an interpreter; 0 where that
	// says nothing.
	OfReflection, OfInterpreter float64
}

func (c cost) met() bool { return c.Bar == 0 || c.Added.Median <= c.Bar }

func (r *report) AllMet() bool {
	return !slices.ContainsFunc(r.Costs, func(c cost) bool { return !c.met() })
}

// isBusy reports whether others than the measured program wanted the processors.
func (r *report) isBusy() bool {
	for _, text := range []string{r.LoadBefore, r.LoadAfter} {
		if load, err := strconv.ParseFloat(text, 64); err == nil && load > float64(runtime.NumCPU()) {
			return true
		}
	}
	return false
}

// judge sums the rounds up.
func (r *report) judge() {
	for _, m := range modes {
		c := cost{Name: m.name, Bar: m.bar, IsWhole: m.name == modeBare || m.apart}
		c.Added = r.over(func(nanos map[string]float64) float64 {
			if c.IsWhole {
				return nanos[m.name]
			}
			return nanos[m.name] - nanos[cmp.Or(m.beside, modeBare)]
		})
		if m.name == modeNotMet {
			c.OfReflection, c.OfInterpreter = r.share(m.name, modeReflect), r.share(m.name, modeTree)
		}
		c.Unclear = !c.met() && r.isBusy()
		r.Costs = append(r.Costs, c)
	}
}

// share is what a mode adds of what another does, within the same rounds.
func (r *report) share(mode, of string) float64 {
	return r.over(func(nanos map[string]float64) float64 {
		return (nanos[mode] - nanos[modeBare]) / (nanos[of] - nanos[modeBare])
	}).Median
}

// over spreads, over the rounds, a value computed within each of them.
func (r *report) over(value func(nanos map[string]float64) float64) spread.Spread {
	values := make([]float64, 0, len(r.Rounds))
	for _, nanos := range r.Rounds {
		values = append(values, value(nanos))
	}
	return spread.Of(values)
}

func (r *report) Print(w io.Writer) {
	fmt.Fprintf(w, "JDK %s, %d rounds; load %s to %s\n\n", r.JDK, len(r.Rounds), r.LoadBefore, r.LoadAfter)
	fmt.Fprintf(w, "%-46s %9s %21s %7s\n", "ns added to a call", "median", "half of the rounds", "bar")
	for _, c := range r.Costs {
		fmt.Fprintf(w, "%-46s %9.2f %10.2f to %7.2f", c.Name, c.Added.Median, c.Added.Low, c.Added.High)
		switch {
		case c.IsWhole:
			fmt.Fprint(w, "  (the whole call)")
		case c.Bar > 0 && c.met():
			fmt.Fprintf(w, " %7.1f  met", c.Bar)
		case c.Unclear:
			fmt.Fprintf(w, " %7.1f  NOT MET, and the machine is too busy to tell", c.Bar)
		case c.Bar > 0:
			fmt.Fprintf(w, " %7.1f  NOT MET", c.Bar)
		}
		if c.OfReflection > 0 && c.OfInterpreter > 0 {
			fmt.Fprintf(w, "; %.2f of what reflection adds, %.2f of an interpreter", c.OfReflection, c.OfInterpreter)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
