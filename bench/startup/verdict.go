package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// The bars of what a pack may cost.
const (
	mostOfPlain = 0.05
	mostOfASM   = 0.25
)

// A report is what was found of one application on one JDK.
type report struct {
	JDK, Program     string
	Loaded, Own      int // classes
	Classes, Methods int // chosen
	Least            int `json:",omitempty"` // bytes of code that methods have which are chosen
	Rows             []row
	Bars             []bar
}

// A row is one way to start. Times are milliseconds.
type row struct {
	Way, Name           string
	Walls, CPUs         []float64
	WallCosts, CPUCosts []float64 `json:",omitempty"` // above plain in the same round
	Woven               *account  `json:",omitempty"` // in each start
	PackBytes           int64     `json:",omitempty"`
	PackSeconds         float64   `json:",omitempty"` // to make it
}

// A bar is a share that what the pack costs must not exceed.
type bar struct {
	What  string
	Clock string // "wall" or "CPU"
	Share float64
	Most  float64
	Met   bool
}

func newReport(a application, c choice, ways []*way) (*report, error) {
	r := &report{JDK: a.jdk.Version, Program: a.name, Loaded: c.loaded, Own: c.own, Classes: len(c.classes), Methods: c.methods, Least: c.least}
	for _, w := range ways {
		o := row{Way: w.key, Name: w.name, Walls: millis(w.starts, wallOf), CPUs: millis(w.starts, cpuOf)}
		if w.pack != nil {
			o.PackBytes, o.PackSeconds = w.pack.size, w.pack.took.Seconds()
		}
		if len(w.accounts) > 0 {
			woven, err := agreed(w)
			if err != nil {
				return nil, err
			}
			o.Woven = &woven
		}
		r.Rows = append(r.Rows, o)
	}
	base := r.row(plain)
	for i := range r.Rows {
		if o := &r.Rows[i]; o.Way != plain {
			o.WallCosts, o.CPUCosts = above(o.Walls, base.Walls), above(o.CPUs, base.CPUs)
		}
	}
	return r, r.judge()
}

// agreed is what was woven in every start alike, with the median of calls.
func agreed(w *way) (account, error) {
	first := w.accounts[0]
	var calls []float64
	for _, a := range w.accounts {
		calls = append(calls, float64(a.Calls))
		if a.Classes != first.Classes || a.Methods != first.Methods {
			return first, fmt.Errorf("%s: %d methods of %d classes were woven in one start, %d of %d in another",
				w.name, first.Methods, first.Classes, a.Methods, a.Classes)
		}
	}
	first.Calls = uint64(spread.Median(calls))
	return first, nil
}

// judge compares what the pack costs with the bars. Where both wove, they must have woven the same.
func (r *report) judge() error {
	base, ours, theirs := r.row(plain), r.row(packed), r.row(byASM)
	if ours == nil {
		return nil
	}
	for _, o := range []*row{theirs, r.row(byBuddy)} {
		if o != nil && (ours.Woven.Classes != o.Woven.Classes || ours.Woven.Methods != o.Woven.Methods) {
			return fmt.Errorf("the pack wove %s, the %s %s: they must be the same", ours.Woven, o.Name, o.Woven)
		}
	}
	r.add("of plain start-up", "wall", ours.WallCosts, base.Walls, mostOfPlain)
	r.add("of plain start-up", "CPU", ours.CPUCosts, base.CPUs, mostOfPlain)
	if theirs != nil {
		r.add("of what ASM costs", "wall", ours.WallCosts, theirs.WallCosts, mostOfASM)
		r.add("of what ASM costs", "CPU", ours.CPUCosts, theirs.CPUCosts, mostOfASM)
	}
	return nil
}

func (r *report) add(what, clock string, costs, of []float64, most float64) {
	whole := spread.Median(of)
	share := spread.Median(costs) / whole
	// Of nothing, or less by chance, nobody can tell a share.
	r.Bars = append(r.Bars, bar{"the pack costs " + what, clock, share, most, whole > 0 && share <= most})
}

// row is that of a way, nil where the application was not started so.
func (r *report) row(key string) *row {
	for i := range r.Rows {
		if r.Rows[i].Way == key {
			return &r.Rows[i]
		}
	}
	return nil
}

func (r *report) allMet() bool {
	return !slices.ContainsFunc(r.Bars, func(b bar) bool { return !b.Met })
}

func wallOf(s start) time.Duration { return s.wall }
func cpuOf(s start) time.Duration  { return s.cpu }

func millis(starts []start, of func(start) time.Duration) (all []float64) {
	for _, s := range starts {
		all = append(all, float64(of(s))/float64(time.Millisecond))
	}
	return all
}

// above is by how much each exceeds that of the same round.
func above(values, base []float64) (all []float64) {
	for i := range values {
		all = append(all, values[i]-base[i])
	}
	return all
}
