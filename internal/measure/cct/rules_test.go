package cct

import (
	"math"
	"testing"
	"time"
)

func TestCallsUnderWayCountAsEndedNow(t *testing.T) {
	p := newProgram(1)
	p.enter(10)
	p.work(1000)
	p.enter(11)
	p.work(300)
	p.exit()
	p.work(500)
	p.enter(11)
	p.work(200)
	profile := Build(p.input(1))
	outer, inner := find(t, profile, "k"), find(t, profile, "k", "l")
	if outer.Running != 1 || inner.Running != 1 || outer.Timed != 1 || inner.Timed != 2 {
		t.Errorf("running %d and %d, timed %d and %d", outer.Running, inner.Running, outer.Timed, inner.Timed)
	}
	if outer.Self.Nanos != 1500 || inner.Self.Nanos != 500 || outer.Total.Nanos != 2000 {
		t.Errorf("self %g and %g, total %g", outer.Self.Nanos, inner.Self.Nanos, outer.Total.Nanos)
	}
}

func TestWhatSondeTookIsLostAndNoSelfTime(t *testing.T) {
	in := Input{
		Threads: []RawThread{{ID: 9, Root: 1, Nodes: []Raw{
			{Ref: 2, Parent: 1, ID: 10, Calls: 4, Timed: 4, Self: 5000, Nanos: 8000},
			{Ref: 3, Parent: 2, ID: 2, Nanos: 3000, Calls: 1, Timed: 1, Self: 3000},
			{Ref: 4, Parent: 1, ID: 1, Calls: 1000, Timed: 1000, Self: 1e6, Nanos: 1e6},
			{Ref: 5, Parent: 4, ID: 10, Calls: 7},
		}}},
		Now: 1e9, CalibrationID: 1, AdjustmentID: 2, Pauses: []Pause{{9, 2, 1000}, {8, 2, 77}},
		Calibration: Calibration{Outer: Span{50, 50, 50}},
	}
	p := Build(in)
	n := find(t, p, "method #10")
	if n.Lost != 4*time.Microsecond || n.Self.Nanos != 4000 || n.Raw != 5000 || n.Calls != 4 || len(n.Children) != 0 {
		t.Errorf("node: %+v", n)
	}
	if len(p.Methods) != 1 || len(p.Merged.Children) != 1 {
		t.Errorf("what calibrates is in the result: %+v", p.Methods)
	}
}

func TestErrorsOfCalibrationAreStated(t *testing.T) {
	in := Input{
		Threads: []RawThread{{Root: 1, Nodes: []Raw{
			{Ref: 2, Parent: 1, ID: 10, Calls: 10, Timed: 10, Self: 200_000},
			{Ref: 3, Parent: 2, ID: 11, Calls: 1000, Timed: 1000, Self: 38_000},
			{Ref: 4, Parent: 2, ID: 12, Calls: 100},
		}}},
		Counted: map[uint32]bool{12: true},
		Calibration: Calibration{
			Inner: Span{30, 28, 33}, Outer: Span{40, 38, 44}, Count: Span{2, 1, 3}, Overlap: 10,
		},
	}
	p := Build(in)
	parent, tiny, counted := find(t, p, "method #10"), find(t, p, "method #10", "method #11"), find(t, p, "method #10", "method #12")
	if want := 200_000.0 - 10*30 - 1000*40 - 100*2; parent.Self.Nanos != want {
		t.Errorf("self %g, want %g", parent.Self.Nanos, want)
	}
	if want := 200_000.0 - 10*(33+10) - 1000*(44*(1+calleeDoubt)+10+movable) - 100*3*countMost; parent.Self.Low != want {
		t.Errorf("low %g, want %g", parent.Self.Low, want)
	}
	if want := 200_000.0 - 10*28 - 1000*38*(1-calleeDoubt) - 100*1*countLeast; parent.Self.High != want {
		t.Errorf("high %g, want %g", parent.Self.High, want)
	}
	if (tiny.Self != Time{8000, 0, 10_000 + 1000*movable}) {
		t.Errorf("tiny calls: %+v", tiny.Self)
	}
	if counted.Known() || (counted.Self != Time{}) {
		t.Errorf("counted calls: %+v", counted.Self)
	}
}

// TestFewSamples: one call says nothing of the others, none says nothing at all;
// only that a thread cannot have spent more time than has passed.
func TestFewSamples(t *testing.T) {
	in := Input{
		Threads: []RawThread{{Root: 1, Nodes: []Raw{
			{Ref: 2, Parent: 1, ID: 10, Calls: 100, Timed: 1, Self: 500, Squares: 250_000, Born: 1000},
			{Ref: 3, Parent: 2, ID: 11, Calls: 3, Born: 2000},
		}}},
		Now: 1_000_000,
	}
	p := Build(in)
	one, none := find(t, p, "method #10"), find(t, p, "method #10", "method #11")
	if (one.Self != Time{50_000, 0, 999_000}) || !one.Estimated() {
		t.Errorf("one of a hundred: %+v", one.Self)
	}
	if (none.Self != Time{0, 0, 998_000}) || none.Known() {
		t.Errorf("none of three: %+v", none.Self)
	}
	if (one.Total != Time{50_000, 0, 999_000}) {
		t.Errorf("total: %+v", one.Total)
	}
	in.Now = 0
	if self := find(t, Build(in), "method #10").Self; !math.IsInf(self.High, 1) {
		t.Errorf("without a clock: %+v", self)
	}
}

func TestLateNodes(t *testing.T) {
	in := Input{
		Threads: []RawThread{{Root: 1, Nodes: []Raw{
			{Ref: 2, Parent: 1, ID: 10, Calls: 9, Timed: 9, Missed: 1, Born: 100},
			{Ref: 3, Parent: 2, ID: 11, Calls: 3, Timed: 3, Born: 300},
			{Ref: 4, Parent: 2, ID: 12, Calls: 3, Timed: 3, Born: 300},
			{Ref: 5, Parent: 3, ID: 13, Calls: 3, Timed: 3, Born: 300},
		}}},
		RootsOnAt: 50, HookedAt: map[uint32]int64{11: 200, 12: 90, 13: 250},
	}
	p := Build(in)
	for _, tt := range []struct {
		late bool
		path []string
	}{
		{false, []string{"method #10"}},
		{true, []string{"method #10", "method #11"}},
		{false, []string{"method #10", "method #12"}},               // had its hook before the caller began
		{false, []string{"method #10", "method #11", "method #13"}}, // its caller waited
	} {
		if n := find(t, p, tt.path...); n.Late != tt.late {
			t.Errorf("%v: late is %v", tt.path, n.Late)
		}
	}
}

// TestDamagedTreesEnd: whoever may write the arena may write anything.
func TestDamagedTreesEnd(t *testing.T) {
	in := Input{
		Threads: []RawThread{{Root: 1, Nodes: []Raw{
			{Ref: 2, Parent: 3, ID: 10, Calls: 1}, {Ref: 3, Parent: 2, ID: 11, Calls: 1},
			{Ref: 4, Parent: 1, ID: 12, Calls: 1}, {Ref: 4, Parent: 4, ID: 13, Calls: 1},
			{Ref: 1, Parent: 1, ID: 14, Calls: 1},
		}, Stack: []Frame{{Node: 77, Start: 1, Drawn: true}}}},
		Now: 10,
	}
	p := Build(in)
	checkLaws(t, p)
	if len(p.Merged.Children) != 1 {
		t.Errorf("%d roots", len(p.Merged.Children))
	}
}

func TestStudent(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 31.821, 4: 3.747, 5: 3.365, 10: 2.764, 30: 2.457, 1000: 2.330} {
		if got := student(freedom); math.Abs(got-want) > 0.01 {
			t.Errorf("student(%g) = %.3f, want %.3f", freedom, got, want)
		}
	}
}
