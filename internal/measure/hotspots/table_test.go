package hotspots

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestTableByMethod(t *testing.T) {
	var s scene
	s.add(60, 1, jfr.Execution, jfr.Compiled, "A.main>A.work>B.leaf")
	s.add(20, 1, jfr.Execution, jfr.Interpreted, "A.main>B.leaf>A.work>B.leaf") // it recurs
	s.add(20, 2, jfr.Execution, jfr.Inlined, "A.main>A.work")
	table := s.table(nil)
	leaf, work, top := find(table, "B.leaf"), find(table, "A.work"), find(table, "A.main")
	if table.Samples != 100 || len(table.Methods) != 3 || table.Methods[0].Name != "leaf" {
		t.Fatalf("%+v", table.Methods)
	}
	if !near(leaf.Self.Part, 0.8) || !near(leaf.Total.Part, 0.8) || leaf.Samples != 80 || !near(leaf.Kinds["compiled"], 0.75) || !near(leaf.Kinds["interpreted"], 0.25) {
		t.Errorf("%+v", leaf)
	}
	if !near(work.Self.Part, 0.2) || !near(work.Total.Part, 1) || !near(top.Self.Part, 0) || !near(top.Total.Part, 1) || top.Samples != 0 {
		t.Errorf("%+v, %+v", work, top)
	}
	if !(leaf.Self.Low < 0.72 && leaf.Self.Low > 0.7 && leaf.Self.High > 0.86 && leaf.Self.High < 0.88) {
		t.Errorf("interval %+v", leaf.Self)
	}
	if len(leaf.Lines) != 3 || !near(leaf.Lines[0].Part, 0.5) || leaf.Lines[0].Line != 10 {
		t.Errorf("%+v", leaf.Lines)
	}
	if len(table.Threads) != 2 || table.Threads[0].JavaID != 1 || !near(table.Threads[0].Share.Part, 0.8) || table.Threads[0].Top.Name != "leaf" || table.Threads[0].CPU >= 0 {
		t.Errorf("%+v", table.Threads)
	}
}

func TestStacksAndTree(t *testing.T) {
	var s scene
	s.add(70, 1, jfr.Execution, jfr.Compiled, "A.main>A.one>B.leaf")
	s.add(25, 1, jfr.Execution, jfr.Compiled, "A.main>A.two>B.leaf")
	s.add(5, 2, jfr.Execution, jfr.Compiled, "A.main>A.three")
	table := s.table(nil)
	paths := table.Stacks()
	if len(paths) != 3 || !near(paths[0].Weight, 70) || paths[0].Methods[0].Name != "leaf" || paths[0].Methods[1].Name != "one" || paths[1].Samples != 25 {
		t.Errorf("%+v", paths)
	}
	tree := table.Tree(false)
	if top := tree.Top; !near(top.Total.Nanos, 100*float64(period)) || len(top.Children) != 1 || len(top.Children[0].Children) != 3 {
		t.Fatalf("%+v", tree)
	}
	main := tree.Top.Children[0]
	first := main.Children[0]
	if !near(first.Total.Nanos, 70*float64(period)) || first.Self.Nanos != 0 || first.Calls != 70 || first.Children[0].Timed != 70 || !near(first.Kinds["compiled"], 1) {
		t.Errorf("%+v", first)
	}
	var names []string
	for _, n := range main.Children {
		names = append(names, tree.Methods[n.Method].Name)
	}
	if !slices.Equal(names, []string{"one", "two", "three"}) {
		t.Errorf("%v", names)
	}
}

// TestNativeCodeIsWeighed checks the rule for threads that are in native code:
// their processor time says whether they run or wait there.
func TestNativeCodeIsWeighed(t *testing.T) {
	var s scene
	s.add(100, 1, jfr.Execution, jfr.Compiled, "A.java") // tells the unit: 20 ms
	s.add(100, 2, jfr.NativeCode, jfr.Native, "N.poll")  // seldom runs
	s.add(50, 3, jfr.NativeCode, jfr.Native, "N.crypt")  // runs all the time
	s.add(50, 4, jfr.NativeCode, jfr.Native, "sun/nio/ch/EPoll.wait")
	s.add(30, 5, jfr.NativeCode, jfr.Native, "N.idle")
	used := map[int64]time.Duration{1: 100 * period, 2: 10 * period, 3: 100 * period, 4: 5 * period, 5: 0}
	table := s.table(used)
	java, poll, crypt := find(table, "A.java"), find(table, "N.poll"), find(table, "N.crypt")
	if math.Abs(java.Self.Part-100.0/210) > 0.01 || math.Abs(poll.Self.Part-10.0/210) > 0.01 || math.Abs(crypt.Self.Part-100.0/210) > 0.01 {
		t.Errorf("%+v, %+v, %+v", java.Self, poll.Self, crypt.Self)
	}
	if table.Waiting != 80 || find(table, "sun/nio/ch/EPoll.wait").Method != nil || find(table, "N.idle").Method != nil {
		t.Errorf("%d wait, %+v", table.Waiting, table.Methods)
	}
	// Without the time all but those known to wait count.
	if table := s.table(nil); table.Waiting != 50 || !near(find(table, "N.poll").Self.Part, 100.0/280) {
		t.Errorf("%d wait, %+v", table.Waiting, table.Methods)
	}
}

// TestIdleThreadsOfDumps checks that a thread which a dump calls runnable, and
// which uses no time, does not count.
func TestIdleThreadsOfDumps(t *testing.T) {
	var s scene
	s.add(100, 1, jfr.Execution, jfr.UnknownKind, "A.java")
	s.add(100, 2, jfr.Execution, jfr.UnknownKind, "J.periodic")
	table := s.table(map[int64]time.Duration{1: 200 * period, 2: 0})
	if table.Samples != 100 || table.Waiting != 100 || !near(find(table, "A.java").Self.Part, 1) {
		t.Errorf("%d, %d, %+v", table.Samples, table.Waiting, table.Methods)
	}
}

func TestWindowSlides(t *testing.T) {
	w := NewWindow(time.Second)
	for second := range 20 {
		var s scene
		s.add(40, 1, jfr.Execution, jfr.Compiled, "A.m"+string(rune('a'+second)))
		for i := range s.samples {
			s.samples[i].At = s.samples[i].At.Add(time.Duration(second) * time.Second)
		}
		now := began.Add(time.Duration(second+1) * time.Second)
		w.Add(now, s.samples, period, map[int64]time.Duration{})
		table := w.Table(now)
		if second > 0 && (table.Samples < 40 || len(table.Methods) > 2 || table.Methods[0].Name != "m"+string(rune('a'+second))) {
			t.Fatalf("second %d: %d, %+v", second, table.Samples, table.Methods)
		}
	}
	if len(w.samples) > 6*40 || len(w.readings) > 8 {
		t.Errorf("keeps %d samples, %d readings", len(w.samples), len(w.readings))
	}
	if table := w.Table(began.Add(time.Hour)); table.Samples != 0 || len(table.Methods) != 0 {
		t.Errorf("an hour later: %d", table.Samples)
	}
}

// TestWindowBeginsWithNothing: samples may come late, so a first table has none, but its time is not negative.
func TestWindowBeginsWithNothing(t *testing.T) {
	w := NewWindow(10 * time.Second)
	w.Add(began, nil, period, nil)
	for _, after := range []time.Duration{0, time.Millisecond, lag, 2 * lag} {
		if table := w.Table(began.Add(after)); table.To.Before(table.From) || table.Samples != 0 {
			t.Errorf("%v after the beginning: %d samples in %v, want none in no negative time", after, table.Samples, table.To.Sub(table.From))
		}
	}
}

func TestSharesOfFew(t *testing.T) {
	if s := cct.ShareOf(0, 10, 10); s.Part != 0 || s.Low != 0 || s.High < 0.2 || s.High > 0.35 {
		t.Errorf("%+v", s)
	}
	if s := cct.ShareOf(10, 10, 10); s.Part != 1 || s.High != 1 || s.Low > 0.8 {
		t.Errorf("%+v", s)
	}
	if s := cct.ShareOf(1, 0, 0); s != (cct.Share{}) {
		t.Errorf("%+v", s)
	}
}

// A scene makes samples of stacks written as "outer>inner", each of its own
// pointers as two chunks of a recording have them.
type scene struct {
	samples []jfr.Sample
}

var began = time.Unix(1000, 0)

const period = 20 * time.Millisecond

func method(name string) *jfr.Method {
	class, member, _ := strings.Cut(name, ".")
	return &jfr.Method{Class: class, Name: member, Descriptor: "()V"}
}

func thread(id int64) *jfr.Thread {
	return &jfr.Thread{JavaID: id, OSID: 100 + id, Name: "thread " + string(rune('0'+id))}
}

// add takes n samples of a stack, a period apart.
func (s *scene) add(n int, id int64, source jfr.Source, kind jfr.FrameKind, stack string) {
	names := strings.Split(stack, ">")
	for i := range n {
		frames := make([]jfr.Frame, 0, len(names))
		for depth := len(names) - 1; depth >= 0; depth-- {
			frames = append(frames, jfr.Frame{Method: method(names[depth]), Line: 10 + i%2*(depth+1), Kind: kind})
		}
		s.samples = append(s.samples, jfr.Sample{
			At: began.Add(time.Duration(i+1) * period), Source: source, Thread: thread(id), Stack: &jfr.Stack{Frames: frames},
		})
	}
}

// table is what a window of ten seconds makes of the scene, with the processor
// time of threads in it.
func (s *scene) table(used map[int64]time.Duration) *Table {
	w := NewWindow(10 * time.Second)
	var before, after map[int64]time.Duration
	if used != nil {
		before, after = map[int64]time.Duration{}, map[int64]time.Duration{}
		for id, time := range used {
			before[id+100], after[id+100] = 7*period, 7*period+time
		}
	}
	w.Add(began, nil, period, before)
	w.Add(began.Add(10*time.Second), s.samples, period, after)
	return w.Table(began.Add(10 * time.Second))
}

func find(t *Table, name string) Method {
	for _, m := range t.Methods {
		if m.Class+"."+m.Name == name {
			return m
		}
	}
	return Method{}
}
