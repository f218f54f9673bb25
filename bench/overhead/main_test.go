package main

import "testing"

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
	if len(r.Bars) != 17 || missed != len(nested) || r.AllMet() {
		t.Errorf("%d of %d bars missed: %+v", missed, len(r.Bars), r.Bars)
	}
}
