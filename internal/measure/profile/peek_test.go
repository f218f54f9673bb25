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
		{fewSeen, usualPeek, false},
		{enoughSeen, usualPeek, true},
		{promising, mostPeek, true},
	} {
		if over := (&peek{seen: c.seen}).isOver(c.took); over != c.over {
			t.Errorf("with %d stacks seen in %v it is over: %v", c.seen, c.took, over)
		}
	}
}

// TestFewStacksMakeAClassLookHotter has a class on none, and on one in ten, of few stacks and of many.
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
		told, seen := heat(c.stacks, c.hit), float64(c.hit)/float64(c.stacks)
		if told < seen || told > 1 {
			t.Errorf("seen on %d of %d stacks it is said to be in %.3f", c.hit, c.stacks, told)
		}
	}
	if heat(20, 0) <= heat(200, 0) || heat(20, 2) <= heat(200, 20) {
		t.Error("few stacks are taken to say as much as many")
	}
	if many := heat(2000, 200); many > 0.11 {
		t.Errorf("of 2000 stacks 200 are told as %.3f", many)
	}
}
