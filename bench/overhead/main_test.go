package main

import (
	"testing"

	"github.com/sonde-jvm/sonde/bench/harness"
)

func TestBarsAreHeldAgainstWhatWasMeasured(t *testing.T) {
	r := &result{Report: &harness.Report{}, modes: modes, attached: attached{phases: []float64{0.1}, mean: 0.1, within: 0.1, agentCPU: 0.2}}
	nanos := make(map[string]float64)
	for _, m := range modes {
		for _, shape := range m.allShapes() {
			nanos[key(m.name, shape)] = map[string]float64{
				modeBare: 2, modeClocks: 82, modeFlat: 102, modeTree: 122, modeSampled: 12, modeOutside: 3,
			}[m.name]
		}
	}
	r.rounds = append(r.rounds, nanos)
	r.allocated = map[string]int64{key(modeBare, "Leaf"): 16, key(modeFlat, "Leaf"): 16}
	r.judge()
	// Trees cost 120 where two readings cost 80.
	if met, missed := r.Count(harness.Met), r.Count(harness.Missed); met+missed != 17 || missed != len(nested) {
		t.Errorf("%d bars are met and %d missed, want 17 in all and %d missed", met, missed, len(nested))
	}
}
