// Package reporttest provides results for the tests of reports, and compares reports with
// golden files.
package reporttest

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

var update = flag.Bool("update", false, "rewrite the golden files; review the difference before you commit it")

// Golden fails the test if got differs from a file in testdata.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, got)
	}
}

// Shop returns a profile of a small web shop with everything that a report can show: two threads,
// recursion, exceptions, an overloaded and a native method, a call under way, tiny
// and counted calls, and one that was sampled but never drawn.
func Shop(slowdown float64) *cct.Profile {
	p := &cct.Profile{
		Target: cct.Target{PID: 4711, Command: "shop.jar", JDK: "17.0.15"},
		Roots:  []string{"com.example.shop.Checkout.pay"},
		Began:  time.Date(2026, 11, 15, 8, 20, 11, 500_000_000, time.UTC), Took: 30 * time.Second,
		Scheme: "lazy", Why: "the root can reach 640 methods and entered 120",
		Timing: cct.Auto,
		Methods: []cct.Method{
			{Class: "com/example/shop/Checkout", Name: "pay", Descriptor: "(I)V"},
			{Class: "com/example/shop/Cart", Name: "total", Descriptor: "()J"},
			{Class: "com/example/shop/pricing/Tree", Name: "find", Descriptor: "(I)Ljava/lang/Object;"},
			{Class: "com/example/shop/pricing/Tree", Name: "find", Descriptor: "(Ljava/lang/String;I)Ljava/lang/Object;"},
			{Class: "java/net/SocketInputStream", Name: "socketRead0", Descriptor: "()I", Native: true},
			{Name: "method #77"},
			{Class: "com/example/shop/Odd<Name>;&", Name: "run", Descriptor: "()V"},
			{Class: "com/example/shop/pricing/Rate", Name: "of", Descriptor: "(I)J"},
		},
		Calibration: cct.Calibration{
			Inner: cct.Span{Median: 31.5, Low: 30.9, High: 33}, Outer: cct.Span{Median: 40, Low: 38, High: 44},
			Count: cct.Span{Median: 2, Low: 1.8, High: 2.4}, Overlap: 12, Times: 14,
		},
		Cost: cct.Cost{
			Hooks: 120, Classes: 31, Closure: 640, Rounds: 3, Pause: 41 * time.Millisecond, Compile: 2 * time.Second,
			Waited: 12 * time.Millisecond, Steady: 0.013, Budget: 0.02,
		},
		LeftAlone: []cct.LeftAlone{
			{Class: "com/example/shop/Odd", Reason: "its bytes are not known: no resource"},
			{Class: "com/example/shop/Even", Method: "run", Reason: "its bytes are not known: other loader"},
			{Class: "java/lang/Thread", Reason: "hooks use it"},
		},
		Quiet: []cct.Quiet{
			{Method: 1, On: 30 * time.Second, Reason: "1.2 M calls a second cost 1.4 %: thinned to one in 64"},
			{Method: 7, Reason: "at 3.1 M calls per second its hook would cost 3.6 %, so it was switched off; the method's time is included in that of its callers"},
			{Method: 2, On: 12 * time.Second, Reason: "its hook was switched on during the run; the method's earlier time is included in that of its callers"},
		},
		Notes: []string{"the arena had room for all"},
	}
	p.Threads = []cct.Thread{
		{ID: 31, Name: "worker-1", Top: ShopTree(slowdown, 1)},
		{Name: "virtual threads", Virtual: true, Top: ShopTree(slowdown, 0.5)},
	}
	p.Merged = ShopTree(slowdown, 1.5)
	return p
}

// ShopStacks returns Shop with sampled stacks, which divide the time of pay and total.
func ShopStacks() *cct.Profile {
	p := Shop(1)
	pay, total, read := p.Methods[0], p.Methods[1], p.Methods[4]
	send := cct.Method{Class: "com/example/shop/Mail", Name: "send", Descriptor: "()V"}
	lock := cct.Method{Class: "com/example/shop/Mail", Name: "lock", Descriptor: "()V"}
	add := cct.Method{Class: "java/util/ArrayList", Name: "add", Descriptor: "(Ljava/lang/Object;)Z"}
	var stacks []cct.Stack
	for _, one := range []struct {
		samples float64
		wait    string
		methods []cct.Method
	}{
		{40, "", []cct.Method{pay}}, {30, "", []cct.Method{pay, send}}, {30, "monitor", []cct.Method{pay, send, lock}},
		{50, "", []cct.Method{pay, total}}, {25, "", []cct.Method{pay, total, add}}, {90, "I/O", []cct.Method{pay, read}},
	} {
		stacks = append(stacks, cct.Stack{Thread: 31, Methods: one.methods, Wait: one.wait, Samples: one.samples, Nanos: 1e7 * one.samples})
	}
	p.AddStacks(stacks)
	return p
}

// Handed returns a profile in which a call hands work to another thread.
func Handed() *cct.Profile {
	node := func(method int, calls uint64, nanos float64, handed bool) *cct.Node {
		time := cct.Time{Nanos: nanos, Low: nanos, High: nanos}
		return &cct.Node{Method: method, Calls: calls, Timed: calls, Self: time, Total: time, Handed: handed}
	}
	top := func(child *cct.Node) *cct.Node {
		return &cct.Node{Method: -1, Total: child.Total, Children: []*cct.Node{child}}
	}
	serve := node(0, 3, 6000, false)
	p := &cct.Profile{
		Roots: []string{"com.example.Serve.serve"}, Timing: cct.Exact, Took: time.Second,
		Methods: []cct.Method{{Class: "com/example/Serve", Name: "serve", Descriptor: "()V"}, {Class: "com/example/Task", Name: "run", Descriptor: "()V"}},
		Threads: []cct.Thread{{ID: 2, Name: "worker", Top: top(node(1, 3, 9000, true))}, {ID: 1, Name: "main", Top: top(node(0, 3, 6000, false))}},
	}
	serve.Children = []*cct.Node{node(1, 3, 9000, true)}
	p.Merged = top(serve)
	return p
}

// ShopTree returns the tree of Shop with its calls multiplied by size.
func ShopTree(slowdown, size float64) *cct.Node {
	calls := func(n float64) uint64 { return uint64(n * size) }
	about := func(nanos, off float64) cct.Time {
		return cct.Time{Nanos: nanos * size, Low: nanos * size * (1 - off), High: nanos * size * (1 + off)}
	}
	exact := func(method int, n, nanos float64, children ...*cct.Node) *cct.Node {
		return &cct.Node{
			Method: method, Calls: calls(n), Timed: calls(n), Self: about(nanos, 0.01), Raw: int64(nanos * size * 1.1),
			Max: time.Millisecond, Children: children,
		}
	}
	read := exact(4, 4000, 900e6)
	deep := exact(3, 2000, 40e6*slowdown)
	deep.Late = true
	find := exact(2, 2000, 300e6, deep)
	find.Method = 3
	find.Children[0].Method = 2
	sampled := &cct.Node{Method: 1, Calls: calls(200_000), Timed: calls(3000), Self: about(250e6*slowdown, 0.05), Children: []*cct.Node{find}}
	counted := &cct.Node{Method: 5, Calls: calls(1_000_000)}
	unseen := &cct.Node{Method: 6, Calls: calls(60), Self: cct.Time{High: math.Inf(1)}}
	pay := exact(0, 2000, 20e6, read, sampled, counted, unseen)
	pay.Running, pay.Threw, pay.Missed, pay.Lost = 1, calls(12), 2, 3*time.Millisecond
	top := &cct.Node{Method: -1, Children: []*cct.Node{pay}}
	SumUp(top)
	return top
}

// SumUp sets the totals of a tree from the self times.
func SumUp(n *cct.Node) {
	n.Total = n.Self
	for _, c := range n.Children {
		SumUp(c)
		n.Total = n.Total.Plus(c.Total)
	}
	if math.IsInf(n.Total.High, 1) && n.Timed > 0 {
		n.Total.High = 1.1 * n.Total.Nanos
	}
}
