package cct

import "math/rand/v2"

// A program is made of calls whose own time is known, and is run with hooks whose
// cost is known: what Build says of it can be held against the truth.
type program struct {
	random  *rand.Rand
	inner   float64 // of a timed call, within its time
	outer   float64 // of a timed call, within its caller's
	count   float64 // of a call that is counted
	period  int     // one call in so many is drawn; 1 is all
	counted map[uint32]bool

	clock   float64
	nextRef uint32
	nodes   map[uint32]*Raw
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
		counted: map[uint32]bool{}, nodes: map[uint32]*Raw{}, found: map[[2]uint32]uint32{},
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
		p.nodes[ref] = &Raw{Ref: ref, Parent: parent, ID: id, Born: int64(p.clock)}
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
	t := RawThread{ID: thread, Root: programRoot}
	methods := map[uint32]Method{}
	for _, ref := range p.order {
		n := *p.nodes[ref]
		t.Nodes = append(t.Nodes, n)
		methods[n.ID] = Method{Class: "com/acme/Shop", Name: string(rune('a' + n.ID%26)), Descriptor: "()V"}
	}
	for _, c := range p.stack {
		if !p.counted[p.nodes[c.ref].ID] {
			t.Stack = append(t.Stack, Frame{Node: c.ref, Start: int64(c.start), Child: int64(c.child), Drawn: c.self})
		}
	}
	same := func(n float64) Span { return Span{n, n, n} }
	return Input{
		Threads: []RawThread{t}, Now: int64(p.clock), Methods: methods, Counted: p.counted, CalibrationID: 1, AdjustmentID: 2,
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
