package cct

import (
	"cmp"
	"math"
	"slices"
	"time"
)

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
