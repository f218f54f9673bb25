package drill

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

const (
	goal = 10 * time.Millisecond
	ms   = time.Millisecond
)

// The hooks of the tests.
const (
	web uint32 = iota + 1
	load
	pay
	bank
	audit
	mail
)

var methods = map[uint32]string{web: "handle", load: "load", pay: "pay", bank: "bank", audit: "audit", mail: "mail"}

// call returns a call with the times of what it calls, and its own.
func call(spot uint32, own time.Duration, children ...*trace.Call) *trace.Call {
	c := &trace.Call{Spot: spot, Class: "a.Shop", Method: methods[spot], Self: own, Duration: own, Measured: own, Thread: trace.Thread{ID: 7}}
	for _, child := range children {
		child.Start = c.Measured - own
		c.Children = append(c.Children, child)
		c.Duration += child.Duration
		c.Measured += child.Measured
	}
	return c
}

func transaction(root *trace.Call, parts ...*trace.Call) *trace.Transaction {
	for _, p := range parts {
		p.Handed = true
	}
	return &trace.Transaction{Root: root, Duration: root.Duration, Parts: parts, Begin: time.Unix(100, 0)}
}

func repeated(n int, make func() *trace.Transaction) (all []*trace.Transaction) {
	for range n {
		all = append(all, make())
	}
	return all
}

func treeOf(all ...*trace.Transaction) *Tree {
	tree := NewTree(goal)
	for _, tx := range all {
		tree.Add(tx)
	}
	return tree
}

func names(path []*Node) string {
	var all []string
	for _, n := range path {
		all = append(all, n.Method)
	}
	return strings.Join(all, " ")
}

func TestChoose(t *testing.T) {
	normal := func() *trace.Transaction {
		return transaction(call(web, ms, call(load, ms), call(pay, ms, call(bank, ms))))
	}
	slowIn := func(own, loaded, paid, banked time.Duration) func() *trace.Transaction {
		return func() *trace.Transaction {
			return transaction(call(web, own, call(load, loaded), call(pay, paid, call(bank, banked))))
		}
	}
	spread := func() *trace.Transaction {
		return transaction(call(web, ms, call(load, 10*ms), call(pay, 11*ms), call(bank, 10*ms), call(audit, 10*ms), call(mail, 10*ms)))
	}
	async := func() *trace.Transaction {
		return transaction(call(web, ms, call(load, 50*ms)), call(mail, ms, call(bank, 48*ms)))
	}
	turn := 0
	ways := func() *trace.Transaction { // three callees, of which each call has one, call the same method; so does the root at times
		turn++
		if turn%4 == 3 {
			return transaction(call(web, ms, call(bank, 50*ms)))
		}
		return transaction(call(web, ms, call([]uint32{load, pay, mail}[turn%4], ms, call(bank, 50*ms))))
	}
	two := func() *trace.Transaction { // one callee has most of it, but both wait for the same
		return transaction(call(web, ms, call(load, 30*ms, call(bank, 35*ms)), call(pay, ms, call(bank, 33*ms))))
	}
	beside := func() *trace.Transaction { // the path of the larger parts leads elsewhere
		return transaction(call(web, ms, call(load, ms, call(audit, 32*ms), call(bank, 28*ms)), call(pay, ms, call(bank, 40*ms))))
	}
	tests := map[string]struct {
		slow   func() *trace.Transaction
		closed []uint32 // methods whose callees have no hooks
		before []uint32
		waits  bool
		path   string
		stop   Stop
		open   string
	}{
		"own time of the root":                   {slow: slowIn(50*ms, ms, ms, ms), path: "handle", stop: OwnTime},
		"a callee":                               {slow: slowIn(ms, 50*ms, ms, ms), path: "handle load", stop: OwnTime},
		"two levels down":                        {slow: slowIn(ms, 2*ms, ms, 50*ms), path: "handle pay bank", stop: OwnTime},
		"own time in between":                    {slow: slowIn(ms, ms, 50*ms, 2*ms), path: "handle pay", stop: OwnTime},
		"the larger of two":                      {slow: slowIn(ms, 20*ms, ms, 50*ms), path: "handle pay bank", stop: OwnTime},
		"callees without hooks":                  {slow: slowIn(ms, ms, 50*ms, ms), closed: []uint32{pay}, path: "handle pay", open: "pay"},
		"root without hooks below":               {slow: slowIn(50*ms, ms, ms, ms), closed: []uint32{web}, path: "handle", open: "handle"},
		"spread":                                 {slow: spread, path: "handle", stop: Spread},
		"what several callees call":              {slow: ways, path: "handle bank", stop: OwnTime},
		"what a callee and another one call":     {slow: two, path: "handle bank", stop: OwnTime},
		"what callees beside the path call":      {slow: beside, path: "handle bank", stop: OwnTime},
		"along such a path":                      {slow: ways, before: []uint32{web, bank}, path: "handle bank", stop: OwnTime},
		"along the path before":                  {slow: slowIn(40*ms, ms, ms, 50*ms), before: []uint32{99, pay}, path: "handle pay bank", stop: OwnTime},
		"the path before has nothing any more":   {slow: slowIn(ms, 50*ms, ms, ms), before: []uint32{web, pay}, path: "handle", stop: Changed},
		"the path before is not called any more": {slow: slowIn(ms, 50*ms, ms, ms), before: []uint32{web, mail}, path: "handle", stop: Changed},
		"a wait ends it":                         {slow: async, path: "handle load", stop: OwnTime},
		"a wait for a task":                      {slow: async, waits: true, path: "handle load mail bank", stop: OwnTime},
		"a task without hooks below":             {slow: async, waits: true, closed: []uint32{mail}, path: "handle load mail", open: "mail"},
		"along a path with a task":               {slow: async, before: []uint32{web, load, mail}, path: "handle load mail bank", stop: OwnTime},
	}
	for name, test := range tests {
		tree := treeOf(append(repeated(20, normal), repeated(10, test.slow)...)...)
		got := tree.Choose(test.before, func(n *Node) bool { return !slices.Contains(test.closed, n.Spot) }, test.waits)
		open := ""
		if got.Open != nil {
			open = got.Open.Method
		}
		if names(got.Path) != test.path || got.Stop != test.stop || open != test.open {
			t.Errorf("%s: got path %q, stop %q, open %q, want %q, %q, %q", name, names(got.Path), got.Stop, open, test.path, test.stop, test.open)
		}
	}
}

// TestContrast checks means, shares and their intervals.
func TestContrast(t *testing.T) {
	tree := treeOf(
		transaction(call(web, ms, call(load, ms))), transaction(call(web, 3*ms, call(load, ms))),
		transaction(call(web, 2*ms, call(load, 41*ms))), transaction(call(web, 2*ms, call(load, 81*ms))),
	)
	lost := transaction(call(web, 900*ms))
	lost.Lost = 1
	tree.Add(lost)
	if tree.Slow != 2 || tree.Normal != 2 {
		t.Fatalf("got %d slow and %d normal calls, want 2 and 2", tree.Slow, tree.Normal)
	}
	got := tree.Time(tree.Root.Children[0])
	if got.Slow != float64(61*ms) || got.Normal != float64(ms) || got.Share.Part != 1 {
		t.Errorf("got %+v, want means of 61 and 1 ms, and all of the excess", got)
	}
	if got.Share.Low >= 1 || got.Share.High <= 1 {
		t.Errorf("got the interval %v to %v, want one around 1", got.Share.Low, got.Share.High)
	}
	if own := tree.Self(tree.Root); own.Share.Part != 0 {
		t.Errorf("own time: got the share %v, want 0", own.Share.Part)
	}
}

// TestManyCalls: calls that were summed up count as the others.
func TestManyCalls(t *testing.T) {
	root := call(web, ms, call(load, 2*ms))
	root.Folded = []*trace.Folded{{Spot: load, Class: "a.Shop", Method: "load", Calls: 99, Duration: 48 * ms, Self: 8 * ms, Children: []*trace.Folded{{Spot: bank, Method: "bank", Calls: 99, Duration: 40 * ms, Self: 40 * ms}}}}
	root.Duration += 48 * ms
	tree := treeOf(transaction(root), transaction(call(web, ms, call(load, ms))))
	choice := tree.Choose(nil, func(*Node) bool { return true }, false)
	if names(choice.Path) != "handle load bank" {
		t.Errorf("got %q, want handle load bank", names(choice.Path))
	}
	r := Result{Path: tree.Levels(choice), Slow: Calls{Calls: 1}, Normal: Calls{Calls: 1}}
	if want := "a.Shop.handle calls a.Shop.load 100 times in a slow call, 1 times in a normal one"; !slices.Contains(r.Summary(), want) {
		t.Errorf("got %q, want %q", r.Summary(), want)
	}
}

// TestUncountedCalls: a method that has too many calls for a hook is named with its number of calls, if samples show that it takes the time.
func TestUncountedCalls(t *testing.T) {
	tree := treeOf(transaction(call(web, 101*ms)), transaction(call(web, ms)))
	choice := tree.Choose(nil, func(*Node) bool { return true }, false)
	r := Result{Path: tree.Levels(choice), Slow: Calls{Calls: 1}, Normal: Calls{Calls: 1}, Frequent: map[string]float64{"a.Shop.load": 1234.5}}
	const want = "a.Shop.handle calls a.Shop.load about 1234 times for each call of a.Shop.handle, too often for a hook within the budget"
	for through, is := range map[string]bool{"a.Shop.load": true, "a.Shop.other": false} {
		r.Cause = tree.Explain(choice, []State{{Wait: jfr.Running, Samples: 9, Through: through, In: "b.C.d"}}, 0)
		if got := r.Summary(); slices.Contains(got, want) != is {
			t.Errorf("through %s: got %q; contains %q: want %t", through, got, want, is)
		}
	}
}

func TestIsEnough(t *testing.T) {
	wide := treeOf(append(repeated(20, func() *trace.Transaction { return transaction(call(web, ms)) }), transaction(call(web, 900*ms)))...)
	for range enoughCalls {
		wide.Add(transaction(call(web, 20*ms)))
	}
	if wide.IsEnough(0) || !wide.IsEnough(Patience) {
		t.Errorf("slow calls that differ much: got %t at once, %t later, want false, true", wide.IsEnough(0), wide.IsEnough(Patience))
	}
	for _, test := range []struct {
		slow, normal int
		waited       time.Duration
		want         bool
	}{
		{0, 1000, time.Hour, false},
		{enoughCalls, enoughCalls, 0, true},
		{enoughCalls, 0, 0, false},
		{enoughCalls, 0, Patience, true},
		{fewCalls, 0, Patience, true},
		{fewCalls - 1, 100, Patience, false},
		{fewCalls, 100, Patience - 1, false},
	} {
		if got := (&Tree{Slow: test.slow, Normal: test.normal}).IsEnough(test.waited); got != test.want {
			t.Errorf("%+v: got %t", test, got)
		}
	}
}

func TestPeriod(t *testing.T) {
	for _, test := range []struct {
		now          uint32
		part, budget float64
		want         uint32
	}{
		{0, 0.01, 0.02, 0}, {0, 0.04, 0.02, 3}, {10, 0.2, 0.02, 126}, {10, 0.02, 0.02, 10}, {100, 1, 0.02, MostPeriod + 1},
		{100, 0.0001, 0.02, 25}, {100, 0.006, 0.02, 38}, {100, 0.015, 0.02, 100}, {4, 0.0001, 0.02, 1}, {1, 0.0001, 0.02, 1}, {5, 0.04, 0, 5},
	} {
		if got := Period(test.now, test.part, test.budget); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

func TestFirstPeriod(t *testing.T) {
	for _, test := range []struct {
		calls int
		in    time.Duration
		want  uint32
	}{{0, 0, 1}, {10, time.Second, 1}, {400, time.Second, 20}, {400, 10 * time.Second, 2}, {10_000_000, time.Second, MostPeriod}} {
		if got := FirstPeriod(test.calls, test.in); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

func TestFrequent(t *testing.T) {
	method := func(name string) classfile.MethodRef {
		return classfile.MethodRef{Class: "a/Shop", Name: name, Descriptor: "()V"}
	}
	calls := map[classfile.MethodRef]uint64{method("handle"): 10, method("load"): 199, method("query"): 200, method("other"): 10_000}
	if got, want := Frequent(PerCall(calls, []classfile.MethodRef{method("handle")}), ManyCalls), []classfile.MethodRef{method("other"), method("query")}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Frequent(PerCall(calls, nil), ManyCalls); len(got) > 0 {
		t.Errorf("without calls of a root: got %v, want none", got)
	}
}

// TestAgain checks that a method that several callees call stays the next one when calls are collected again, with all of the
// excess, and that samples in the methods between count as own time of the first one.
func TestAgain(t *testing.T) {
	way := func(by uint32) *trace.Transaction {
		return transaction(call(web, ms, call(by, 10*ms, call(bank, 50*ms))))
	}
	slow := []*trace.Transaction{way(load), way(pay), way(mail)}
	normal := repeated(3, func() *trace.Transaction { return transaction(call(web, ms)) })
	isOpen := func(*Node) bool { return true }
	tree := treeOf(append(slow, normal...)...)
	for round := range 2 {
		choice := tree.Choose(nil, isOpen, false)
		if names(choice.Path) != "handle bank" || math.Abs(tree.Time(choice.Last()).Share.Part-50.0/60) > 0.01 || math.Abs(tree.Self(tree.Root).Share.Part-10.0/60) > 0.01 {
			t.Fatalf("round %d: got %s with %+v, own time of the first %+v, want handle bank with five sixths, and one sixth", round, names(choice.Path), tree.Time(choice.Last()), tree.Self(tree.Root))
		}
		var own, whole time.Duration
		for _, p := range periodsOf(slow[0], []uint32{web}, choice.dissolved(), false) {
			own += p.to.Sub(p.from)
		}
		for _, p := range periodsOf(slow[0], []uint32{web}, choice.dissolved(), true) {
			whole += p.to.Sub(p.from)
		}
		if own != 11*ms || whole != 61*ms {
			t.Errorf("round %d: got own time %v and whole time %v, want 11ms and 61ms", round, own, whole)
		}
		tree = tree.Again()
		for _, tx := range append(slow, normal...) {
			tree.Add(tx)
		}
	}
}
