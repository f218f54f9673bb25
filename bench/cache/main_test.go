package main

import "testing"

// timesOf returns rounds that take the same time each.
func timesOf(rounds int, nanos [ways]float64) (t times) {
	for range rounds {
		for way := range nanos {
			t[way] = append(t[way], nanos[way])
		}
	}
	return t
}

func TestClassesAreComparedByTheirMedians(t *testing.T) {
	classes := []class{{name: "small", file: make([]byte, 100)}, {name: "large", file: make([]byte, 900)}}
	h := judge(classes, oneMethod, []times{
		timesOf(41, [ways]float64{woven: 2000, found: 3500}),
		timesOf(41, [ways]float64{woven: 8000, found: 1500}),
	})
	if h.Slower != 1 || h.Share.Median != 0.5 {
		t.Errorf("%+v", h)
	}
	if h.Worst[0].Class != "small" || h.Worst[1].Class != "large" {
		t.Errorf("%+v", h.Worst)
	}
}
