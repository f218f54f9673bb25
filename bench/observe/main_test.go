package main

import (
	"testing"

	"github.com/sonde-jvm/sonde/bench/harness"
)

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		speeds []float64
		want   harness.Verdict
	}{
		{[]float64{0.99, 0.991, 0.99, 0.989}, harness.Met},
		{[]float64{0.97, 1.0, 0.97, 1.0}, harness.Met},
		{[]float64{0.95, 1.0, 0.95, 1.0}, harness.Unclear},
		{[]float64{0.9, 0.9, 0.91, 0.9}, harness.Missed},
	} {
		r := &result{Speeds: test.speeds, Budget: 0.02}
		if got := r.inBudget(); got != test.want {
			t.Errorf("%v: %s, want %s", test.speeds, got, test.want)
		}
	}
}
