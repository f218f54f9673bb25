package overhead

import (
	"math"
	"testing"
	"time"
)

func TestShares(t *testing.T) {
	begin := time.Unix(100, 0)
	var s Shares
	for _, test := range []struct {
		until, elapsed, hooks, whole time.Duration
		recent, largest              float64
	}{
		{time.Second, time.Second, 100 * time.Millisecond, time.Second, 0.01, 0.01}, // before, there were no hooks
		{2 * time.Second, time.Second, 300 * time.Millisecond, time.Second, 0.04, 0.04},
		{10 * time.Second, 8 * time.Second, 0, 8 * time.Second, 0.04, 0.04},
		{12 * time.Second, 2 * time.Second, 0, 2 * time.Second, 0, 0.04}, // what was ten seconds ago no longer counts
		{12 * time.Second, 0, 0, 0, 0, 0.04},
	} {
		if got := s.Add(begin.Add(test.until), test.elapsed, test.hooks, test.whole); math.Abs(got-test.recent) > 1e-9 || math.Abs(s.Largest()-test.largest) > 1e-9 {
			t.Errorf("%v: got %v and %v, want %v and %v", test.until, got, s.Largest(), test.recent, test.largest)
		}
	}
}
