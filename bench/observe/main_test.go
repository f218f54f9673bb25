package main

import "testing"

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		speeds []float64
		want   string
	}{
		{[]float64{0.99, 0.991, 0.99, 0.989}, yes},
		{[]float64{0.97, 1.0, 0.97, 1.0}, yes + " (" + noise + ")"},
		{[]float64{0.95, 1.0, 0.95, 1.0}, noise},
		{[]float64{0.9, 0.9, 0.91, 0.9}, no},
	} {
		r := &result{Speeds: test.speeds, Budget: 0.02}
		if got := r.inBudget(); got != test.want {
			t.Errorf("%v: %s, want %s", test.speeds, got, test.want)
		}
	}
}
