package cct

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Build builds one tree per thread, one for all virtual threads, and a merged tree of all. It sets only Methods, Merged,
// Threads and Calibration.
//
// In the merged tree, work that was handed to another thread is below the node that handed it over. In the tree of the
// thread that did it, it is at the top.
//
// The merged tree is not the sum of the threads' trees: it is computed from the sum of the
// measurements, because the sampled calls of all threads together are a better sample than those of
// each thread. If every call was timed, both are the same except for values that are cut off at
// zero.
func Build(in Input) *Profile {
	g := newGatherer(&in)
	if in.Calibration.Drawn == (Span{}) {
		in.Calibration.Drawn = in.Calibration.Inner // sampled calls were not calibrated
	}
	threads := slices.Clone(in.Threads)
	// Sums of squares depend on their order in the last digit.
	slices.SortStableFunc(threads, func(a, b arena.Thread) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Root, b.Root)) })
	tops := make([]*tally, len(threads))
	for i := range threads {
		tops[i] = g.thread(&threads[i])
	}
	all, virtual := g.merge(tops), &tally{method: -1}
	done := map[*tally][]*tally{} // the parts of each thread
	for _, p := range g.parts {
		done[p.thread] = append(done[p.thread], p.top)
	}
	p := &Profile{Methods: g.methods, Calibration: in.Calibration}
	add := func(t Thread, top *tally) {
		if len(top.children) > 0 || top.lost != 0 {
			t.Top, _ = in.Calibration.subtree(top)
			p.Threads = append(p.Threads, t)
		}
	}
	for i := range threads {
		t, top := &threads[i], tops[i]
		for _, part := range done[top] {
			top.hang(part, nil)
		}
		top.prune(false)
		top.widen()
		if t.Virtual {
			virtual.merge(top, nil)
		} else {
			add(Thread{ID: t.ID, Name: cmp.Or(in.Names[t.ID], fmt.Sprintf("thread %d", t.ID))}, top)
		}
	}
	add(Thread{Name: "virtual threads", Virtual: true}, virtual)
	p.Merged, _ = in.Calibration.subtree(all)
	slices.SortStableFunc(p.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Top.Total.Nanos, a.Top.Total.Nanos), cmp.Compare(a.ID, b.ID))
	})
	return p
}

// A tally holds the measurements of a method in a context, without corrections. Tallies of several
// threads can be added; their sampled calls are then one sample.
type tally struct {
	method        int
	counted       bool // deliberately not timed
	calls         uint64
	ended         uint64 // timed calls that have ended
	running       uint64
	drawn         uint64 // running calls that are timed
	threw, missed uint64
	late          bool
	self          int64 // of the ended calls
	soFar         int64 // of the drawn calls
	squares       float64
	max           uint64
	paused        int64   // part of self
	lost          int64   // time that Sonde took, including paused
	span          float64 // time since the threads created the node: an upper bound of its time
	handed        bool    // by its parent, to another thread
	hands         bool    // it has handed work over
	children      []*tally
	byKey         map[int]*tally // children; nil for up to manyChildren
}

// key distinguishes the children of a tally.
func (t *tally) key() int { return keyOf(t.method, t.handed) }

func keyOf(method int, handed bool) int {
	if handed {
		return 2*method + 1
	}
	return 2 * method
}

// manyChildren is the number of children up to which a linear search is used.
const manyChildren = 16

// A gatherer builds the tallies of one input.
type gatherer struct {
	in      *Input
	indices map[uint32]int // of methods, by ID
	methods []Method
	at      map[uint32]*tally // in the trees of threads, by the refs of nodes; nil if no work was handed over
	parts   []part
}

// A part is work that a thread did for a node of another thread.
type part struct {
	from   uint32 // ref
	thread *tally // the top of the tree of the thread that did it
	top    *tally
}

// newGatherer numbers the methods that occur. Methods with the same name, for example of classes
// in two loaders, are treated as one.
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
		if id == arena.HandedID {
			g.at = map[uint32]*tally{}
		}
		if id == arena.CalibrationID || id == arena.AdjustmentID || id == arena.HandedID {
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

func (g *gatherer) thread(t *arena.Thread) *tally {
	top := &tally{method: -1}
	below := map[uint32][]*arena.Node{}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		below[n.Parent] = append(below[n.Parent], n)
	}
	at := map[uint32]*tally{t.Root: top}
	g.grow(top, nil, t.Root, below, at)
	top.widen()
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.ID == arena.HandedID && at[n.Ref] == nil {
			p := part{n.From, top, &tally{method: -1}}
			at[n.Ref] = p.top
			g.grow(p.top, nil, n.Ref, below, at)
			g.parts = append(g.parts, p)
		}
	}
	if g.at != nil {
		maps.Copy(g.at, at)
	}
	addStack(t.Stack, g.in.Now, at)
	for _, p := range g.in.Pauses {
		if node := at[p.Node]; p.Thread == t.ID && node != nil {
			node.paused += p.Nanos
			node.lost += p.Nanos
		}
	}
	return top
}

// widen lets the bound of the time of a thread include that of its calls.
func (t *tally) widen() {
	for _, c := range t.children {
		t.span = max(t.span, c.span)
	}
}

// merge returns the tree of all threads, with the parts below the nodes that handed them over.
func (g *gatherer) merge(tops []*tally) *tally {
	for _, p := range g.parts {
		if from := g.at[p.from]; from != nil {
			from.hands = true
		}
	}
	all := &tally{method: -1}
	var in map[*tally]*tally
	if len(g.parts) > 0 {
		in = map[*tally]*tally{}
	}
	for _, top := range tops {
		top.prune(true)
		if len(top.children) > 0 || top.lost != 0 {
			all.merge(top, in)
		}
	}
	left := g.parts
	for range mostHanded { // a part may be handed over by a node of another part
		var found []part
		left = slices.DeleteFunc(slices.Clone(left), func(p part) bool {
			isKnown := in[g.at[p.from]] != nil
			if isKnown {
				found = append(found, p)
			}
			return isKnown
		})
		for _, p := range found {
			in[g.at[p.from]].hang(p.top, in)
		}
	}
	for _, p := range left {
		all.hang(p.top, in) // nobody knows which call handed it over
	}
	all.prune(false)
	return all
}

// mostHanded bounds how often work is handed on. Hooks do not exceed it, but an arena may be damaged.
const mostHanded = 8

// hang adds the calls of a part below the node that handed it over. in gets the tally that includes each tally, unless it is nil.
func (t *tally) hang(part *tally, in map[*tally]*tally) {
	if in != nil {
		in[part] = t
	}
	for _, c := range part.children {
		t.child(c.method, true).merge(c, in)
	}
}

// prune removes empty nodes, such as those whose hook was switched off before the window began:
// not counting calls is not the same as zero calls. It may spare nodes that have handed work over.
func (t *tally) prune(sparing bool) {
	t.children = slices.DeleteFunc(t.children, func(c *tally) bool {
		c.prune(sparing)
		return c.calls == 0 && c.running == 0 && c.ended == 0 && c.lost == 0 && len(c.children) == 0 && !(sparing && c.hands)
	})
	t.byKey = nil
}

// grow adds the nodes below a node. It uses each node of the arena once, so that it terminates for
// damaged arenas with cycles, too.
func (g *gatherer) grow(parent *tally, raw *arena.Node, ref uint32, below map[uint32][]*arena.Node, at map[uint32]*tally) {
	list := below[ref]
	delete(below, ref)
	for _, n := range list {
		switch n.ID {
		case arena.CalibrationID, arena.HandedID:
			continue
		case arena.AdjustmentID:
			parent.lost += int64(n.Nanos)
			continue
		}
		if at[n.Ref] != nil {
			continue
		}
		node := parent.child(g.indices[n.ID], false)
		node.add(&tally{
			counted: g.in.Counted[n.ID], calls: n.Calls, ended: n.Timed, threw: n.Threw, missed: n.Missed,
			late: g.isLate(n, raw), self: n.Self, squares: n.Squares, max: n.Max, span: g.spanOf(n.Born),
		})
		at[n.Ref] = node
		g.grow(node, n, n.Ref, below, at)
	}
}

// isLate reports whether there may have been calls before the hook: the caller was called earlier.
func (g *gatherer) isLate(n, parent *arena.Node) bool {
	return parent != nil && g.in.HookedAt[n.ID] > max(g.in.RootsOnAt, parent.Born)
}

func (g *gatherer) spanOf(born int64) float64 {
	if born == 0 || g.in.Now <= born {
		return math.Inf(1)
	}
	return float64(g.in.Now - born)
}

// addStack adds running calls: the own time of each lasts from its start until now, or until the
// start of the next timed call, except for callees that have ended.
func addStack(stack []arena.Frame, now int64, at map[uint32]*tally) {
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
		node.drawn++
		// The thread runs while its stack is read, so its frames may be of slightly different moments.
		node.soFar += max(0, until-f.Start-f.Child)
		node.max = max(node.max, uint64(max(0, now-f.Start)))
		until = f.Start
	}
}

// child returns the child for a method, which it creates if necessary.
func (t *tally) child(method int, handed bool) *tally {
	key := keyOf(method, handed)
	if c := t.byKey[key]; c != nil {
		return c
	}
	if t.byKey == nil {
		for _, c := range t.children {
			if c.key() == key {
				return c
			}
		}
	}
	c := &tally{method: method, handed: handed}
	t.children = append(t.children, c)
	if t.byKey != nil {
		t.byKey[key] = c
	} else if len(t.children) > manyChildren {
		t.byKey = make(map[int]*tally, 2*manyChildren)
		for _, c := range t.children {
			t.byKey[c.key()] = c
		}
	}
	return c
}

// add adds another tally without its children.
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

// merge adds another tally with its children. in gets the tally that includes each tally, unless it is nil.
func (t *tally) merge(other *tally, in map[*tally]*tally) {
	if in != nil {
		in[other] = t
	}
	t.add(other)
	for _, c := range other.children {
		t.child(c.method, c.handed).merge(c, in)
	}
}

// Errors of the calibration, which measures one body that is called alone.
const (
	// calleeDoubt is the relative error of the cost of a timed call to its caller, in both
	// directions: how well the processor hides it depends on the surrounding code.
	calleeDoubt = 0.25
	// countLeast and countMost bound the cost of a counted call relative to the calibrated cost.
	// If a hook prevents inlining, it costs several times as much as in the calibrated body.
	countLeast, countMost = 0.5, 4.0
	// movable is how much of a short call a compiler may move past its exit: arithmetic whose result
	// is needed later. Such a call appears too short by it, and its caller too long. The loops of
	// calls that are twice as long or longer prevent it.
	movable = 50.0
)

// bounded is a sum of times with two kinds of errors: errors of the calibration have the same
// direction everywhere and add up; random errors are independent.
type bounded struct {
	nanos        float64
	least, most  float64 // bounds by calibration
	below, above float64 // random errors, squared
}

func (b *bounded) add(other bounded) {
	b.nanos += other.nanos
	b.least += other.least
	b.most += other.most
	b.below += other.below
	b.above += other.above
}

// time combines both errors, up to the largest possible time.
func (b bounded) time(possible float64) Time {
	return Time{
		Nanos: b.nanos,
		Low:   math.Min(b.nanos, math.Max(0, b.least-math.Sqrt(b.below))),
		High:  math.Max(b.nanos, math.Min(possible, b.most+math.Sqrt(b.above))),
	}
}

// subtree returns the node of a tally with its children, without the cost of measuring, and
// its total time.
func (c *Calibration) subtree(t *tally) (*Node, bounded) {
	self := c.self(t)
	total := self // includes the time before late hooks
	if slices.ContainsFunc(t.children, func(child *tally) bool { return child.late && !child.handed }) {
		self.least = 0 // it includes their time before their hooks
	}
	n := &Node{
		Method: t.method, Calls: t.calls, Threw: t.threw, Timed: t.ended + t.drawn, Self: self.time(t.possible()), Spread: t.spread(),
		Raw: t.self + t.soFar, Max: time.Duration(t.max), Running: t.running, Missed: t.missed, Late: t.late,
		Lost: time.Duration(t.lost), Handed: t.handed,
	}
	for _, child := range t.children {
		below, its := c.subtree(child)
		n.Children = append(n.Children, below)
		if !child.handed || t.method < 0 {
			total.add(its)
		}
	}
	n.Total = total.time(t.span)
	slices.SortFunc(n.Children, byTotal)
	return n, total
}

// byTotal orders the longest first, and callees before work that was handed over.
func byTotal(a, b *Node) int {
	if a.Handed != b.Handed {
		if a.Handed {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Total.Nanos, a.Total.Nanos), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Method, b.Method))
}

// possible returns the largest possible own time: 0 if calls were only counted, because their time
// is part of their caller.
func (t *tally) possible() float64 {
	if t.isCounted() || t.method < 0 {
		return 0
	}
	return t.span
}

// spread returns the standard deviation of own time between the timed calls that have ended.
func (t *tally) spread() float64 {
	n, self := float64(t.ended), float64(t.self)
	if t.ended < leastDrawn {
		return 0
	}
	return math.Sqrt(math.Max(0, t.squares-self*self/n) / (n - 1))
}

// isCounted reports whether the time of the node's calls is part of its caller.
func (t *tally) isCounted() bool { return t.counted && t.ended+t.drawn == 0 }

// self returns the own time of all calls of a node.
func (c *Calibration) self(t *tally) bounded {
	others := float64(t.calls) - float64(min(t.calls, t.drawn)) // calls that the ended ones represent
	switch ended := float64(t.ended); {
	case t.method < 0 || t.isCounted():
		return bounded{}
	case ended == 0: // only running calls are known
		known := c.exact(t, float64(t.drawn), float64(t.soFar-t.paused), c.Inner)
		if others > 0 {
			known.above = math.Inf(1)
		}
		return known
	case ended >= others:
		return c.exact(t, float64(t.ended+t.drawn), float64(t.self+t.soFar-t.paused), c.Inner)
	default:
		all := c.sampled(t, others)
		if t.drawn > 0 {
			all.add(c.exact(t, float64(t.drawn), float64(t.soFar), c.Drawn))
		}
		return all
	}
}

// exact subtracts the cost of timing calls from raw self time. Reading the clock ends the overlap
// with the instructions before and after, in the call and around its callees, so a time may appear
// too long by it, never too short.
func (c *Calibration) exact(t *tally, timed, raw float64, inner Span) bounded {
	share := 1.0 // part of the node's calls
	if t.calls > 0 {
		share = math.Min(1, timed/float64(t.calls))
	}
	callees, counted := t.callees()
	callees, counted = callees*share, counted*share
	brief := c.briefCallees(t) * share
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

// callees returns the calls whose hooks add to the node's time: calls that are timed when the
// node is, and calls that are only counted. Callees of a counted call are measured as if the node
// itself had called them. Work for it on other threads costs it nothing.
func (t *tally) callees() (timed, counted float64) {
	for _, child := range t.children {
		if child.handed {
			continue
		}
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

// briefCallees returns how many of the timed callees are so short that a compiler may have moved
// their work out of their own time.
func (c *Calibration) briefCallees(t *tally) float64 {
	var brief float64
	for _, child := range t.children {
		if child.handed {
			continue
		}
		if child.isCounted() {
			brief += c.briefCallees(child)
		} else if timed := float64(child.ended); float64(child.self) < timed*(c.Inner.Median+2*movable) {
			brief += float64(child.calls)
		}
	}
	return brief
}

func (c *Calibration) sampled(t *tally, all float64) bounded {
	drawn := float64(t.ended)
	raw := float64(t.self - t.paused)
	b := c.exact(t, drawn, raw, c.Drawn)
	s := sample{drawn: drawn, calls: all, mean: b.nanos / drawn}
	if drawn >= leastDrawn {
		// A pause made one of the calls longer, and its square larger by 2·p·mean + p².
		paused := float64(t.paused)
		squares := t.squares - paused*(paused+2*raw/drawn)
		s.variance = math.Max(0, squares-raw*raw/drawn) / (drawn - 1)
	}
	below, above := s.interval()
	times := all / drawn
	return bounded{nanos: b.nanos * times, least: b.least * times, most: b.most * times, below: sq(below), above: sq(above)}
}

// A sample describes the sampled calls of a node, and how many calls they represent.
type sample struct {
	drawn, calls   float64
	mean, variance float64
}

// Intervals are wider than Student's, which assumes a normal distribution. Most calls take about
// the same time and a few take many times longer, and a sample that missed those has too small a
// variance. So the upper bound is that of the sample plus one call, as slow as the sample may have
// missed. TestIntervalsHold verifies these intervals.
const (
	// quantile is that of the normal distribution for 98 %, so that of a hundred intervals 95 hold
	// nearly always, and not just on average.
	quantile = 2.3263478740408408
	// slowest is how many times the mean a missed call may take if few were sampled: below about
	// sixty, a tenth of all calls may have been missed.
	slowest, seenEnough = 10, 60
	// unseen is how many times longer than the sampled long calls it may be.
	unseen = 2
	// leastDrawn is the smallest sample that has a variance.
	leastDrawn = 2
)

// interval returns how far the time of all calls may be below and above calls × mean.
func (s sample) interval() (below, above float64) {
	if s.drawn < leastDrawn {
		return math.Inf(1), math.Inf(1)
	}
	left := math.Max(0, 1-s.drawn/s.calls) // only the other calls are uncertain
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

// slow returns the time of a call that the sample may have missed. Variance/mean + mean is the mean
// over nanoseconds instead of calls, and so the time of long calls.
func (s sample) slow() float64 {
	if s.mean <= 0 {
		return unseen * math.Sqrt(s.variance)
	}
	times := math.Min(slowest, slowest*seenEnough/s.drawn)
	return math.Max(times*s.mean, unseen*(s.variance/s.mean+s.mean))
}

func sq(x float64) float64 { return x * x }

// student returns the quantile of Student's distribution: from six degrees of freedom on by its
// expansion, whose error is below a hundredth, and below from a table.
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
