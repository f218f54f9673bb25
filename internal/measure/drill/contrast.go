// Package drill decides how a search goes from a slow method to its cause. It compares slow calls of the
// method with normal ones: callees that take longer in slow calls account for the excess, and
// values that slow calls have in common show under
// which conditions the method is slow. It has no I/O: `sonde drill` gives it
// transactions and samples, and installs the hooks that it requests.
package drill

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// A Tree holds the calls below a method, separately for slow and for normal calls of the method.
type Tree struct {
	Root         *Node // nil before the first call
	Slow, Normal int   // calls of the method

	goal      time.Duration
	dissolved map[uint32]bool // hooks of methods that count as a part of their callers
}

// A Node is a method in one calling context below the root.
type Node struct {
	Spot                      uint32 // its hook
	Class, Method, Descriptor string
	Handed                    bool // it ran as a task on another thread
	Slow, Normal              Sums
	Children                  []*Node
	Parent                    *Node
}

// Sums are sums over the calls of a node, for all slow or all normal calls of the root.
type Sums struct {
	Calls                    uint64
	Time, Self               float64 // in nanoseconds; Self is without the children on the same thread
	timeSquared, selfSquared float64 // of the sums in each call of the root
	timeInCall, selfInCall   float64 // sums in the current call of the root
	isInCall                 bool
}

// NewTree returns a tree for calls whose time should not be longer than the goal.
func NewTree(goal time.Duration) *Tree { return &Tree{goal: goal} }

// Again returns a tree without calls, for the same search.
func (t *Tree) Again() *Tree { return &Tree{goal: t.goal, dissolved: t.dissolved} }

// IsSlow reports whether a transaction took longer than the goal.
func (t *Tree) IsSlow(tx *trace.Transaction) bool { return tx.Duration > t.goal }

// Add adds a call of the method. Calls of which parts were lost do not count.
func (t *Tree) Add(tx *trace.Transaction) {
	if tx.Lost > 0 || tx.Root == nil {
		return
	}
	isSlow := t.IsSlow(tx)
	if isSlow {
		t.Slow++
	} else {
		t.Normal++
	}
	if t.Root == nil {
		t.Root = &Node{}
	}
	a := adder{isSlow: isSlow, dissolved: t.dissolved}
	t.Root.name(tx.Root)
	a.call(t.Root, tx.Root)
	for _, part := range tx.Parts {
		a.call(t.Root.child(part.Spot, true), part)
	}
	for _, s := range a.met {
		s.timeSquared += s.timeInCall * s.timeInCall
		s.selfSquared += s.selfInCall * s.selfInCall
		s.timeInCall, s.selfInCall, s.isInCall = 0, 0, false
	}
}

// An adder adds one transaction.
type adder struct {
	isSlow    bool
	dissolved map[uint32]bool
	met       []*Sums
}

func (a *adder) add(n *Node, calls uint64, total, self time.Duration) {
	s := &n.Normal
	if a.isSlow {
		s = &n.Slow
	}
	if !s.isInCall {
		s.isInCall = true
		a.met = append(a.met, s)
	}
	s.Calls += calls
	s.Time += float64(total)
	s.Self += float64(self)
	s.timeInCall += float64(total)
	s.selfInCall += float64(self)
}

func (a *adder) call(n *Node, c *trace.Call) {
	n.name(c)
	a.add(n, 1, c.Duration, c.Self)
	a.callees(n, c)
}

// callees adds what a call calls to a node.
func (a *adder) callees(n *Node, c *trace.Call) {
	for _, child := range c.Children {
		if a.dissolved[child.Spot] && !child.Handed {
			a.add(n, 0, 0, child.Self)
			a.callees(n, child)
			continue
		}
		a.call(n.child(child.Spot, child.Handed), child)
	}
	a.folded(n, c.Folded)
}

func (a *adder) folded(n *Node, all []*trace.Folded) {
	for _, f := range all {
		at := n
		if a.dissolved[f.Spot] {
			a.add(n, 0, 0, f.Self)
		} else {
			at = n.child(f.Spot, false)
			at.Class, at.Method, at.Descriptor = f.Class, f.Method, f.Descriptor
			a.add(at, f.Calls, f.Duration, f.Self)
		}
		a.folded(at, f.Children)
	}
}

func (n *Node) name(c *trace.Call) {
	n.Spot, n.Class, n.Method, n.Descriptor = c.Spot, c.Class, c.Method, c.Descriptor
}

// child returns the node of a method that this one calls.
func (n *Node) child(spot uint32, isHanded bool) *Node {
	for _, c := range n.Children {
		if c.Spot == spot && c.Handed == isHanded {
			return c
		}
	}
	c := &Node{Spot: spot, Handed: isHanded, Parent: n}
	n.Children = append(n.Children, c)
	return c
}

// dissolve makes methods a part of their callers.
func (n *Node) dissolve(spots map[uint32]bool) {
	before := n.Children
	n.Children = nil
	for _, c := range before {
		c.dissolve(spots)
		if !spots[c.Spot] || c.Handed {
			n.adopt(c)
			continue
		}
		n.Slow.Self += c.Slow.Self
		n.Normal.Self += c.Normal.Self
		n.Slow.selfSquared += c.Slow.selfSquared
		n.Normal.selfSquared += c.Normal.selfSquared
		for _, child := range c.Children {
			n.adopt(child)
		}
	}
}

// adopt makes a node a child, or adds it to the child of the same method.
func (n *Node) adopt(other *Node) {
	at := slices.IndexFunc(n.Children, func(c *Node) bool { return c.Spot == other.Spot && c.Handed == other.Handed })
	if at < 0 {
		other.Parent = n
		n.Children = append(n.Children, other)
		return
	}
	same := n.Children[at]
	same.Slow.merge(other.Slow)
	same.Normal.merge(other.Normal)
	for _, c := range other.Children {
		same.adopt(c)
	}
}

// merge adds the sums of another node of the same method. That a call of the root has both is rare: it would make the sum of
// the squares too small.
func (s *Sums) merge(other Sums) {
	s.Calls += other.Calls
	s.Time += other.Time
	s.Self += other.Self
	s.timeSquared += other.timeSquared
	s.selfSquared += other.selfSquared
}

// Name returns class and method.
func (n *Node) Name() string {
	if n.Class == "" {
		return n.Method
	}
	return n.Class + "." + n.Method
}

// Thrower returns the name of the innermost method below a failed call that threw.
func Thrower(c *trace.Call) string {
	for _, callee := range slices.Backward(c.Children) { // a callee whose exception was caught is not the last
		if callee.Threw {
			return Thrower(callee)
		}
	}
	return c.Name()
}

// A Contrast compares a time in slow calls with that in normal ones.
type Contrast struct {
	Slow   float64   `json:"slowMeanNanos"`   // mean of all slow calls of the root
	Normal float64   `json:"normalMeanNanos"` // likewise of normal ones
	Share  cct.Share `json:"excess"`          // part of the root's excess
}

// Excess returns how much longer it is in slow calls.
func (c Contrast) Excess() float64 { return c.Slow - c.Normal }

// Time compares the time of a node with its callees.
func (t *Tree) Time(n *Node) Contrast {
	return t.contrast(n.Slow.Time, n.Slow.timeSquared, n.Normal.Time, n.Normal.timeSquared)
}

// Self compares the time of a node without its hooked callees.
func (t *Tree) Self(n *Node) Contrast {
	return t.contrast(n.Slow.Self, n.Slow.selfSquared, n.Normal.Self, n.Normal.selfSquared)
}

func (t *Tree) contrast(slow, slowSquared, normal, normalSquared float64) Contrast {
	const z = 1.96
	slowMean, slowError := mean(slow, slowSquared, t.Slow)
	normalMean, normalError := mean(normal, normalSquared, t.Normal)
	c := Contrast{Slow: slowMean, Normal: normalMean}
	if whole := t.excess(); whole > 0 {
		part, off := c.Excess()/whole, z*math.Hypot(slowError, normalError)/whole
		c.Share = cct.Share{Part: part, Low: part - off, High: part + off}
	}
	return c
}

// excess returns how much longer slow calls of the root take than normal ones.
func (t *Tree) excess() float64 {
	if t.Root == nil {
		return 0
	}
	slow, _ := mean(t.Root.Slow.Time, 0, t.Slow)
	normal, _ := mean(t.Root.Normal.Time, 0, t.Normal)
	return slow - normal
}

// mean returns the mean of n values with its standard error.
func mean(sum, squares float64, n int) (value, deviation float64) {
	if n == 0 {
		return 0, 0
	}
	value = sum / float64(n)
	if n > 1 {
		deviation = math.Sqrt(max(0, squares/float64(n)-value*value) / float64(n-1))
	}
	return value, deviation
}

// callees returns the children on the same thread, those with the largest excess first.
func (t *Tree) callees(n *Node) (sorted []*Node) {
	for _, c := range n.Children {
		if !c.Handed {
			sorted = append(sorted, c)
		}
	}
	slices.SortStableFunc(sorted, func(a, b *Node) int { return cmp.Compare(t.Time(b).Excess(), t.Time(a).Excess()) })
	return sorted
}

// Callees returns the hooks of what the method calls on the same thread.
func (n *Node) Callees() (spots []uint32) {
	for _, c := range n.Children {
		if !c.Handed {
			spots = append(spots, c.Spot)
		}
	}
	return spots
}

// task returns the task on another thread that has the largest excess, below any node of the path; nil if
// there is none.
func (t *Tree) task(path []*Node) (found *Node) {
	for _, n := range path {
		for _, c := range n.Children {
			if c.Handed && (found == nil || t.Time(c).Excess() > t.Time(found).Excess()) {
				found = c
			}
		}
	}
	return found
}
