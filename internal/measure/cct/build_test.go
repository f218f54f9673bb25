package cct

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
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

// programs give the time of a program's i-th call.
var programs = []struct {
	name string
	time func(r *rand.Rand, i int) float64
}{
	{"constant", func(*rand.Rand, int) float64 { return 1000 }},
	{"uniform", func(r *rand.Rand, _ int) float64 { return 2000 * r.Float64() }},
	{"a tenth ten times slower", func(r *rand.Rand, _ int) float64 {
		if r.IntN(10) == 0 {
			return 10000
		}
		return 1000 + 50*r.NormFloat64()
	}},
	{"exponential", func(r *rand.Rand, _ int) float64 { return 1000 * r.ExpFloat64() }},
	{"lognormal", func(r *rand.Rand, _ int) float64 { return 1000 * math.Exp(0.5*r.NormFloat64()) }},
	{"lognormal, long tail", func(r *rand.Rand, _ int) float64 { return 1000 * math.Exp(r.NormFloat64()) }},
	{"every eighth ten times slower", func(_ *rand.Rand, i int) float64 {
		if i%8 == 0 {
			return 10000
		}
		return 1000
	}},
	{"saw of period 64", func(_ *rand.Rand, i int) float64 { return float64(100 + 50*(i%64)) }},
	{"slow in runs", func(_ *rand.Rand, i int) float64 {
		if i/32%8 == 0 {
			return 10000
		}
		return 1000
	}},
}

// TestIntervalsHold draws calls as hooks do, with random skips between 1 and
// 2k - 1, and counts how often the truth lies within the interval.
func TestIntervalsHold(t *testing.T) {
	const period, runs, wanted = 64, 500, 0.95
	for _, p := range programs {
		for _, draws := range []int{2, 5, 10, 30, 60, 100, 200} {
			random := rand.New(rand.NewPCG(1, uint64(draws)))
			held := 0
			for range runs {
				s, truth := drawCalls(random, p.time, draws*period, period)
				below, above := s.interval()
				estimate := s.mean * s.calls
				if truth >= estimate-below && truth <= estimate+above {
					held++
				}
			}
			if float64(held) < wanted*runs {
				t.Errorf("%s, about %d calls drawn: the interval held in %d of %d runs", p.name, draws, held, runs)
			}
		}
	}
}

// drawCalls runs a program and samples it.
func drawCalls(r *rand.Rand, time func(*rand.Rand, int) float64, calls, period int) (s sample, truth float64) {
	skip := 1 + r.IntN(2*period-1)
	sum, squares := 0.0, 0.0
	for i := range calls {
		took := time(r, i)
		truth += took
		if skip--; skip == 0 {
			skip = 1 + r.IntN(2*period-1)
			s.drawn++
			sum += took
			squares += took * took
		}
	}
	s.calls = float64(calls)
	if s.drawn > 0 {
		s.mean = sum / s.drawn
	}
	if s.drawn > 1 {
		s.variance = math.Max(0, (squares-s.drawn*sq(s.mean))/(s.drawn-1))
	}
	return s, truth
}

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
		Threads: []arena.Thread{{ID: 9, Root: 1, Nodes: []arena.Node{
			{Ref: 2, Parent: 1, ID: 10, Calls: 4, Timed: 4, Self: 5000, Nanos: 8000},
			{Ref: 3, Parent: 2, ID: arena.AdjustmentID, Nanos: 3000, Calls: 1, Timed: 1, Self: 3000},
			{Ref: 4, Parent: 1, ID: arena.CalibrationID, Calls: 1000, Timed: 1000, Self: 1e6, Nanos: 1e6},
			{Ref: 5, Parent: 4, ID: 10, Calls: 7},
		}}},
		Now: 1e9, Pauses: []Pause{{9, 2, 1000}, {8, 2, 77}},
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

func TestVirtualThreadsAreOne(t *testing.T) {
	in := Input{Now: 1e9, Names: map[uint64]string{7: "main"}}
	for id := range uint64(100) {
		in.Threads = append(in.Threads, arena.Thread{ID: 7 + id, Virtual: id > 0, Root: 1, Nodes: []arena.Node{{Ref: 2, Parent: 1, ID: 10, Calls: 1, Timed: 1, Self: 1000}}})
	}
	var got []string
	for _, thread := range Build(in).Threads {
		got = append(got, fmt.Sprint(thread, thread.Virtual, thread.Top.Roots().Calls, thread.Top.Total.Nanos))
	}
	if want := []string{"virtual threads true 99 99000", "main false 1 1000"}; !slices.Equal(got, want) {
		t.Errorf("threads %q, want %q", got, want)
	}
}

func TestErrorsOfCalibrationAreStated(t *testing.T) {
	in := Input{
		Threads: []arena.Thread{{Root: 1, Nodes: []arena.Node{
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
		Threads: []arena.Thread{{Root: 1, Nodes: []arena.Node{
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
		Threads: []arena.Thread{{Root: 1, Nodes: []arena.Node{
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
		Threads: []arena.Thread{{Root: 1, Nodes: []arena.Node{
			{Ref: 2, Parent: 3, ID: 10, Calls: 1}, {Ref: 3, Parent: 2, ID: 11, Calls: 1},
			{Ref: 4, Parent: 1, ID: 12, Calls: 1}, {Ref: 4, Parent: 4, ID: 13, Calls: 1},
			{Ref: 1, Parent: 1, ID: 14, Calls: 1},
		}, Stack: []arena.Frame{{Node: 77, Start: 1}}}},
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

// A program is made of calls whose own time is known, and is run with hooks whose
// cost is known: what Build says of it can be held against the truth.
type program struct {
	random  *rand.Rand
	inner   float64 // of a timed call, within its time
	outer   float64 // of a timed call, within its caller's
	count   float64 // of a call that is counted
	period  int     // of this number of calls, one is drawn; 1 is all
	counted map[uint32]bool

	clock   float64
	nextRef uint32
	nodes   map[uint32]*arena.Node
	order   []uint32
	found   map[[2]uint32]uint32 // by parent and id
	skips   map[uint32]int
	stack   []*call
	truth   map[uint32]float64 // own time by ref
}

type call struct {
	ref         uint32
	start       float64
	child       float64
	timed, self bool
}

const programRoot = 1

func newProgram(seed uint64) *program {
	return &program{
		random: rand.New(rand.NewPCG(seed, 7)), period: 1, clock: 1000, nextRef: programRoot + 1,
		counted: map[uint32]bool{}, nodes: map[uint32]*arena.Node{}, found: map[[2]uint32]uint32{},
		skips: map[uint32]int{}, truth: map[uint32]float64{},
	}
}

// work passes the time of the call that is under way.
func (p *program) work(nanos float64) {
	p.clock += nanos
	p.truth[p.at()] += nanos
}

func (p *program) at() uint32 {
	if len(p.stack) == 0 {
		return programRoot
	}
	return p.stack[len(p.stack)-1].ref
}

// enter begins a call of a method; exit ends it.
func (p *program) enter(id uint32) {
	parent := p.at()
	ref := p.found[[2]uint32{parent, id}]
	if ref == 0 {
		ref = p.nextRef
		p.nextRef++
		p.found[[2]uint32{parent, id}] = ref
		p.nodes[ref] = &arena.Node{Ref: ref, Parent: parent, ID: id, Born: int64(p.clock)}
		p.order = append(p.order, ref)
		p.skips[ref] = p.draw()
	}
	p.nodes[ref].Calls++
	c := &call{ref: ref}
	p.stack = append(p.stack, c)
	if p.counted[id] {
		p.clock += p.count
		return
	}
	if p.skips[ref]--; p.skips[ref] == 0 {
		p.skips[ref] = p.draw()
		c.timed, c.self = true, true
	} else if above := p.above(len(p.stack) - 1); above != nil && above.self {
		c.timed = true
	}
	if c.timed {
		p.clock += p.outer / 2
		c.start = p.clock
		p.clock += p.inner / 2
	}
}

func (p *program) draw() int { return 1 + p.random.IntN(2*p.period-1) }

// above is the nearest call around the i-th that has a frame.
func (p *program) above(i int) *call {
	for i--; i >= 0; i-- {
		if !p.counted[p.nodes[p.stack[i].ref].ID] {
			return p.stack[i]
		}
	}
	return nil
}

func (p *program) exit() {
	last := len(p.stack) - 1
	c := p.stack[last]
	above := p.above(last)
	p.stack = p.stack[:last]
	if !c.timed {
		return
	}
	p.clock += p.inner / 2
	nanos := p.clock - c.start
	if n := p.nodes[c.ref]; c.self {
		self := nanos - c.child
		n.Timed++
		n.Nanos += uint64(nanos)
		n.Self += int64(self)
		n.Squares += self * self
		n.Max = max(n.Max, uint64(nanos))
	}
	if above != nil {
		above.child += nanos
	}
	p.clock += p.outer / 2
}

// input is what hooks would have written by now.
func (p *program) input(thread uint64) Input {
	t := arena.Thread{ID: thread, Root: programRoot}
	methods := map[uint32]Method{}
	for _, ref := range p.order {
		n := *p.nodes[ref]
		t.Nodes = append(t.Nodes, n)
		methods[n.ID] = Method{Class: "com/acme/Shop", Name: string(rune('a' + n.ID%26)), Descriptor: "()V"}
	}
	for _, c := range p.stack {
		if !p.counted[p.nodes[c.ref].ID] {
			t.Stack = append(t.Stack, arena.Frame{Node: c.ref, Start: int64(c.start), Child: int64(c.child)})
		}
	}
	same := func(n float64) Span { return Span{n, n, n} }
	return Input{
		Threads: []arena.Thread{t}, Now: int64(p.clock), Methods: methods, Counted: p.counted,
		Calibration: Calibration{Inner: same(p.inner), Outer: same(p.outer), Count: same(p.count), Times: 1},
	}
}

// wander makes calls of methods at random, some of them recursive.
func (p *program) wander(depth int) {
	for range 1 + p.random.IntN(3) {
		p.work(float64(2 * (100 + p.random.IntN(1000))))
		if depth > 0 {
			p.enter(uint32(10 + p.random.IntN(5)))
			p.wander(depth - 1)
			p.exit()
		}
	}
}

// TestHandedWorkIsBelowItsCall has a thread that hands work over, a thread that does it and hands a part of it on, and work
// whose origin is not known.
func TestHandedWorkIsBelowItsCall(t *testing.T) {
	const serve, run, last, step = 10, 20, 30, 40
	p := Build(Input{
		Methods:     map[uint32]Method{serve: {Name: "serve"}, run: {Name: "run"}, last: {Name: "last"}, step: {Name: "step"}},
		Calibration: Calibration{Outer: Span{100, 100, 100}},
		Threads: []arena.Thread{
			{ID: 1, Root: 1, Nodes: []arena.Node{{Ref: 2, Parent: 1, ID: serve, Calls: 2, Timed: 2, Self: 1000}}},
			{ID: 2, Root: 11, Nodes: []arena.Node{
				{Ref: 12, Parent: 11, ID: arena.HandedID, From: 2},
				{Ref: 13, Parent: 12, ID: run, Calls: 2, Timed: 2, Self: 700},
				{Ref: 14, Parent: 13, ID: step, Calls: 1, Timed: 1, Self: 50},
				{Ref: 15, Parent: 11, ID: serve, Calls: 1, Timed: 1, Self: 200},
			}},
			{ID: 3, Root: 21, Virtual: true, Nodes: []arena.Node{
				{Ref: 22, Parent: 21, ID: arena.HandedID, From: 13},
				{Ref: 23, Parent: 22, ID: last, Calls: 1, Timed: 1, Self: 5000},
				{Ref: 24, Parent: 21, ID: arena.HandedID, From: 99},
				{Ref: 25, Parent: 24, ID: step, Calls: 1, Timed: 1, Self: 1},
			}},
		},
	})
	for _, want := range []struct {
		path   []string
		calls  uint64
		total  float64
		handed bool
	}{
		{[]string{"serve"}, 3, 1200, false},
		{[]string{"serve", "run"}, 2, 650, true}, // without the outer cost of step
		{[]string{"serve", "run", "step"}, 1, 50, false},
		{[]string{"serve", "run", "last"}, 1, 5000, true},
		{[]string{"step"}, 1, 1, true},
	} {
		if n := find(t, p, want.path...); n.Calls != want.calls || n.Total.Nanos != want.total || n.Handed != want.handed {
			t.Errorf("%v has %d calls, %g ns, handed %t; want %+v", want.path, n.Calls, n.Total.Nanos, n.Handed, want)
		}
	}
	if roots := p.Merged.Roots(); roots.Calls != 3 || roots.Total.Nanos != 1200 {
		t.Errorf("the roots are %+v, want 3 calls of 1200 ns", roots)
	}
	for _, thread := range p.Threads {
		want := map[uint64]float64{1: 1000, 2: 850, 0: 5001}[thread.ID]
		if thread.Top.Total.Nanos != want {
			t.Errorf("thread %d has %g ns, want %g", thread.ID, thread.Top.Total.Nanos, want)
		}
	}
	if rows := Flat(p.Merged, p.Methods); p.Methods[rows[0].Method].Name != "last" || rows[0].Total.Nanos != 5000 {
		t.Errorf("the first row is %+v, want that of last", rows[0])
	}
}

// FuzzBuild builds a profile of any nodes: they may be each other's parents, or hand work over in circles.
func FuzzBuild(f *testing.F) {
	f.Add([]byte{1, 2, 0, 0, 5, 9, 1, 3, 2, 1, 4, 8, 2, 6, 5, 200, 1, 1, 2, 7, 6, 1, 2, 3, 0, 1, 0, 3, 100, 100})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := Input{Names: map[uint64]string{1: "main"}, Now: 1000}
		threads := map[uint64]*arena.Thread{}
		var order []uint64
		for ; len(data) >= 6; data = data[6:] {
			id := uint64(data[0]%3) + 1
			if threads[id] == nil {
				threads[id] = &arena.Thread{ID: id, Root: uint32(id), Virtual: id == 3}
				order = append(order, id)
			}
			to := threads[id]
			if data[0]&0x80 != 0 {
				to.Stack = append(to.Stack, arena.Frame{ID: uint32(data[3]), Node: uint32(data[1]), Start: int64(data[4]), Child: int64(data[5])})
				continue
			}
			n := arena.Node{Ref: uint32(data[1]), Parent: uint32(data[2]), ID: uint32(data[3] % 8), Calls: uint64(data[4]), Timed: uint64(data[4] / 2), Nanos: uint64(data[5]), Self: int64(int8(data[5])), Born: int64(data[4])}
			if data[3]&0x80 != 0 {
				n.ID, n.From = arena.HandedID, uint32(data[4])
			}
			to.Nodes = append(to.Nodes, n)
		}
		for _, id := range order {
			in.Threads = append(in.Threads, *threads[id])
		}
		p := Build(in)
		eachNode(p.Merged, func(n *Node) {
			if n.Method >= len(p.Methods) || n.Method < 0 && n != p.Merged {
				t.Fatalf("a node of method %d of %d", n.Method, len(p.Methods))
			}
			for _, time := range []Time{n.Self, n.Total} {
				if !(0 <= time.Low && time.Low <= time.Nanos && time.Nanos <= time.High) {
					t.Fatalf("bounds out of order: %+v", time)
				}
			}
			if !slices.IsSortedFunc(n.Children, byTotal) {
				t.Fatal("children are out of order")
			}
		})
	})
}
