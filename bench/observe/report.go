package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/sonde-jvm/sonde/bench/spread"
)

// A report is what the programs showed on one JDK.
type report struct {
	JDK                   string
	LoadBefore, LoadAfter string
	Results               []*result
}

// A result is what one program showed.
type result struct {
	Program          string
	Budget           float64
	Probes, Methods  int
	Expected         float64   // cost, by what was counted
	ExpectedCoverage float64   // by the samples of the observation
	Speeds           []float64 // with probes, of single windows, against when it is left alone
	Alone            []float64 // left alone, likewise
	Reckoned         float64   // cost, by the calls that probes had
	CallsPerSecond   float64
	Coverage         float64 // by samples while probes were applied
	Samples          int
	Bare             []string // what is not covered
	YAML             string   // what was proposed
}

// leastCoverage is what proposed probes have to cover.
const leastCoverage = 0.9

const (
	yes, no = "met", "NOT MET"
	noise   = "within noise"
)

// slower is how much slower the probes make the program, and how far that may be off.
func (r *result) slower() (slower, within float64) {
	speed, off := spread.Mean(r.Speeds)
	return 1/speed - 1, off
}

// inBudget is the verdict on what the probes cost.
func (r *result) inBudget() string {
	switch slower, within := r.slower(); {
	case slower+within <= r.Budget:
		return yes
	case slower-within <= r.Budget && slower <= r.Budget:
		return yes + " (" + noise + ")"
	case slower-within <= r.Budget:
		return noise
	}
	return no
}

func (r *result) isCovered() bool { return r.Coverage >= leastCoverage }

// AllMet reports whether every program kept its budget and was covered.
func (r *report) AllMet() bool {
	for _, one := range r.Results {
		if one.inBudget() == no || !one.isCovered() {
			return false
		}
	}
	return true
}

// Print writes what was found, with the verdicts.
func (r *report) Print(w io.Writer) {
	fmt.Fprintf(w, "JDK %s, load %s at first, %s now\n", r.JDK, r.LoadBefore, r.LoadAfter)
	fmt.Fprintf(w, "%-7s | %6s %7s %9s | %8s %9s | %16s %3s %16s | %9s %9s %8s\n", "", "probes", "methods", "calls/s", "expected", "reckoned",
		"slower", "n", "left alone", "expected", "covered", "samples")
	for _, one := range r.Results {
		slower, within := one.slower()
		alone, off := spread.Mean(one.Alone)
		fmt.Fprintf(w, "%-7s | %6d %7d %9.0f | %7.2f%% %8.2f%% | %+7.2f%% ± %4.2f%% %3d %+7.2f%% ± %4.2f%% | %8.1f%% %8.1f%% %8d\n", one.Program, one.Probes, one.Methods,
			one.CallsPerSecond, 100*one.Expected, 100*one.Reckoned, 100*slower, 100*within, len(one.Speeds), 100*(1/alone-1), 100*off,
			100*one.ExpectedCoverage, 100*one.Coverage, one.Samples)
	}
	fmt.Fprintln(w, `
expected, reckoned: what probes cost of the program's processor time, by the calls that were counted before and that they had;
slower: how much less the program does for its processor time than when it is left alone, both against an untouched twin, in n
windows; left alone: the same without probes. covered: share of samples in which a probed method stands above the leaf.`)
	for _, one := range r.Results {
		slower, within := one.slower()
		fmt.Fprintf(w, "%-7s probes make it %+.2f %% ± %.2f slower (budget %.1f %%): %s\n", one.Program, 100*slower, 100*within, 100*one.Budget, one.inBudget())
		verdict := no
		if one.isCovered() {
			verdict = yes
		}
		fmt.Fprintf(w, "%-7s they cover %.1f %% of the time above the leaf (at least %.0f %%): %s\n", one.Program, 100*one.Coverage, 100*leastCoverage, verdict)
		if len(one.Bare) > 0 {
			fmt.Fprintf(w, "%-7s not covered: %s\n", one.Program, strings.Join(one.Bare, "; "))
		}
	}
}
