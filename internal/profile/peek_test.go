package profile

import (
	"testing"
	"time"
)

// TestAPeekGoesOnWhereDumpsAreSlow has a look see enough, little, and next to nothing.
func TestAPeekGoesOnWhereDumpsAreSlow(t *testing.T) {
	for _, c := range []struct {
		seen int
		took time.Duration
		over bool
	}{
		{0, time.Second, false},
		{enoughSeen, time.Second, true},
		{fewSeen, time.Second, false},
		{promising - 1, usualPeek, true},
		{promising, usualPeek, false},
		{fewSeen, usualPeek, true},
		{promising, mostPeek, true},
	} {
		if over := (&peek{seen: c.seen}).isOver(c.took); over != c.over {
			t.Errorf("with %d stacks seen in %v it is over: %v", c.seen, c.took, over)
		}
	}
}
