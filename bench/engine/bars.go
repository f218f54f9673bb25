package main

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// bar is a ratio that has to be reached. The ratio is the median over rounds of
// ours to theirs in the same round, run one after the other.
type bar struct {
	Ours, Theirs string
	Least        float64
	Ratio        float64
	Low, High    float64 // of single rounds
	CPURatio     float64 // the same by processor time; it decides nothing
	Met          bool
}

func judge(results []result) []bar {
	bars := []bar{
		{Ours: ourLift, Theirs: asmVisit, Least: 1.5},
		{Ours: ourWeave, Theirs: asmPlain, Least: 2},
		{Ours: ourWeave, Theirs: asmAdvice, Least: 3},
	}
	for i := range bars {
		b := &bars[i]
		ours, theirs := find(results, b.Ours), find(results, b.Theirs)
		ratios := paired(ours.Rounds, theirs.Rounds)
		b.Ratio, b.Low, b.High = spread.Median(ratios), slices.Min(ratios), slices.Max(ratios)
		b.CPURatio = spread.Median(paired(ours.CPURounds, theirs.CPURounds))
		b.Met = b.Ratio >= b.Least
	}
	return bars
}

func paired(ours, theirs []float64) []float64 {
	ratios := make([]float64, len(ours))
	for round := range ours {
		ratios[round] = ours[round] / theirs[round]
	}
	return ratios
}

func find(results []result, name string) result {
	for _, r := range results {
		if r.Name == name {
			return r
		}
	}
	panic(fmt.Sprintf("bench/engine: nothing measured is called %q", name))
}

// scaling weaves on 1, 2, … goroutines, in turn within each round.
func scaling(classes [][]byte, template *weave.Template, o options) ([]result, error) {
	var ways []way
	for workers := 1; workers <= runtime.NumCPU(); workers++ {
		ways = append(ways, way{fmt.Sprint(workers), func() (sample, error) {
			return weaveRound(classes, template, workers)
		}})
	}
	o.warm = 1
	return runRounds(ways, o)
}
