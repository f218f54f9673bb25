package cct

import (
	"math"
	"testing"
)

func named(names ...string) (methods []Method) {
	for _, name := range names {
		methods = append(methods, Method{Class: "com/acme/Shop", Name: name, Descriptor: "()V"})
	}
	return methods
}

func sure(nanos float64) Time { return Time{nanos, nanos, nanos} }

// hooked is a profile of root, which calls timed and counted; counted calls deep, which is timed.
func hooked() *Profile {
	return &Profile{
		Timing: Auto, Methods: named("root", "timed", "counted", "deep"),
		Merged: &Node{Method: -1, Total: sure(2000), Children: []*Node{{
			Method: 0, Calls: 10, Timed: 10, Self: sure(1000), Total: sure(2000), Children: []*Node{
				{Method: 1, Calls: 10, Timed: 10, Self: sure(600), Total: sure(600)},
				{Method: 2, Calls: 5, Total: sure(400), Children: []*Node{{Method: 3, Calls: 5, Timed: 5, Self: sure(400), Total: sure(400)}}},
			},
		}}},
	}
}

func stack(samples float64, wait string, names ...string) Stack {
	return Stack{Methods: named(names...), Wait: wait, Samples: samples, Nanos: samples * 10}
}

func TestStacksDivideOwnTime(t *testing.T) {
	p := hooked()
	p.AddStacks([]Stack{
		stack(50, "", "root"),
		stack(20, "", "root", "helper"),
		stack(10, "sleep", "root", "helper", "nap"),
		stack(20, "", "root", "between", "counted"), // between has no hook: it is not shown above one that has
		stack(60, "", "root", "timed"),
		stack(30, "monitor", "root", "counted", "deep", "lock"),
		stack(99, "", "elsewhere"),
	})
	for _, want := range []struct {
		path           []string
		self, total    float64
		sampled, split bool
		calls          uint64
	}{
		{[]string{"root"}, 500, 2000, false, true, 10},
		{[]string{"root", "helper"}, 200, 300, true, false, 0},
		{[]string{"root", "helper", "nap"}, 100, 100, true, false, 0},
		{[]string{"root", "timed"}, 600, 600, false, false, 10},
		{[]string{"root", "counted"}, 200, 600, true, false, 5},
		{[]string{"root", "counted", "deep"}, 0, 400, false, true, 5},
		{[]string{"root", "counted", "deep", "lock"}, 400, 400, true, false, 0},
	} {
		n := find(t, p, want.path...)
		if !near(n.Self.Nanos, want.self) || !near(n.Total.Nanos, want.total) || n.Sampled != want.sampled || n.Split != want.split || n.Calls != want.calls {
			t.Errorf("%v: self %v, total %v, sampled %t, split %t, %d calls; want %+v", want.path, n.Self, n.Total, n.Sampled, n.Split, n.Calls, want)
		}
		for _, time := range []Time{n.Self, n.Total} {
			if time.Low > time.Nanos || time.High < time.Nanos {
				t.Errorf("%v: %v is not between its bounds", want.path, time)
			}
		}
	}
	if helper := find(t, p, "root", "helper"); helper.Self.Low >= helper.Self.Nanos || helper.Self.High <= helper.Self.Nanos {
		t.Errorf("twenty samples of a hundred are said to be exact: %v", helper.Self)
	}
	if n := len(find(t, p, "root").Children); n != 3 {
		t.Errorf("root has %d callees, want 3: neither between nor elsewhere", n)
	}
	waits := find(t, p, "root").Waits
	if len(waits) != 2 || waits[0].For != "monitor" || !near(waits[0].Time.Nanos, 2000*30.0/190) || waits[1].For != "sleep" {
		t.Errorf("root waits %v, want for a monitor most, then sleep", waits)
	}
}

func TestMeasuredIsWithoutStacks(t *testing.T) {
	p, want := hooked(), hooked()
	p.AddStacks([]Stack{stack(50, "", "root"), stack(20, "", "root", "helper"), stack(30, "", "root", "counted", "inner"), stack(7, "", "root", "counted", "deep", "lock")})
	got := p.Measured()
	var compare func(a, b *Node)
	compare = func(a, b *Node) {
		if a.Method != b.Method || a.Calls != b.Calls || !near(a.Self.Nanos, b.Self.Nanos) || a.Sampled || a.Split || len(a.Children) != len(b.Children) {
			t.Errorf("got %+v, want %+v", a, b)
			return
		}
		for i := range a.Children {
			compare(a.Children[i], b.Children[i])
		}
	}
	sortByTotal(want.Merged)
	compare(got.Merged, want.Merged)
}

func TestStacksWithoutHooks(t *testing.T) {
	p := &Profile{Timing: Stacks, Merged: &Node{Method: -1}}
	p.AddStacks([]Stack{stack(50, "", "root", "a"), stack(25, "sleep", "root", "a", "b"), stack(25, "", "root")})
	root, a, b := find(t, p, "root"), find(t, p, "root", "a"), find(t, p, "root", "a", "b")
	if !near(root.Total.Nanos, 1000) || !near(root.Self.Nanos, 250) || !near(a.Total.Nanos, 750) || !near(a.Self.Nanos, 500) || !near(b.Total.Nanos, 250) {
		t.Errorf("root %v %v, a %v %v, b %v", root.Self, root.Total, a.Self, a.Total, b.Total)
	}
	if !near(p.Merged.Total.Nanos, 1000) || root.Total.Low >= 1000 || root.Total.High <= 1000 {
		t.Errorf("the whole is %v, the root's total %v; want 1000, with an interval", p.Merged.Total, root.Total)
	}
	if len(b.Waits) != 1 || !near(b.Waits[0].Time.Nanos, 250) {
		t.Errorf("b waits %v, want all its time", b.Waits)
	}

	unsure := &Profile{Timing: Stacks, Merged: &Node{Method: -1}}
	waiting := stack(100, "", "root", "a")
	waiting.Unsure = 300
	unsure.AddStacks([]Stack{waiting})
	now := find(t, unsure, "root").Total
	if wrong := root.Total.High - 1000 + 300; !near(now.Nanos, 1000) || now.High < 1000+wrong-50 || now.Low > 1000-wrong+50 {
		t.Errorf("of 1000, 300 are unsure: the total is %v, want %g more or less", now, wrong)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// TestStacksOfOtherThreads has a method that two calls hand to other threads, one of them for three times as long. What
// stacks show of it is divided, and the times of the calls do not change.
func TestStacksOfOtherThreads(t *testing.T) {
	p := hooked()
	handed := func(nanos float64) *Node {
		return &Node{Method: 4, Calls: 1, Timed: 1, Self: sure(nanos), Total: sure(nanos), Handed: true}
	}
	p.Methods = append(p.Methods, named("run")...)
	root := p.Merged.Children[0]
	root.Children = append(root.Children, handed(900))
	root.Children[0].Children = []*Node{handed(300)}
	other := func(samples float64, wait string, names ...string) Stack {
		s := stack(samples, wait, names...)
		s.Handed = true
		return s
	}
	p.AddStacks([]Stack{
		stack(10, "", "root"),
		other(30, "", "run"),
		other(10, "sleep", "worker", "run", "nap"), // worker has a hook, and was not handed over
		other(99, "", "elsewhere"),
		other(99, "", "root"),
	})
	for _, want := range []struct {
		path        []string
		self, total float64
	}{
		{[]string{"root"}, 1000, 2000},
		{[]string{"root", "run"}, 675, 900},
		{[]string{"root", "run", "nap"}, 225, 225},
		{[]string{"root", "timed"}, 600, 600},
		{[]string{"root", "timed", "run"}, 225, 300},
		{[]string{"root", "timed", "run", "nap"}, 75, 75},
	} {
		if n := find(t, p, want.path...); !near(n.Self.Nanos, want.self) || !near(n.Total.Nanos, want.total) {
			t.Errorf("%v has a self time of %g and a total of %g; want %g and %g", want.path, n.Self.Nanos, n.Total.Nanos, want.self, want.total)
		}
	}
	if root := find(t, p, "root"); len(root.Waits) != 0 {
		t.Errorf("the root waits %v, want nothing: another thread does", root.Waits)
	}
	if run := find(t, p, "root", "run"); len(run.Waits) != 1 || run.Waits[0].For != "sleep" {
		t.Errorf("run waits %v, want sleep", run.Waits)
	}
}
