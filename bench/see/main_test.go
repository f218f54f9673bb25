package main

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

const collapsed = "[worker tid=7];java/lang/Thread.run()V_[0];A.f(Ljava/lang/String|)V_[j];A.f(Ljava/lang/String|)V_[i] 6\n" +
	"[worker tid=7];java/lang/Thread.run()V_[0];A$$Lambda.0x00007f.g()V_[1];vtable stub 2\n" +
	"[worker tid=7];java/lang/Thread.run()V_[0];A.h()V_[1];libjvm.so`JVM_Now(int, long) 1\n" +
	"[worker tid=7];[break_stack_range];A.h()V_[1];schedule_[k] 1\n" +
	"[worker tid=7];libc.so.6`clone3 5\n" +
	"[C2 CompilerThre tid=8];libc.so.6`clone3;libjvm.so`compile() 15\n"

// TestCollapsed reads what async-profiler writes.
func TestCollapsed(t *testing.T) {
	p := newProfile(false)
	if err := p.addCollapsed(strings.NewReader(collapsed)); err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]float64{"A.f(Ljava/lang/String;)V": 0.6, "A$$Lambda.g()V": 0.2, "(JVM)": 0.1, "(kernel)": 0.1} {
		if got := p.self.share(method); !near(got, want) {
			t.Errorf("self share of %s is %v, want %v", method, got, want)
		}
	}
	if got := p.total.share("java/lang/Thread.run()V"); !near(got, 1) {
		t.Errorf("of the complete stacks %v begin in Thread.run, want all", got)
	}
	if p.samples != 10 || !near(p.incomplete(), 0.1) || !near(p.inJVM(), 0.5) {
		t.Errorf("%d samples, %v incomplete, %v in the JVM; want 10, 0.1, 0.5", p.samples, p.incomplete(), p.inJVM())
	}
	for _, line := range []string{"no thread 3", "[t tid=1] 3", "[t tid=1];A.f()V_[0] many"} {
		if err := p.addCollapsed(strings.NewReader(line)); !errors.Is(err, errNotCollapsed) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestJavaOnly counts a waiting thread for the method in which it waits.
func TestJavaOnly(t *testing.T) {
	p := newProfile(true)
	if err := p.addCollapsed(strings.NewReader("[main tid=1];A.main([Ljava/lang/String|)V_[0];A.read()I_[0];libc.so.6`read;schedule_[k] 4")); err != nil {
		t.Fatal(err)
	}
	if got := p.self.share("A.read()I"); !near(got, 1) {
		t.Errorf("self share of A.read is %v, want 1", got)
	}
}

func TestSondesSamples(t *testing.T) {
	stack := func(frames ...jfr.Frame) *jfr.Stack { return &jfr.Stack{Frames: frames} }
	at := func(class, name, descriptor string, kind jfr.FrameKind) jfr.Frame {
		return jfr.Frame{Method: &jfr.Method{Class: class, Name: name, Descriptor: descriptor}, Kind: kind}
	}
	run, f := at("java/lang/Thread", "run", "()V", jfr.Interpreted), at("A$$Lambda+0x0000", "f", "()V", jfr.C2)
	worker := &jfr.Thread{Name: "worker"}
	p := newProfile(false)
	p.addSonde([]jfr.Sample{
		{Thread: worker, Stack: stack(f, run)},
		{Thread: worker, Stack: stack(at("kernel", "vfs_read", "", jfr.Kernel), f, run), Period: 3 * time.Millisecond},
		{Thread: worker, Stack: stack(at("kernel", "arch_do_signal_or_restart", "", jfr.Kernel), f, run)},
		{Thread: worker, Stack: stack(at("libasyncProfiler.so", "", "", jfr.Library), f, run)},
	}, time.Millisecond)
	if p.samples != 2 || p.interrupts != 2 || !near(p.self.share("A$$Lambda.f()V"), 0.25) || !near(p.self.share("(kernel)"), 0.75) || !near(p.self.count(), 1.6) {
		t.Errorf("%+v", p)
	}
}

// TestCompare has one method whose shares differ by chance, and one for which chance does not suffice.
func TestCompare(t *testing.T) {
	tallyOf := func(a, b, c int) *tally {
		all := &tally{methods: map[string]float64{}}
		for method, n := range map[string]int{"a": a, "b": b, "c": c} {
			for range n {
				all.add(1, map[string]bool{method: true})
			}
		}
		return all
	}
	rows := compare(tallyOf(500, 400, 100), tallyOf(520, 400, 80))
	if len(rows) != 3 || rows[0].method != "a" || !rows[0].isWithinError || !near(rows[0].sonde-rows[0].async, -0.02) {
		t.Errorf("%+v", rows)
	}
	// The standard deviation of a difference around 0.5 of 1,000 samples each is 0.0224.
	if rows := compare(tallyOf(465, 535, 0), tallyOf(535, 465, 0)); agreeing(rows) != "0 of 2" {
		t.Errorf("%+v", rows)
	}
}

// TestReadTree has a root with a hook. It calls a method with a hook, and one that only samples show, which calls itself and waits.
func TestReadTree(t *testing.T) {
	time := func(nanos, wrong float64) cct.Time {
		return cct.Time{Nanos: nanos, Low: nanos - wrong, High: nanos + wrong}
	}
	inner := &cct.Node{Method: 2, Sampled: true, Self: time(30, 20), Total: time(30, 20), Waits: []cct.Wait{{For: "monitor", Time: time(10, 10)}}}
	outer := &cct.Node{Method: 2, Sampled: true, Self: time(10, 8), Total: time(40, 25), Waits: inner.Waits, Children: []*cct.Node{inner}}
	callee := &cct.Node{Method: 1, Calls: 5, Self: time(20, 2), Total: time(20, 2)}
	root := &cct.Node{Method: 0, Calls: 1, Split: true, Self: time(40, 9), Total: time(100, 4), Waits: inner.Waits, Children: []*cct.Node{outer, callee}}
	p := &cct.Profile{
		Methods: []cct.Method{{Class: "A", Name: "root", Descriptor: "()V"}, {Class: "A", Name: "f", Descriptor: "()V"}, {Class: "A", Name: "g", Descriptor: "()V"}},
		Merged:  &cct.Node{Method: -1, Children: []*cct.Node{root}},
	}
	var found tree
	self, total := found.read(p)
	for _, tt := range []struct {
		method                        string
		self, selfWrong, total, wrong float64
		hasHook                       bool
	}{
		{"A.root()V", 40, 0, 90, 4, true},
		{"A.f()V", 20, 2, 20, 2, true},
		{"A.g()V", 30, 0, 30, 0, false},
	} {
		if got := [4]float64{self.methods[tt.method], self.stated[tt.method], total.methods[tt.method], total.stated[tt.method]}; got != [4]float64{tt.self, tt.selfWrong, tt.total, tt.wrong} || found.withHooks[tt.method] != tt.hasHook {
			t.Errorf("%s: %v, hook %v; want %+v", tt.method, got, found.withHooks[tt.method], tt)
		}
	}
	if self.uneven["A.g()V"] != 40*10 || self.uneven["A.f()V"] != 0 || total.uneven["A.g()V"] != 40*10 {
		t.Errorf("%v by self and %v by total; a sample below the root stands for 10", self.uneven, total.uneven)
	}
	if self.whole != 90 || total.whole != 90 || !near(found.hooked, 0.2) || found.depth != 3 {
		t.Errorf("whole %v and %v, %+v", self.whole, total.whole, found)
	}
}

// TestCompareUneven has a share that differs by a few samples of large weight.
func TestCompareUneven(t *testing.T) {
	for _, tt := range []struct {
		weight float64 // of a sample, of a whole of 1,000
		want   bool
	}{{1, false}, {40, true}} {
		sonde := &tally{methods: map[string]float64{"a": 80}, whole: 1000, squares: 1000, uneven: map[string]float64{"a": 80 * tt.weight}}
		async := &tally{methods: map[string]float64{"a": 10}, whole: 1000, squares: 1000}
		if rows := compare(sonde, async); rows[0].isWithinError != tt.want {
			t.Errorf("samples of %v: %+v", tt.weight, rows)
		}
	}
}

// TestCompareStated has a share that differs by more than chance, but not by more than is stated.
func TestCompareStated(t *testing.T) {
	for _, tt := range []struct {
		stated float64 // of a whole of 1,000
		want   string
	}{{0, "0 of 2"}, {1, "0 of 2"}, {10, "2 of 2"}} {
		sonde := &tally{methods: map[string]float64{"a": 465, "b": 535}, whole: 1000, squares: 1000, stated: map[string]float64{"a": tt.stated, "b": tt.stated}}
		async := &tally{methods: map[string]float64{"a": 535, "b": 465}, whole: 1000, squares: 1000}
		if got := agreeing(compare(sonde, async)); got != tt.want {
			t.Errorf("with %v stated: %s, want %s", tt.stated, got, tt.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		agrees      bool
		onProcessor float64
		want        harness.Verdict
	}{
		{true, 0.95, harness.Met},
		{true, 0.5, harness.Met},
		{false, 0.95, harness.Missed},
		{false, 0.5, harness.Unclear},
	} {
		one := &tree{byTotal: []row{{isWithinError: true}, {isWithinError: tt.agrees}}, onProcessor: tt.onProcessor}
		if got := one.verdict(); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// TestLoss has a program that does 10 % less while it is sampled, although its speed drifts.
func TestLoss(t *testing.T) {
	during := stretch{byCPU: 0.99, byClock: 0.88, own: 30 * time.Millisecond, samples: 100}
	l := lossOf(stretch{byCPU: 1, byClock: 1, own: 10 * time.Millisecond}, during, stretch{byCPU: 1.2, byClock: 1.2, own: 20 * time.Millisecond})
	if !near(l.byCPU, 0.1) || !near(l.byClock, 0.2) || l.own != 15*time.Millisecond || l.samples != 100 {
		t.Errorf("%+v", l)
	}
}

func TestStretch(t *testing.T) {
	var s stretch
	if err := s.compare(harness.Track{{}}); !errors.Is(err, errNoReadings) {
		t.Errorf("of one reading: %v", err)
	}
	err := s.compare(harness.Track{{}, {Touched: harness.Progress{Done: 90, CPU: time.Second}, Twin: harness.Progress{Done: 100, CPU: 2 * time.Second}}})
	if err != nil || !near(s.byClock, 0.9) || !near(s.byCPU, 1.8) {
		t.Errorf("%+v, %v; want 0.9 by the clock and 1.8 by processor time", s, err)
	}
}

// TestGaps has a thread that had a processor for half of two seconds, and lost 1 % of that in gaps.
func TestGaps(t *testing.T) {
	g, err := gapsOf([]float64{1e9, 5e6, 1e9}, []float64{3e9, 15e6, 2e9}, 100)
	if err != nil || !near(g.lost, 0.01) || !near(g.samples, 100) {
		t.Errorf("%+v, %v; want 0.01 lost and 100 samples", g, err)
	}
	if _, err := gapsOf([]float64{0, 0, 0}, []float64{1e9}, 0); err == nil {
		t.Error("no error for an answer of one number")
	}
	if loss := (sampledGap{g, 0.004}).loss(); !near(loss, 0.006) {
		t.Errorf("loss %v, want 0.006", loss)
	}
}
