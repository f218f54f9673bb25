package cct

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// find follows ids down from a node.
func find(t *testing.T, p *Profile, path ...string) *Node {
	t.Helper()
	n := p.Merged
	for _, name := range path {
		var next *Node
		for _, c := range n.Children {
			if p.Methods[c.Method].Name == name {
				next = c
			}
		}
		if next == nil {
			t.Fatalf("no node %v: %s is missing", path, name)
		}
		n = next
	}
	return n
}

// eachNode visits a tree, parents first.
func eachNode(n *Node, visit func(*Node)) {
	visit(n)
	for _, c := range n.Children {
		eachNode(c, visit)
	}
}

// checkLaws holds what is true of every tree.
func checkLaws(t *testing.T, p *Profile) {
	t.Helper()
	tops := []*Node{p.Merged}
	for _, thread := range p.Threads {
		tops = append(tops, thread.Top)
	}
	for _, top := range tops {
		sum := 0.0
		eachNode(top, func(n *Node) {
			sum += n.Self.Nanos
			for _, time := range []Time{n.Self, n.Total} {
				if !(0 <= time.Low && time.Low <= time.Nanos && time.Nanos <= time.High) {
					t.Fatalf("bounds out of order: %+v", time)
				}
			}
			last := math.Inf(1)
			for _, c := range n.Children {
				if c.Total.Nanos > last {
					t.Fatal("children are not by total")
				}
				last = c.Total.Nanos
			}
		})
		if math.Abs(sum-top.Total.Nanos) > 1e-9*sum {
			t.Fatalf("self times add up to %g, the total is %g", sum, top.Total.Nanos)
		}
	}
}

func TestExactTimesAreTrue(t *testing.T) {
	for seed := range uint64(20) {
		p := newProgram(seed)
		p.inner, p.outer, p.count = 30, 50, 4
		p.counted[12] = seed%2 == 0
		for range 10 {
			p.enter(10)
			p.wander(6)
			p.exit()
		}
		profile := Build(p.input(1))
		checkLaws(t, profile)
		// The time of counted calls is with their callers.
		own, all := 0.0, 0.0
		for ref, took := range p.truth {
			all += took
			if ref != programRoot && !p.counted[p.nodes[ref].ID] {
				own += took
			}
		}
		if got := profile.Merged.Total.Nanos; math.Abs(got-all) > 1e-9*all {
			t.Fatalf("seed %d: the total is %g, the truth %g (%g without counted calls)", seed, got, all, own)
		}
		if !p.counted[12] {
			checkOwn(t, p, profile.Threads[0].Top, programRoot, profile)
		}
	}
}

// checkOwn compares each node's own time with the truth.
func checkOwn(t *testing.T, p *program, n *Node, ref uint32, profile *Profile) {
	t.Helper()
	if n.Method >= 0 && math.Abs(n.Self.Nanos-p.truth[ref]) > 1 {
		t.Fatalf("%s: self %g, the truth is %g", profile.Methods[n.Method], n.Self.Nanos, p.truth[ref])
	}
	for _, c := range n.Children {
		for at, child := range p.found {
			if at[0] == ref && string(rune('a'+at[1]%26)) == profile.Methods[c.Method].Name {
				checkOwn(t, p, c, child, profile)
			}
		}
	}
}

// TestSampledTimesAreNearTheTruth: parents and children are timed in the same
// calls, so that hooks of children do not count as their caller's time.
func TestSampledTimesAreNearTheTruth(t *testing.T) {
	p := newProgram(3)
	p.inner, p.outer, p.period = 30, 50, 16
	for range 20000 {
		p.enter(10)
		p.work(1000 * (0.5 + p.random.Float64()))
		for range p.random.IntN(4) {
			p.enter(11)
			p.work(300)
			p.exit()
		}
		p.exit()
	}
	profile := Build(p.input(1))
	checkLaws(t, profile)
	parent, child := find(t, profile, "k"), find(t, profile, "k", "l")
	for n, ref := range map[*Node]uint32{parent: p.found[[2]uint32{programRoot, 10}], child: 0} {
		if ref == 0 {
			ref = p.found[[2]uint32{p.found[[2]uint32{programRoot, 10}], 11}]
		}
		truth := p.truth[ref]
		if !n.Estimated() || truth < n.Self.Low || truth > n.Self.High || math.Abs(n.Self.Nanos-truth) > 0.05*truth {
			t.Errorf("%s: self %+v, the truth is %g", profile.Methods[n.Method], n.Self, truth)
		}
	}
	if most := parent.Total.High - parent.Total.Nanos; most >= (parent.Self.High-parent.Self.Nanos)+(child.Self.High-child.Self.Nanos) {
		t.Error("errors of chance add up as if they were one")
	}
}

func TestMergeIsIndependentOfOrder(t *testing.T) {
	var in Input
	for i := range uint64(6) {
		p := newProgram(i)
		p.inner, p.outer, p.period = 30, 50, 2
		p.enter(10)
		p.wander(6)
		if i > 2 {
			p.exit()
		}
		one := p.input(i)
		one.Threads = append(in.Threads, one.Threads...)
		one.Now = max(one.Now, in.Now)
		for id, m := range in.Methods {
			one.Methods[id] = m
		}
		in = one
	}
	want := Build(in)
	checkLaws(t, want)
	random := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		random.Shuffle(len(in.Threads), func(i, j int) { in.Threads[i], in.Threads[j] = in.Threads[j], in.Threads[i] })
		if got := Build(in); !reflect.DeepEqual(got, want) {
			t.Fatal("the order of threads matters")
		}
	}
	var calls, merged uint64
	for _, thread := range want.Threads {
		eachNode(thread.Top, func(n *Node) { calls += n.Calls })
	}
	eachNode(want.Merged, func(n *Node) { merged += n.Calls })
	if calls != merged {
		t.Errorf("threads made %d calls, merged are %d", calls, merged)
	}
}

func TestFlatTakesRecursionOnce(t *testing.T) {
	p := newProgram(1)
	p.inner, p.outer = 30, 50
	for range 5 { // k k l k, one within the other
		p.enter(10)
		p.work(1000)
	}
	p.enter(11)
	p.work(500)
	p.enter(10)
	p.work(1000)
	for len(p.stack) > 0 {
		p.exit()
	}
	profile := Build(p.input(1))
	rows := Flat(profile.Merged, profile.Methods)
	if len(rows) != 2 || profile.Methods[rows[0].Method].Name != "k" {
		t.Fatalf("rows: %+v", rows)
	}
	k := rows[0]
	if k.Calls != 6 || k.Contexts != 6 || math.Abs(k.Self.Nanos-6000) > 1 || math.Abs(k.Total.Nanos-6500) > 1 || math.Abs(k.Mean.Nanos-1000) > 1 {
		t.Errorf("recursive method: %+v", k)
	}
}
