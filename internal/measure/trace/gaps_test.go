package trace

import "testing"

// TestGapsTellWhatHooksTake has calls follow each other at once, as hooks let them.
func TestGapsTellWhatHooksTake(t *testing.T) {
	const inner, outer, own, calls = 30, 110, 100, 1000
	for name, check := range map[string]struct {
		pause            uint64 // what the caller does between calls
		calibrated, want float64
	}{
		"close":                    {0, 60, outer},
		"far apart":                {5000, 60, 60},
		"longer than is plausible": {200, 60, 60},
		"not calibrated":           {0, 0, 0},
		"calibrated as longer":     {0, 120, 120},
	} {
		a := NewAssembler(Options{Names: generatedNames{}, Cost: Cost{inner, check.calibrated}})
		clock := uint64(1000)
		for range calls {
			a.Add(1, call(5, 1, clock, inner+own))
			clock += inner + own + outer + check.pause
		}
		a.Add(1, call(5, 0, 1000-inner, clock-1000+inner))
		tx := a.Take(2 * clock)[0]
		cost := a.Cost()
		if cost != (Cost{inner, check.want}) {
			t.Errorf("%s: cost %+v, want outer %v", name, cost, check.want)
		}
		tx.TakeOff(cost)
		if got, want := float64(tx.Root.Self), max(0, float64(check.pause)+outer-check.want)*calls; got < want-1 || got > want+1 {
			t.Errorf("%s: own time %v, want %v", name, got, want)
		}
	}
}
