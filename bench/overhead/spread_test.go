package main

import (
	"math"
	"testing"
)

func TestQuantilesLieBetweenTheirNeighbours(t *testing.T) {
	if s := spreadOf([]float64{4, 1, 3, 2, 5}); s != (spread{3, 2, 4}) {
		t.Errorf("%+v", s)
	}
	if q := quantile([]float64{1, 2}, 0.25); q != 1.25 {
		t.Errorf("a quarter of the way from 1 to 2 is %v", q)
	}
	if q := quantile(nil, 0.5); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %v", q)
	}
}

func TestAMeanKnowsHowWellItIsKnown(t *testing.T) {
	average, within := mean([]float64{1, 2, 3})
	if average != 2 || math.Abs(within-4.303/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%v within %v", average, within)
	}
	if _, within := mean([]float64{1}); !math.IsInf(within, 1) {
		t.Errorf("one value is known within %v", within)
	}
	for freedom, want := range map[int]float64{1: 12.706, 10: 2.228, 11: 2.201, 30: 2.042, 1000: 1.962} {
		if have := student(freedom); math.Abs(have-want) > 0.03 {
			t.Errorf("student(%d) is %v, not %v", freedom, have, want)
		}
	}
}

func TestBarsAreHeldAgainstWhatWasMeasured(t *testing.T) {
	r := &report{modes: modes, Attached: attached{Phases: []float64{0.1}, Mean: 0.1, Within: 0.1, AgentCPU: 0.2}}
	nanos := make(map[string]float64)
	for _, m := range modes {
		for _, shape := range m.allShapes() {
			nanos[key(m.name, shape)] = map[string]float64{
				modeBare: 2, modeClocks: 82, modeFlat: 102, modeTree: 122, modeSampled: 12, modeOutside: 3,
			}[m.name]
		}
	}
	r.Rounds = append(r.Rounds, nanos)
	r.Allocated = map[string]int64{key(modeBare, "Leaf"): 16, key(modeFlat, "Leaf"): 16}
	r.judge()
	missed := 0
	for _, b := range r.Bars {
		if !b.Met {
			missed++
		}
	}
	// Trees cost 120 where two readings cost 80.
	if len(r.Bars) != 17 || missed != len(nested) || r.allMet() {
		t.Errorf("%d of %d bars missed: %+v", missed, len(r.Bars), r.Bars)
	}
}
