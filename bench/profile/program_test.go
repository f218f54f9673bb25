package main

import (
	"github.com/sonde-jvm/sonde/bench/harness"
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
	f, err := p.figure(c, plan{
		begin: 5 * time.Second, back: 15 * time.Second, end: 19 * time.Second, settle: 2 * time.Second, window: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !near(f.slower, 2) || f.rough {
		t.Errorf("slower %v (rough: %v), want 2", f.slower, f.rough)
	}
	if s := harness.SpreadOf(f.windows); !near(s.Median, 2) || len(f.windows) < 3 {
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
	if f.drift != (share{}) {
		t.Errorf("drifted by %+v", f.drift)
	}
}

// TestWindowsInWhichHooksGoInDoNotCount has hooks go in once more in the middle of
// the time that counts, for which the program stands still.
func TestWindowsInWhichHooksGoInDoNotCount(t *testing.T) {
	var steps []int64
	steps = append(steps, repeat(50, 100)...)
	steps = append(steps, repeat(20, 0)...)
	steps = append(steps, repeat(50, 100)...)
	p := pair{tracked(steps...), tracked(repeat(120, 100)...)}
	c := &course{woven: 0, grew: []time.Duration{0, 6 * time.Second}}
	all := p.shares(0, 12*time.Second, time.Second, c.weaving(2*time.Second))
	for _, s := range all {
		if !near(s.cpu, 1) {
			t.Errorf("a window has %+v", s)
		}
	}
	if len(all) < 6 || len(all) > 9 {
		t.Errorf("%d windows count", len(all))
	}
}

// TestFigureWithoutAWholeRound has rounds that outlast the time with hooks in.
func TestFigureWithoutAWholeRound(t *testing.T) {
	var steps []int64
	steps = append(steps, repeat(50, 100)...)
	steps = append(steps, repeat(40, 10)...)
	steps = append(steps, repeat(60, 100)...)
	p := pair{tracked(steps...), tracked(repeat(150, 100)...)}
	for i := 40; i < 120; i++ {
		p.touched[i].rounds = p.touched[40].rounds
	}
	p.touched = p.touched[:112] // nor did it end later
	c := &course{began: 4 * time.Second, woven: 5 * time.Second, leaving: 9 * time.Second, gone: 9 * time.Second}
	if during, err := p.cut(c.woven, c.leaving); err != nil || !near(during.wall, 0.1) {
		t.Errorf("%+v, %v", during, err)
	}
	if during, err := p.share(c.woven, c.leaving); err == nil {
		t.Errorf("no round has ended, but it has %+v", during)
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
	for windows, want := range map[[3]float64]harness.Verdict{
		{1.009, 1.01, 1.011}: harness.Met, {1.00, 1.03, 1.05}: harness.Unclear, {1.049, 1.05, 1.051}: harness.Missed,
	} {
		r := row{figures: []*figure{{windows: windows[:]}}}
		if got := r.woven().judge(0.02); got != want {
			t.Errorf("%v: %s, want %s", windows, got, want)
		}
	}
	// Programs that drifted apart leave open what was lost.
	r := row{figures: []*figure{{all: 5 * time.Second, span: 100 * time.Second, drift: share{wall: 0.1, cpu: 0.001}, allCPU: 0.05}}}
	if clock, cpu := r.allTold(); clock.judge(0.02) != harness.Unclear || cpu.judge(0.02) != harness.Missed {
		t.Errorf("by the clock %s, by processor time %s", clock.judge(0.02), cpu.judge(0.02))
	}
}

func TestWarmIsWhatDoesNotChange(t *testing.T) {
	if got := tracked(repeat(300, 100)...).change(); !near(1+got, 1) {
		t.Errorf("a steady program changes by %v", got)
	}
	if got := tracked(append(repeat(200, 100), repeat(110, 150)...)...).change(); !near(got, 0.5) {
		t.Errorf("one that became faster by half changes by %v", got)
	}
	if got := tracked(repeat(100, 100)...).change(); !math.IsNaN(got) {
		t.Errorf("one that just began changes by %v", got)
	}
}
