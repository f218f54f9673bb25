package cct

import (
	"math"
	"slices"
)

// A tally is what the arena says of a method in a context, before anything is
// reckoned. Tallies of several threads can be added: sampled calls of all of them
// then speak for all.
type tally struct {
	method        int
	counted       bool // by choice
	calls         uint64
	ended         uint64 // timed calls that have ended
	running       uint64
	drawn         uint64 // of those running, how many are timed for their own sake
	threw, missed uint64
	late          bool
	self          int64 // of ended
	soFar         int64 // of drawn
	squares       float64
	max           uint64
	paused        int64   // of self
	lost          int64   // all that Sonde took here, paused included
	span          float64 // how long the threads have known the node: it cannot have taken longer
	children      []*tally
	byMethod      map[int]*tally // children, once they are many
}

// manyChildren is from where on children are looked up rather than searched.
const manyChildren = 16

// gatherer makes tallies of one input.
type gatherer struct {
	in      *Input
	indices map[uint32]int // from ids to methods
	methods []Method
}

// newGatherer numbers the methods that occur. Methods that are called the same,
// as classes of two loaders may be, are one.
func newGatherer(in *Input) *gatherer {
	g := &gatherer{in: in, indices: map[uint32]int{}}
	var ids []uint32
	for i := range in.Threads {
		for j := range in.Threads[i].Nodes {
			ids = append(ids, in.Threads[i].Nodes[j].ID)
		}
	}
	slices.Sort(ids)
	same := map[Method]int{}
	for _, id := range slices.Compact(ids) {
		if id == in.CalibrationID || id == in.AdjustmentID {
			continue
		}
		method, known := in.Methods[id]
		if !known {
			method = unnamed(id)
		}
		index, seen := same[method]
		if !seen {
			index = len(g.methods)
			same[method] = index
			g.methods = append(g.methods, method)
		}
		g.indices[id] = index
	}
	return g
}

// thread makes the tree of one thread; it stands for no method.
func (g *gatherer) thread(t *RawThread) *tally {
	top := &tally{method: -1}
	below := map[uint32][]*Raw{}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		below[n.Parent] = append(below[n.Parent], n)
	}
	at := map[uint32]*tally{t.Root: top}
	g.grow(top, nil, t.Root, below, at)
	for _, c := range top.children {
		top.span = max(top.span, c.span)
	}
	addStack(t.Stack, g.in.Now, at)
	for _, p := range g.in.Pauses {
		if node := at[p.Node]; p.Thread == t.ID && node != nil {
			node.paused += p.Nanos
			node.lost += p.Nanos
		}
	}
	top.prune()
	return top
}

// prune drops nodes that hold nothing, such as those whose hook went off before the
// window began: no calls counted is not the same as zero calls.
func (t *tally) prune() {
	t.children = slices.DeleteFunc(t.children, func(c *tally) bool {
		c.prune()
		return c.calls == 0 && c.running == 0 && c.ended == 0 && c.lost == 0 && len(c.children) == 0
	})
	t.byMethod = nil
}

// grow adds to a node what the arena has below it. Every raw node is taken once,
// so that a damaged arena, whose nodes go round in a circle, ends it too.
func (g *gatherer) grow(parent *tally, raw *Raw, ref uint32, below map[uint32][]*Raw, at map[uint32]*tally) {
	list := below[ref]
	delete(below, ref)
	for _, n := range list {
		switch n.ID {
		case g.in.CalibrationID:
			continue
		case g.in.AdjustmentID:
			parent.lost += int64(n.Nanos)
			continue
		}
		if at[n.Ref] != nil {
			continue
		}
		node := parent.child(g.indices[n.ID])
		node.add(&tally{
			counted: g.in.Counted[n.ID], calls: n.Calls, ended: n.Timed, threw: n.Threw, missed: n.Missed,
			late: g.isLate(n, raw), self: n.Self, squares: n.Squares, max: n.Max, span: g.spanOf(n.Born),
		})
		at[n.Ref] = node
		g.grow(node, n, n.Ref, below, at)
	}
}

// isLate tells whether calls may have come before the hook did: its caller had been
// called by then.
func (g *gatherer) isLate(n, parent *Raw) bool {
	return parent != nil && g.in.HookedAt[n.ID] > max(g.in.RootsOnAt, parent.Born)
}

func (g *gatherer) spanOf(born int64) float64 {
	if born == 0 || g.in.Now <= born {
		return math.Inf(1)
	}
	return float64(g.in.Now - born)
}

// addStack adds calls under way: each was at work itself from its start until now,
// or until the next timed one started, but for callees that have ended.
func addStack(stack []Frame, now int64, at map[uint32]*tally) {
	until := now
	for _, f := range slices.Backward(stack) {
		node := at[f.Node]
		if node == nil {
			continue
		}
		node.running++
		if f.Start == 0 {
			continue
		}
		if f.Drawn {
			node.drawn++
			// The stack is read while the thread runs on: its frames may be of
			// slightly different moments.
			soFar := max(0, until-f.Start-f.Child)
			node.soFar += soFar
			node.max = max(node.max, uint64(max(0, now-f.Start)))
		}
		until = f.Start
	}
}

// child finds or makes the node of a method below this one.
func (t *tally) child(method int) *tally {
	if c := t.byMethod[method]; c != nil {
		return c
	}
	if t.byMethod == nil {
		for _, c := range t.children {
			if c.method == method {
				return c
			}
		}
	}
	c := &tally{method: method}
	t.children = append(t.children, c)
	if t.byMethod != nil {
		t.byMethod[method] = c
	} else if len(t.children) > manyChildren {
		t.byMethod = make(map[int]*tally, 2*manyChildren)
		for _, c := range t.children {
			t.byMethod[c.method] = c
		}
	}
	return c
}

// add adds what another tally has, without what is below it.
func (t *tally) add(other *tally) {
	t.counted = t.counted || other.counted
	t.late = t.late || other.late
	t.calls += other.calls
	t.ended += other.ended
	t.running += other.running
	t.drawn += other.drawn
	t.threw += other.threw
	t.missed += other.missed
	t.self += other.self
	t.soFar += other.soFar
	t.squares += other.squares
	t.max = max(t.max, other.max)
	t.paused += other.paused
	t.lost += other.lost
	t.span += other.span
}

// merge adds another tree.
func (t *tally) merge(other *tally) {
	t.add(other)
	for _, c := range other.children {
		t.child(c.method).merge(c)
	}
}
