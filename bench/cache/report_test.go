package main

import (
	"math"
	"testing"
)

// timesOf are rounds that take so many nanoseconds in each way.
func timesOf(rounds int, of func(round int) [ways]float64) (t times) {
	for round := range rounds {
		for way, nanos := range of(round) {
			t[way] = append(t[way], nanos)
		}
	}
	return t
}

func TestAClassIsDearerByItsMedians(t *testing.T) {
	classes := []class{{name: "small", file: make([]byte, 100)}, {name: "large", file: make([]byte, 900)}}
	h := judge(classes, oneMethod, []times{
		timesOf(41, func(int) [ways]float64 { return [ways]float64{woven: 2000, inSegment: 3500, inFile: 4000} }),
		timesOf(41, func(int) [ways]float64 { return [ways]float64{woven: 8000, inSegment: 1500, inFile: 6000} }),
	})
	segment, file := h.Whole[0], h.Whole[1]
	if segment.Dearer != 1 || segment.Surely != 1 || segment.Worst != 1.5 || segment.Share.Median != 0.5 {
		t.Errorf("%+v", segment)
	}
	if file.Dearer != 1 || file.Worst != 2 || file.Share.Median != 1 {
		t.Errorf("%+v", file)
	}
	if h.Worst[0].Class != "small" || h.Worst[1].Class != "large" {
		t.Errorf("%+v", h.Worst)
	}
	if r := (&report{Hooks: []hooked{h}}); r.allMet() {
		t.Error("the bar is met")
	}
}

// TestChanceIsNoVerdict: a class for which both cost the same, but for noise.
func TestChanceIsNoVerdict(t *testing.T) {
	same := timesOf(41, func(round int) [ways]float64 {
		noise := 1000 * math.Sin(float64(round*round))
		return [ways]float64{woven: 5000, inSegment: 5001 + noise, inFile: 4000}
	})
	if isSurely(same[inSegment], same[woven]) {
		t.Error("noise counts as dearer")
	}
	if !isSurely(same[woven], same[inFile]) {
		t.Error("what is always dearer does not count")
	}
}
