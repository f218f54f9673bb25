package main

import (
	"testing"
	"time"
)

// TestSharesAreOfWindows: a program does 100 operations for a second of processor time
// and then 90, its twin 100 throughout.
func TestSharesAreOfWindows(t *testing.T) {
	begin := time.Unix(1000, 0)
	track := []reading{{at: begin}}
	for i := range 20 {
		last := track[len(track)-1]
		speed := 100.0
		if i >= 10 {
			speed = 90
		}
		track = append(track, reading{
			last.at.Add(every), progress{last.touched.done + speed*every.Seconds(), last.touched.cpu + every}, progress{last.twin.done + 100*every.Seconds(), last.twin.cpu + every},
		})
	}
	isNear := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	shares := sharesOf(track, begin, begin.Add(time.Minute))
	if len(shares) != 4 || !isNear(shares[0], 1) || !isNear(shares[3], 0.9) {
		t.Errorf("%v", shares)
	}
	if shares := sharesOf(track, begin.Add(time.Minute), begin.Add(time.Hour)); len(shares) > 0 {
		t.Errorf("of nothing: %v", shares)
	}
}

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
