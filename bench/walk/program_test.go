package main

import (
	"github.com/sonde-jvm/sonde/bench/harness"
	"math"
	"testing"
	"time"
)

var origin = time.Unix(1000, 0)

func second(n float64) time.Time { return origin.Add(time.Duration(n * float64(time.Second))) }

// tracked is a program that does so many operations in each second of processor time,
// and a twin that does 100.
func tracked(perSecond ...float64) harness.Track {
	all := harness.Track{{At: origin}}
	for _, n := range perSecond {
		for range 5 {
			last := all[len(all)-1]
			all = append(all, harness.Reading{
				At:      last.At.Add(harness.Every),
				Touched: harness.Progress{Done: last.Touched.Done + n/5, CPU: last.Touched.CPU + harness.Every},
				Twin:    harness.Progress{Done: last.Twin.Done + 20, CPU: last.Twin.CPU + harness.Every},
			})
		}
	}
	return all
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// TestFigure has hooks that go in within a second in which nothing is done, make the
// program half as fast once it has settled, in a second, and go out at once.
func TestFigure(t *testing.T) {
	all := tracked(100, 100, 100, 100, 0, 25, 50, 50, 50, 50, 100, 100, 100, 100, 100, 100)
	c := &course{span: harness.Span{From: second(4), Until: second(10)}, disturbed: []disturbance{
		{harness.Span{From: second(4), Until: second(5)}, true}, {span: harness.Span{From: second(10), Until: second(10)}},
	}}
	f, plain, err := figureOf(all, c, harness.Span{From: second(0), Until: second(4)}, harness.Span{From: second(12), Until: second(16)}, time.Second)
	if err != nil || !near(plain, 1) || len(f.speeds) != 2 || !near(f.speeds[0], 0.5) {
		t.Fatalf("%+v, %v, %v", f, plain, err)
	}
	// A second before the hooks were in; then half a second of what is done with them.
	if !near(f.lost.Seconds(), 1.5) {
		t.Errorf("lost %v, want 1.5 s", f.lost)
	}
	// In all, hooks cost two seconds more, and a quarter of that in which it settled.
	if !near(f.all.Seconds(), 3.75) {
		t.Errorf("lost %v in all, want 3.75 s", f.all)
	}
}
