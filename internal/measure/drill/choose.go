package drill

import (
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
)

const (
	// leastPart is the part of a method's excess that a callee must account for, to be the next method.
	leastPart = 0.3
	// moreInAll is how many times the largest excess of a callee a method must have that several callees call, to be the next one.
	moreInAll = 1.5
	// mostOfIt is the part of an excess from which on something accounts for most of it.
	mostOfIt = 0.5
	// Calls of the root with which slow and normal ones are compared: enough of them, or few after Patience.
	enoughCalls = 8
	manyCalls   = 30
	fewCalls    = 3
	// narrow is the width of the interval of the excess from which on more calls would not change much.
	narrow = 0.3
	// Patience is how long enough calls are awaited.
	Patience = 8 * time.Second
	// MostLevels bounds the path.
	MostLevels = 60
)

// IsEnough reports whether there are enough calls to compare slow with normal ones, after they were awaited for a
// time. Slow calls alone are enough if there are no others.
func (t *Tree) IsEnough(waited time.Duration) bool {
	switch {
	case t.Slow >= fewCalls && waited >= Patience:
		return true
	case t.Slow < enoughCalls || t.Normal < enoughCalls:
		return false
	case t.Slow >= manyCalls || t.Root == nil:
		return true
	}
	whole := t.Time(t.Root).Share
	return whole.High-whole.Low < narrow
}

// A Stop says why a path ends.
type Stop string

// The reasons.
const (
	Unfinished Stop = ""        // its last method has callees that had no hooks yet
	OwnTime    Stop = "own"     // the own time of the last method, and of callees that get no hooks
	Spread     Stop = "spread"  // many callees have a part each
	Changed    Stop = "changed" // the path no longer accounts for the excess
)

// A Choice is where the excess of slow calls comes from, as far as hooks show it.
type Choice struct {
	Path []*Node // from the root on
	Stop Stop
	Open *Node // its callees should get hooks next; nil if the search ends

	tree *Tree
}

// dissolved returns the hooks of methods that count as a part of their callers.
func (c Choice) dissolved() map[uint32]bool {
	if c.tree == nil {
		return nil
	}
	return c.tree.dissolved
}

// Last returns the last method of the path.
func (c Choice) Last() *Node { return c.Path[len(c.Path)-1] }

// Choose follows the excess from the root down: along a path that was chosen before, then at each method into
// the callee with the largest excess, if it is a large part of the method's, until callees have no hooks.
// isOpen reports whether the callees of a method have hooks, as far as they can. If the last method
// waits for others, tasks on other threads that have the excess are followed.
func (t *Tree) Choose(before []uint32, isOpen func(*Node) bool, waits bool) Choice {
	choice := Choice{Path: []*Node{t.Root}, tree: t}
	for _, spot := range before[min(1, len(before)):] {
		if t.dissolved[spot] {
			continue
		}
		next := called(choice.Path, spot)
		if next == nil || t.Time(next).Excess() < leastPart/2*t.Time(choice.Last()).Excess() {
			choice.Stop = Changed
			return choice
		}
		choice.Path = append(choice.Path, next)
	}
	for len(choice.Path) < MostLevels {
		n := choice.Last()
		if !isOpen(n) {
			choice.Open = n
			return choice
		}
		t.dissolveBelow(choice.Path)
		next := t.next(n)
		if next == nil {
			break
		}
		choice.Path = append(choice.Path, next)
	}
	if t.dissolveAround(choice.Path) {
		return t.Choose(before, isOpen, waits)
	}
	n := choice.Last()
	if own := t.Self(n).Excess(); own < mostOfIt*t.Time(n).Excess() {
		choice.Stop = Spread
		return choice
	}
	choice.Stop = OwnTime
	isTask := slices.ContainsFunc(choice.Path, func(n *Node) bool { return n.Handed })
	if task := t.task(choice.Path); waits && !isTask && task != nil && t.Time(task).Excess() >= mostOfIt*t.Self(n).Excess() {
		return t.Choose(append(spots(choice.Path), task.Spot), isOpen, false)
	}
	return choice
}

// called returns what the last method of a path calls, or a task that one of the path has handed to another thread.
func called(path []*Node, spot uint32) *Node {
	for i, n := range slices.Backward(path) {
		for _, c := range n.Children {
			if c.Spot == spot && (i == len(path)-1 || c.Handed) {
				return c
			}
		}
	}
	return nil
}

// dissolveBelow looks for a method that several callees of the last method of a path call, directly or not, and that has most of
// the excess, if none of the callees has: for example one that all handlers of requests call. The methods between then count as
// a part of the last one.
func (t *Tree) dissolveBelow(path []*Node) {
	n := path[len(path)-1]
	callees := t.callees(n)
	if len(callees) == 0 {
		return
	}
	first, all := t.Time(callees[0]).Excess(), t.Time(n).Excess()
	if first >= mostOfIt*all {
		return
	}
	sums, between := inAll(n)
	var most *Node
	for _, spot := range slices.Sorted(maps.Keys(sums)) {
		if s := sums[spot]; most == nil || t.Time(s).Excess() > t.Time(most).Excess() {
			most = s
		}
	}
	isOnPath := slices.ContainsFunc(path, func(n *Node) bool { return between[most.Spot][n.Spot] }) // a recursion
	if excess := t.Time(most).Excess(); excess >= mostOfIt*all && excess >= moreInAll*first && !isOnPath {
		t.dissolve(between[most.Spot])
	}
}

// dissolveAround looks for a method that is called by several ways, and has most of the excess by all ways together, but not by
// the path that was chosen: for example one that several methods call to get a connection. The methods between it and the root then
// count as a part of the root.
func (t *Tree) dissolveAround(path []*Node) bool {
	if len(path) < 3 {
		return false
	}
	sums, between := inAll(t.Root)
	isFound := func(spot uint32, chosen *Node) bool {
		excess := t.Time(sums[spot]).Excess()
		return excess >= mostOfIt*t.excess() && excess >= moreInAll*t.Time(chosen).Excess() && !between[spot][spot] && !between[spot][t.Root.Spot]
	}
	for _, n := range path[1:] {
		if n.Handed || sums[n.Spot] == nil {
			return false // on another thread
		}
		if isFound(n.Spot, n) {
			t.dissolve(between[n.Spot])
			return true
		}
		delete(sums, n.Spot)
	}
	var most *Node
	for _, spot := range slices.Sorted(maps.Keys(sums)) {
		if s := sums[spot]; isFound(spot, path[len(path)-1]) && (most == nil || t.Time(s).Excess() > t.Time(most).Excess()) {
			most = s
		}
	}
	if most == nil || len(between[most.Spot]) == 0 {
		return false
	}
	t.dissolve(between[most.Spot])
	return true
}

// dissolve makes methods a part of their callers, from now on.
func (t *Tree) dissolve(spots map[uint32]bool) {
	all := make(map[uint32]bool)
	maps.Copy(all, t.dissolved)
	maps.Copy(all, spots)
	t.dissolved = all
	t.Root.dissolve(all)
}

// inAll returns the sums of each method over all ways from a node to it, on the same thread, and the hooks on these ways.
func inAll(n *Node) (sums map[uint32]*Node, between map[uint32]map[uint32]bool) {
	sums, between = make(map[uint32]*Node), make(map[uint32]map[uint32]bool)
	var walk func(from *Node, way []uint32)
	walk = func(from *Node, way []uint32) {
		for _, c := range from.Children {
			if c.Handed || slices.Contains(way, c.Spot) || len(way) == MostLevels {
				continue // an inner call of a recursion is a part of the outer one
			}
			if sums[c.Spot] == nil {
				sums[c.Spot], between[c.Spot] = &Node{Spot: c.Spot}, make(map[uint32]bool)
			}
			sums[c.Spot].Slow.merge(c.Slow)
			sums[c.Spot].Normal.merge(c.Normal)
			for _, spot := range way {
				between[c.Spot][spot] = true
			}
			walk(c, append(slices.Clip(way), c.Spot))
		}
	}
	walk(n, nil)
	return sums, between
}

// next returns the callee that has a large part of a method's excess, and more than its own time.
func (t *Tree) next(n *Node) *Node {
	callees := t.callees(n)
	if len(callees) == 0 {
		return nil
	}
	first := t.Time(callees[0]).Excess()
	if first < leastPart*t.Time(n).Excess() || first < t.Self(n).Excess() {
		return nil
	}
	return callees[0]
}

// Spots returns the hooks of the path.
func (c Choice) Spots() []uint32 { return spots(c.Path) }

func spots(path []*Node) (all []uint32) {
	for _, n := range path {
		all = append(all, n.Spot)
	}
	return all
}

// mostSiblings is how many other callees of a method are named, and leastBeside the part of the excess they must have.
const (
	mostSiblings = 4
	leastBeside  = 0.01
)

// Levels describes a path with the figures of each method, and other callees of its methods that matter. Of a method whose callees
// are about to get hooks, it is not known yet which are on the path.
func (t *Tree) Levels(choice Choice) (levels []Level) {
	path := choice.Path
	for i, n := range path {
		l := Level{
			Class: n.Class, Method: n.Method, Descriptor: n.Descriptor, Handed: n.Handed, Contrast: t.Time(n), Own: t.Self(n),
			SlowCalls: perCall(n.Slow.Calls, t.Slow), NormalCalls: perCall(n.Normal.Calls, t.Normal),
		}
		for _, c := range t.callees(n) {
			if len(l.Others) == mostSiblings || n == choice.Open || i+1 < len(path) && c == path[i+1] || t.Time(c).Share.Part < leastBeside {
				continue
			}
			l.Others = append(l.Others, Sibling{Class: c.Class, Method: c.Method, Contrast: t.Time(c)})
		}
		levels = append(levels, l)
	}
	return levels
}

func perCall(calls uint64, roots int) float64 {
	if roots == 0 {
		return 0
	}
	return float64(calls) / float64(roots)
}

// Period returns of how many calls of the root one should be traced, to stay within a budget, if now one in
// now is, and hooks cost a part of the program's time. If they cost much less than the budget, more calls are traced.
func Period(now uint32, part, budget float64) uint32 {
	if budget <= 0 {
		return now
	}
	const margin, mostAtOnce = 1.25, 4
	wanted := margin * part / budget * float64(max(now, 1))
	switch {
	case part > budget:
		return uint32(min(float64(MostPeriod), wanted)) + 1
	case wanted < float64(now)/2:
		return max(1, now/mostAtOnce, uint32(wanted)+1)
	}
	return now
}

// FirstPeriod returns of how many calls of the root one is traced at first when new hooks are on, whose cost is not known yet, by
// how many calls there are in a time.
func FirstPeriod(calls int, in time.Duration) uint32 {
	const each = time.Second / 20
	return uint32(min(MostPeriod, max(1, time.Duration(calls)*each/max(in, each))))
}

// MostPeriod is the largest period: with a larger one, hooks show too little for what they cost.
const MostPeriod = 1000

// How often a method must be called in a call of the root, on average, so that what it calls gets no hooks if hooks cost too much,
// because then the number of calls matters, and so that it gets none itself.
const (
	ManyCalls    = 20
	TooManyCalls = 1000
)

// PerCall returns how often other methods are called in a call of a root, on average, by the calls of all methods since a moment; none
// without calls of a root.
func PerCall(calls map[classfile.MethodRef]uint64, roots []classfile.MethodRef) map[classfile.MethodRef]float64 {
	ofRoots, each := uint64(0), make(map[classfile.MethodRef]float64)
	for _, root := range roots {
		ofRoots += calls[root]
	}
	for m, n := range calls {
		if ofRoots > 0 && !slices.Contains(roots, m) {
			each[m] = float64(n) / float64(ofRoots)
		}
	}
	return each
}

// Frequent returns the methods that are called at least some times in a call of a root.
func Frequent(each map[classfile.MethodRef]float64, least float64) (found []classfile.MethodRef) {
	for m, n := range each {
		if n >= least {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, classfile.MethodRef.Compare)
	return found
}
