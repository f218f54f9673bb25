package main

import (
	"math"
	"testing"
	"time"
)

// tracked is a program that says every 100 ms what it did: so many operations in
// each, a round for each operation.
func tracked(operations ...int64) track {
	all := track{{}}
	for i, n := range operations {
		last := all[len(all)-1]
		at := time.Duration(i+1) * 100 * time.Millisecond
		all = append(all, sample{at, last.done + n, at, last.rounds + n})
	}
	return all
}

func repeat(n int, operations int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = operations
	}
	return all
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.02*math.Abs(b)+1e-9 }

// TestFigure has a program that stands still for a second while hooks go in, runs
// at half speed with them, and for a second after them, while its twin goes on.
func TestFigure(t *testing.T) {
	var steps []int64
	steps = append(steps, repeat(50, 100)...) // before: 5 s
	steps = append(steps, 1)
	steps = append(steps, repeat(8, 0)...)
	steps = append(steps, 1)                  // hooks go in: 1 s
	steps = append(steps, repeat(60, 50)...)  // with hooks: 6 s
	steps = append(steps, repeat(10, 50)...)  // out: 1 s
	steps = append(steps, repeat(70, 100)...) // after: 7 s
	p := pair{tracked(steps...), tracked(repeat(200, 50)...)}
	c := &course{began: 5 * time.Second, woven: 6 * time.Second, leaving: 12 * time.Second, gone: 13 * time.Second}
	f, err := p.figure(c, 0, 5*time.Second, 15*time.Second, 19*time.Second, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if !near(f.slower, 2) {
		t.Errorf("slower %v, want 2", f.slower)
	}
	if s := spreadOf(f.windows); !near(s.median, 2) || len(f.windows) < 3 {
		t.Errorf("windows %v, want about 2", f.windows)
	}
	for _, lost := range []struct {
		name string
		got  time.Duration
		want float64
	}{{"in", f.in, 1}, {"out", f.out, 0.5}, {"all", f.all, 4.5}} {
		if math.Abs(lost.got.Seconds()-lost.want) > 0.12 {
			t.Errorf("lost %s %v, want %v s", lost.name, lost.got, lost.want)
		}
	}
	if f.disturbed != 0 {
		t.Errorf("drifted by %v", f.disturbed)
	}
}

// TestPaceTakesWholeRounds has rounds that do all their operations at their end.
func TestPaceTakesWholeRounds(t *testing.T) {
	var all track
	for i := range 40 {
		at := time.Duration(i) * 100 * time.Millisecond
		rounds := int64(i / 10)
		all = append(all, sample{at, 100 * rounds, at, rounds})
	}
	for _, ends := range [][2]time.Duration{{500, 3500}, {900, 3100}, {1200, 1800}} {
		got, err := all.pace(ends[0]*time.Millisecond, ends[1]*time.Millisecond)
		if err != nil || !near(got.wall, 100) || !near(got.cpu, 100) {
			t.Errorf("%v: %+v, %v; want 100 operations a second", ends, got, err)
		}
	}
	if got, err := all.pace(3200*time.Millisecond, 3900*time.Millisecond); err == nil {
		t.Errorf("with no round's end after it: %+v", got)
	}
}

func TestParseSample(t *testing.T) {
	got, err := parseSample("at 5 6 7 8")
	if err != nil || got != (sample{5, 6, 7, 8}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := parseSample("at 5 6"); err == nil {
		t.Errorf("%+v", got)
	}
}

func TestVerdict(t *testing.T) {
	for windows, want := range map[[3]float64]string{
		{1.00, 1.01, 1.015}: "inside", {1.00, 1.03, 1.05}: "within noise of", {1.04, 1.05, 1.06}: "OUTSIDE",
	} {
		r := row{figures: []*figure{{windows: windows[:]}}}
		if got := r.judge(0.02); got != want {
			t.Errorf("%v: %s, want %s", windows, got, want)
		}
	}
}
