package cct

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Build makes trees of what hooks wrote: one for each thread and one of all. It
// fills in Methods, Merged, Threads and Calibration; the rest is the caller's to
// say.
//
// The merged tree is not the sum of the threads' trees but reckoned from the sum of
// what was measured: calls drawn in all threads speak for all calls, which tells
// more than each thread's few do for its own. Where every call was timed the two
// are the same, but for what is cut off at zero.
func Build(in Input) *Profile {
	g := newGatherer(&in)
	if in.Calibration.Drawn == (Span{}) {
		in.Calibration.Drawn = in.Calibration.Inner // nothing was drawn by lot to know better by
	}
	r := &reckoner{&in.Calibration}
	threads := slices.Clone(in.Threads)
	// Sums of squares depend on their order in the last digit.
	slices.SortStableFunc(threads, func(a, b RawThread) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Root, b.Root)) })
	all := &tally{method: -1}
	p := &Profile{Methods: g.methods, Calibration: in.Calibration}
	for i := range threads {
		t := &threads[i]
		top := g.thread(t)
		if len(top.children) == 0 && top.lost == 0 {
			continue
		}
		all.merge(top)
		p.Threads = append(p.Threads, Thread{ID: t.ID, Name: t.Name, Virtual: t.Virtual, Top: r.node(top)})
	}
	p.Merged = r.node(all)
	slices.SortStableFunc(p.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Top.Total.Nanos, a.Top.Total.Nanos), cmp.Compare(a.ID, b.ID))
	})
	return p
}

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

// What calibration leaves open. It is made on one body, called alone; calls in a
// program differ from it, and these say by how much they may.
const (
	// calleeDoubt is the part by which the cost of a timed call to its caller may
	// differ from the calibrated one, in either direction: what stands around a
	// call decides how well the processor hides it.
	calleeDoubt = 0.25
	// countLeast and countMost bound what a call that is only counted costs, in
	// calibrated costs. Where a hook kept the compiler from inlining the method,
	// it costs several times as much as on the calibrated body.
	countLeast, countMost = 0.5, 4.0
	// movable is how much of a short call a compiler may do behind its exit:
	// arithmetic that nothing needs before. Such a call reads too short by it, and its
	// caller too long. In calls of twice as much and more, loops keep that from being.
	movable = 50.0
)

// bounded is a sum of times whose errors are kept apart: those of calibration go
// the same way everywhere and add up; those of chance are independent.
type bounded struct {
	nanos        float64
	least, most  float64 // by calibration
	below, above float64 // by chance, squared
}

func (b *bounded) add(other bounded) {
	b.nanos += other.nanos
	b.least += other.least
	b.most += other.most
	b.below += other.below
	b.above += other.above
}

// time joins both errors, within what is possible at all.
func (b bounded) time(possible float64) Time {
	return Time{
		Nanos: b.nanos,
		Low:   math.Min(b.nanos, math.Max(0, b.least-math.Sqrt(b.below))),
		High:  math.Max(b.nanos, math.Min(possible, b.most+math.Sqrt(b.above))),
	}
}

// A reckoner takes off what measuring cost.
type reckoner struct{ calibration *Calibration }

// node makes a node of a tally, and of all below it.
func (r *reckoner) node(t *tally) *Node {
	n, _ := r.subtree(t)
	return n
}

func (r *reckoner) subtree(t *tally) (*Node, bounded) {
	self := r.self(t)
	total := self // known in full: time that a late hook did not see is in it all the same
	if slices.ContainsFunc(t.children, func(child *tally) bool { return child.late }) {
		self.least = 0 // what those took before their hooks came is in it
	}
	n := &Node{
		Method: t.method, Calls: t.calls, Threw: t.threw, Timed: t.ended + t.drawn, Self: self.time(t.possible()), Spread: t.spread(),
		Raw: t.self + t.soFar, Max: time.Duration(t.max), Running: t.running, Missed: t.missed, Late: t.late,
		Lost: time.Duration(t.lost),
	}
	for _, child := range t.children {
		below, its := r.subtree(child)
		n.Children = append(n.Children, below)
		total.add(its)
	}
	n.Total = total.time(t.span)
	slices.SortFunc(n.Children, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Total.Nanos, a.Total.Nanos), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Method, b.Method))
	})
	return n, total
}

// possible is the most that the node's own calls can have taken: nothing where
// they were only counted, as their time is with their caller.
func (t *tally) possible() float64 {
	if t.isCounted() || t.method < 0 {
		return 0
	}
	return t.span
}

// spread is the standard deviation of own time between the timed calls that ended.
func (t *tally) spread() float64 {
	n, self := float64(t.ended), float64(t.self)
	if t.ended < leastDrawn {
		return 0
	}
	return math.Sqrt(math.Max(0, t.squares-self*self/n) / (n - 1))
}

// isCounted tells whether the node's calls are part of what its caller measures.
func (t *tally) isCounted() bool { return t.counted && t.ended+t.drawn == 0 }

// self is the node's own time, of all its calls.
func (r *reckoner) self(t *tally) bounded {
	others := float64(t.calls) - float64(min(t.calls, t.drawn)) // calls of which ended ones speak
	switch ended := float64(t.ended); {
	case t.method < 0 || t.isCounted():
		return bounded{}
	case ended == 0: // what is under way is known, of the rest nothing
		known := r.exact(t, float64(t.drawn), float64(t.soFar-t.paused), r.calibration.Inner)
		if others > 0 {
			known.above = math.Inf(1)
		}
		return known
	case ended >= others:
		return r.exact(t, float64(t.ended+t.drawn), float64(t.self+t.soFar-t.paused), r.calibration.Inner)
	default:
		all := r.sampled(t, others)
		if t.drawn > 0 {
			all.add(r.exact(t, float64(t.drawn), float64(t.soFar), r.calibration.Drawn))
		}
		return all
	}
}

// exact takes off raw self time what measuring timed calls added to it. Clock reads
// end the overlap with what comes before and after, in the call and around its
// callees: a time may read too long by it, never too short.
func (r *reckoner) exact(t *tally, timed, raw float64, inner Span) bounded {
	c := r.calibration
	share := 1.0 // of the node's calls
	if t.calls > 0 {
		share = math.Min(1, timed/float64(t.calls))
	}
	callees, counted := t.callees()
	callees, counted = callees*share, counted*share
	brief := r.briefCallees(t) * share
	b := bounded{
		nanos: raw - timed*inner.Median - callees*c.Outer.Median - counted*c.Count.Median,
		least: raw - timed*(inner.High+c.Overlap) - callees*(c.Outer.High*(1+calleeDoubt)+c.Overlap) - brief*movable - counted*c.Count.High*countMost,
		most:  raw - timed*inner.Low - callees*c.Outer.Low*(1-calleeDoubt) - counted*c.Count.Low*countLeast,
	}
	if b.nanos < timed*2*movable {
		b.most += timed * movable
	}
	b.nanos = math.Max(0, b.nanos)
	b.least = math.Min(b.nanos, math.Max(0, b.least))
	b.most = math.Max(b.nanos, b.most)
	return b
}

// callees are the calls that hooks made dearer for the node: those that are timed
// when the node is, and those that are only counted. What is called through a
// counted one is measured as if the node itself had called it.
func (t *tally) callees() (timed, counted float64) {
	for _, child := range t.children {
		if !child.isCounted() {
			timed += float64(child.calls)
			continue
		}
		further, more := child.callees()
		timed += further
		counted += float64(child.calls) + more
	}
	return timed, counted
}

// briefCallees is how many of the timed callees are so short that a compiler may
// have moved them out of their own time.
func (r *reckoner) briefCallees(t *tally) float64 {
	var brief float64
	for _, child := range t.children {
		if child.isCounted() {
			brief += r.briefCallees(child)
		} else if timed := float64(child.ended); float64(child.self) < timed*(r.calibration.Inner.Median+2*movable) {
			brief += float64(child.calls)
		}
	}
	return brief
}

// sampled lets the calls that were drawn speak for all.
func (r *reckoner) sampled(t *tally, all float64) bounded {
	drawn := float64(t.ended)
	raw := float64(t.self - t.paused)
	b := r.exact(t, drawn, raw, r.calibration.Drawn)
	s := sample{drawn: drawn, calls: all, mean: b.nanos / drawn}
	if drawn >= leastDrawn {
		// A pause made one of the calls longer, so its square too, by 2·p·mean + p².
		paused := float64(t.paused)
		squares := t.squares - paused*(paused+2*raw/drawn)
		s.variance = math.Max(0, squares-raw*raw/drawn) / (drawn - 1)
	}
	below, above := s.interval()
	times := all / drawn
	return bounded{nanos: b.nanos * times, least: b.least * times, most: b.most * times, below: sq(below), above: sq(above)}
}

// A sample is what the drawn calls of a node say: how many, their mean, the
// variance between them, and how many calls they speak for.
type sample struct {
	drawn, calls   float64
	mean, variance float64
}

// How an interval is made wider than Student's, which supposes times that spread
// evenly. Times of calls do not: most are alike and a few are many times longer,
// and a sample that has met too few of those looks surer than it is. So the upper
// bound is that of the sample with one more call, as slow as one might have
// escaped it. TestIntervalsHold shows that intervals made so hold.
const (
	// quantile is the normal one for 98 %: who counts how often a hundred
	// intervals hold shall find 95 of them nearly always, not half the time.
	quantile = 2.3263478740408408
	// slowest is how many times the mean an unseen call may take while few were
	// drawn: below about sixty, a tenth of all calls may have stayed unseen.
	slowest, seenEnough = 10, 60
	// unseen is how many times longer than the long ones seen it may be.
	unseen = 2
	// leastDrawn is from where on a spread between calls is known at all.
	leastDrawn = 2
)

// interval is how far all calls together may be below and above calls × mean.
func (s sample) interval() (below, above float64) {
	if s.drawn < leastDrawn {
		return math.Inf(1), math.Inf(1)
	}
	left := math.Max(0, 1-s.drawn/s.calls) // what was not seen is all that can err
	if left == 0 {
		return 0, 0
	}
	t := student(s.drawn - 1)
	below = t * math.Sqrt(s.variance/s.drawn*left)
	slow := s.slow()
	n := s.drawn + 1
	mean := s.mean + (slow-s.mean)/n
	spread := s.variance*(s.drawn-1) + s.drawn*sq(s.mean-mean) + sq(slow-mean)
	above = (mean-s.mean)*left + t*math.Sqrt(spread/s.drawn/n*left)
	return below * s.calls, above * s.calls
}

// slow is the time of a call that the sample may have missed. The squares' share
// tells where the time of long calls lies: it is the mean over nanoseconds, not
// over calls.
func (s sample) slow() float64 {
	if s.mean <= 0 {
		return unseen * math.Sqrt(s.variance)
	}
	times := math.Min(slowest, slowest*seenEnough/s.drawn)
	return math.Max(times*s.mean, unseen*(s.variance/s.mean+s.mean))
}

func sq(x float64) float64 { return x * x }

// student is the quantile of Student's distribution for the normal one's: by its
// expansion in the degrees of freedom, which is within a hundredth from six on;
// below it the exact figures stand.
func student(freedom float64) float64 {
	exact := []float64{1: 31.82051595, 2: 6.96455673, 3: 4.54070286, 4: 3.74694739, 5: 3.36492999}
	if i := int(freedom); i >= 1 && i < len(exact) {
		return exact[i]
	}
	const z = quantile
	const z3, z5, z7 = z * z * z, z * z * z * z * z, z * z * z * z * z * z * z
	f := freedom
	return z + (z3+z)/(4*f) + (5*z5+16*z3+3*z)/(96*f*f) + (3*z7+19*z5+17*z3-15*z)/(384*f*f*f)
}
