package profile

import (
	"testing"
	"time"
)

// TestAPeekGoesOnWhereDumpsAreSlow checks when sampling ends, by what was seen.
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
		{fewSeen, usualPeek, false},
		{enoughSeen, usualPeek, true},
		{promising, maxPeek, true},
	} {
		if over := (&peek{seen: c.seen}).isOver(c.took); over != c.over {
			t.Errorf("with %d stacks seen in %v it is over: %v", c.seen, c.took, over)
		}
	}
}

// TestFewStacksMakeAClassLookHotter compares classes on the same part of few and many
// stacks.
func TestFewStacksMakeAClassLookHotter(t *testing.T) {
	heat := func(stacks, hit int) float64 {
		p := &peek{}
		for i := range stacks {
			stack := map[string]bool{"Other": true}
			if i < hit {
				stack["Hot"] = true
			}
			p.running = append(p.running, stack)
		}
		return p.heat(map[string]bool{"Hot": true})
	}
	for _, c := range []struct{ stacks, hit int }{{20, 0}, {200, 0}, {20, 2}, {200, 20}, {20, 20}} {
		got, seen := heat(c.stacks, c.hit), float64(c.hit)/float64(c.stacks)
		if got < seen || got > 1 {
			t.Errorf("seen on %d of %d stacks, its heat is %.3f", c.hit, c.stacks, got)
		}
	}
	if heat(20, 0) <= heat(200, 0) || heat(20, 2) <= heat(200, 20) {
		t.Error("few stacks count as much as many")
	}
	if many := heat(2000, 200); many > 0.11 {
		t.Errorf("on 200 of 2000 stacks, its heat is %.3f", many)
	}
}
