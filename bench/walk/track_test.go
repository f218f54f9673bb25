package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

var origin = time.Unix(1000, 0)

func second(n float64) time.Time { return origin.Add(time.Duration(n * float64(time.Second))) }

// tracked is a program that does so many operations in each second of processor time,
// and a twin that does 100.
func tracked(perSecond ...float64) track {
	all := track{{at: origin}}
	for _, n := range perSecond {
		for range 5 {
			last := all[len(all)-1]
			all = append(all, reading{
				last.at.Add(every), progress{last.touched.done + n/5, last.touched.cpu + every}, progress{last.twin.done + 20, last.twin.cpu + every},
			})
		}
	}
	return all
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestSharesAreOfWindows(t *testing.T) {
	shares := tracked(100, 100, 50, 50).shares(span{second(0), second(4)})
	if len(shares) != 2 || !near(shares[0], 1) || !near(shares[1], 0.5) {
		t.Errorf("%v", shares)
	}
}

func TestLostIsTimeThatBroughtNothing(t *testing.T) {
	if lost := tracked(100, 0, 50, 100).lost(span{second(0), second(4)}, 1); !near(lost.Seconds(), 1.5) {
		t.Errorf("lost %v, want 1.5 s", lost)
	}
}

func TestWithoutTakesSpansOut(t *testing.T) {
	cut := union([]span{{second(2), second(3)}, {second(2.5), second(4)}, {second(9), second(12)}})
	want := []span{{second(0), second(2)}, {second(4), second(9)}}
	if got := (span{second(0), second(10)}).without(cut); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFigure has hooks that go in within a second in which nothing is done, make the
// program half as fast once it has settled, in a second, and go out at once.
func TestFigure(t *testing.T) {
	all := tracked(100, 100, 100, 100, 0, 25, 50, 50, 50, 50, 100, 100, 100, 100, 100, 100)
	c := &course{span: span{second(4), second(10)}, disturbed: []disturbance{
		{span{second(4), second(5)}, true}, {span: span{second(10), second(10)}},
	}}
	f, plain, err := all.figure(c, span{second(0), second(4)}, span{second(12), second(16)}, time.Second)
	if err != nil || !near(plain, 1) || len(f.speeds) != 2 || !near(f.speeds[0], 0.5) {
		t.Fatalf("%+v, %v, %v", f, plain, err)
	}
	// A second before the hooks were in; then half a second of what is done with them.
	if !near(f.lost.Seconds(), 1.5) {
		t.Errorf("lost %v, want 1.5 s", f.lost)
	}
	// All told, hooks cost two seconds more, and a quarter of that in which it settled.
	if !near(f.all.Seconds(), 3.75) {
		t.Errorf("lost %v in all, want 3.75 s", f.all)
	}
}
