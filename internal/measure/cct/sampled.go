package cct

import (
	"cmp"
	"math"
	"slices"
)

// A Share is the share of a time, with its 95 % interval.
type Share struct {
	Part float64 `json:"share"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// ShareOf returns the share of a weight in a whole of n samples, with Wilson's interval, which is
// valid for small numbers, too.
func ShareOf(weight, whole, n float64) Share {
	if whole <= 0 || n <= 0 {
		return Share{}
	}
	const z = 1.96
	p := min(1, weight/whole)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	spread := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Share{Part: p, Low: max(0, min(p, middle-spread)), High: min(1, max(p, middle+spread))}
}

// of returns the share of a time.
func (s Share) of(t Time) Time { return Time{t.Nanos * s.Part, t.Low * s.Low, t.High * s.High} }

// A Stack is what samples saw of a thread below a root, or below a method that may work for one.
type Stack struct {
	Thread  uint64   // its ID; 0 if it is not known
	Methods []Method // the root first
	Handed  bool     // there is no root: the first method has a hook, and may be, or call, what was handed to the thread
	Wait    string   // what the thread waited for; "" if it ran
	Samples float64
	Nanos   float64 // that the samples stand for
	Unsure  float64 // by how much more or less they may stand for, beyond chance, in nanoseconds
}

// A Wait is time in which threads waited.
type Wait struct {
	For  string `json:"for"` // such as "monitor"
	Time Time   `json:"time"`
}

// AddStacks completes the trees with sampled stacks. A hook measures the time of a method together
// with that of callees without hooks; stacks show how it is divided among them. Such callees become
// nodes, and the time of calls that were only counted becomes known. Totals of hooked methods stay
// what hooks have measured. In a profile without hooks, all times come from the stacks.
func (p *Profile) AddStacks(stacks []Stack) {
	a := stackAdder{profile: p, methods: make(map[[3]string]int), hasHooks: p.Timing != Stacks}
	for i, m := range p.Methods {
		a.methods[[3]string{m.Class, m.Name, m.Descriptor}] = i
		a.methods[[3]string{m.Class, m.Name}] = i // for stacks without descriptors
	}
	a.add(p.Merged, stacks)
	for _, t := range p.Threads {
		a.add(t.Top, slices.DeleteFunc(slices.Clone(stacks), func(s Stack) bool { return s.Thread != t.ID }))
	}
}

type stackAdder struct {
	profile  *Profile
	methods  map[[3]string]int
	hasHooks bool
	seen     map[*Node]*sighting // of the current tree
	handed   map[int][]*Node     // likewise: by method, work that was handed over
}

// A sighting is how stacks have shown a node.
type sighting struct {
	weight
	waits map[string]float64
}

// A weight is the time that samples stand for. They may stand for different times.
type weight struct{ sum, squares, unsure float64 }

func (w *weight) add(other weight) {
	w.sum += other.sum
	w.squares += other.squares
	w.unsure += other.unsure
}

// samples returns how many samples of the same weight would be as good.
func (w weight) samples() float64 {
	if w.squares == 0 {
		return 0
	}
	return w.sum * w.sum / w.squares
}

func (a *stackAdder) add(top *Node, stacks []Stack) {
	a.seen, a.handed = make(map[*Node]*sighting), make(map[int][]*Node)
	for n := range top.All() {
		if n.Handed {
			a.handed[n.Method] = append(a.handed[n.Method], n)
		}
	}
	for i := range stacks {
		a.place(top, &stacks[i])
	}
	if !a.hasHooks {
		a.timeBySamples(top)
	}
	a.divide(top)
	a.addWaits(top)
	sortByTotal(top)
}

// place adds a stack to a tree.
func (a *stackAdder) place(top *Node, s *Stack) {
	path := make([]int, len(s.Methods))
	for i, m := range s.Methods {
		path[i] = a.index(m)
	}
	if !s.Handed {
		if root := top.child(path[0]); !a.hasHooks || root != nil && !root.isSeenOnly() { // otherwise a call that began before the hooks
			a.put(top, path, s, 1)
		}
		return
	}
	first := slices.IndexFunc(path, func(method int) bool { return len(a.handed[method]) > 0 })
	if first < 0 {
		return // it worked for nobody
	}
	// Stacks do not show who handed the work over.
	var whole float64
	for _, n := range a.handed[path[first]] {
		whole += n.Total.Nanos
	}
	for _, n := range a.handed[path[first]] {
		if n.Total.Nanos > 0 {
			a.put(n, path[first+1:], s, n.Total.Nanos/whole)
		}
	}
}

// put adds a part of a stack below the innermost hooked method on it.
func (a *stackAdder) put(at *Node, path []int, s *Stack, part float64) {
	next := 0
	for i, method := range path {
		if child := at.child(method); child != nil && !child.isSeenOnly() {
			at, next = child, i+1
		}
	}
	for _, method := range path[next:] {
		child := at.child(method)
		if child == nil {
			child = &Node{Method: method, Sampled: true}
			at.Children = append(at.Children, child)
		}
		at = child
	}
	seen := a.seen[at]
	if seen == nil {
		seen = &sighting{waits: make(map[string]float64)}
		a.seen[at] = seen
	}
	seen.add(weight{part * s.Nanos, part * s.Nanos * s.Nanos / max(s.Samples, 1), part * s.Unsure})
	if s.Wait != "" {
		seen.waits[s.Wait] += part * s.Nanos
	}
}

// index returns the index of a method, which it adds if it is new.
func (a *stackAdder) index(m Method) int {
	key := [3]string{m.Class, m.Name, m.Descriptor}
	index, known := a.methods[key]
	if !known {
		m.Unhooked = true
		index = len(a.profile.Methods)
		a.profile.Methods = append(a.profile.Methods, m)
		a.methods[key] = index
	}
	return index
}

// child returns the node of a method that a node calls on the same thread.
func (n *Node) child(method int) *Node {
	for _, c := range n.Children {
		if c.Method == method && !c.Handed {
			return c
		}
	}
	return nil
}

// isSeenOnly reports whether a node is known from stacks alone.
func (n *Node) isSeenOnly() bool { return n.Sampled && n.Calls == 0 && n.Running == 0 }

// isUntimed reports whether the time of a node is part of the nearest timed caller.
func (n *Node) isUntimed() bool { return n.Sampled || !n.Known() && n.Self.High == 0 }

// timeBySamples gives the roots of a profile without hooks the time that their samples stand for.
func (a *stackAdder) timeBySamples(top *Node) {
	top.Total = Time{}
	for _, root := range top.Children {
		w := a.weightBelow(root)
		// Samples of the same weight come by chance: their number has the square root as its error.
		wrong := 1.96*math.Sqrt(w.squares) + w.unsure
		root.Self = Time{w.sum, max(0, w.sum-wrong), w.sum + wrong}
		root.Total = root.Self
		top.Total = top.Total.Plus(root.Total)
	}
}

// weightOf returns the weight of the samples in a node itself.
func (a *stackAdder) weightOf(n *Node) weight {
	if seen := a.seen[n]; seen != nil {
		return seen.weight
	}
	return weight{}
}

// weightBelow returns the weight of a node and the untimed nodes below it.
func (a *stackAdder) weightBelow(n *Node) (w weight) {
	w = a.weightOf(n)
	for _, c := range n.Children {
		if c.isUntimed() && !c.Handed {
			w.add(a.weightBelow(c))
		}
	}
	return w
}

// divide divides the own time of each timed node among the untimed nodes below it.
func (a *stackAdder) divide(n *Node) {
	isTimed := n.Method >= 0 && (!n.isUntimed() || !a.hasHooks)
	if whole := a.weightBelow(n); isTimed && whole.sum > 0 {
		measured := n.Self
		own := a.weightOf(n)
		if own.sum < whole.sum {
			n.Self = ShareOf(own.sum, whole.sum, whole.samples()).of(measured)
			n.Split = !n.Sampled
		}
		for _, c := range n.Children {
			if c.isUntimed() && !c.Handed {
				a.assign(c, measured, whole)
			}
		}
	}
	for _, c := range n.Children {
		if a.hasHooks || n.Method < 0 { // without hooks, all below a root has been assigned
			a.divide(c)
		}
	}
}

// assign gives an untimed node its part of a measured time.
func (a *stackAdder) assign(n *Node, measured Time, whole weight) {
	part := func(w weight) Time { return ShareOf(w.sum, whole.sum, whole.samples()).of(measured) }
	here := a.weightBelow(n)
	if here.sum == 0 {
		return // it was not seen
	}
	n.Sampled = true
	n.Self = Time{}
	if own := a.weightOf(n); own.sum > 0 {
		n.Self = part(own)
	}
	for _, c := range n.Children {
		if c.isUntimed() && !c.Handed {
			a.assign(c, measured, whole)
		}
	}
	n.Total = part(here)
	for timed := range n.timedBelow() {
		n.Total = n.Total.Plus(timed.Total)
	}
}

// timedBelow returns the outermost timed nodes below an untimed one.
func (n *Node) timedBelow() func(yield func(*Node) bool) {
	return func(yield func(*Node) bool) { n.yieldTimed(yield) }
}

func (n *Node) yieldTimed(yield func(*Node) bool) bool {
	for _, c := range n.Children {
		if c.Handed {
			continue
		}
		if c.isUntimed() && !c.yieldTimed(yield) || !c.isUntimed() && !yield(c) {
			return false
		}
	}
	return true
}

// addWaits records for each node in what part of its total time threads waited.
func (a *stackAdder) addWaits(n *Node) sighting {
	all := sighting{waits: make(map[string]float64)}
	include := func(other *sighting) {
		all.add(other.weight)
		for kind, nanos := range other.waits {
			all.waits[kind] += nanos
		}
	}
	if seen := a.seen[n]; seen != nil {
		include(seen)
	}
	for _, c := range n.Children {
		below := a.addWaits(c)
		if !c.Handed {
			include(&below)
		}
	}
	n.Waits = nil
	for kind, nanos := range all.waits {
		n.Waits = append(n.Waits, Wait{kind, ShareOf(nanos, all.sum, all.samples()).of(n.Total)})
	}
	slices.SortFunc(n.Waits, func(a, b Wait) int { return cmp.Or(cmp.Compare(b.Time.Nanos, a.Time.Nanos), cmp.Compare(a.For, b.For)) })
	return all
}

func sortByTotal(n *Node) {
	slices.SortFunc(n.Children, byTotal)
	for _, c := range n.Children {
		sortByTotal(c)
	}
}

// Measured returns a profile as hooks measured it, without sampled stacks.
func (p *Profile) Measured() *Profile {
	c := *p
	c.Merged, c.Threads = p.Merged.Measured(), slices.Clone(p.Threads)
	for i := range c.Threads {
		c.Threads[i].Top = c.Threads[i].Top.Measured()
	}
	return &c
}

// Measured returns a tree as hooks measured it: without nodes that only stacks showed, and with their
// time as the own time of the nearest timed caller.
func (n *Node) Measured() *Node {
	measured, _ := n.measured()
	sortByTotal(measured)
	return measured
}

// measured returns also the time that belongs to the caller.
func (n *Node) measured() (node *Node, rest Time) {
	c := *n
	c.Children, c.Waits, c.Sampled, c.Split = nil, nil, false, false
	for _, child := range n.Children {
		below, its := child.measured()
		rest = rest.Plus(its)
		if child.isSeenOnly() {
			c.Children = append(c.Children, below.Children...)
		} else {
			c.Children = append(c.Children, below)
		}
	}
	switch {
	case n.Sampled:
		rest = rest.Plus(n.Self)
		c.Self, c.Total = Time{}, Time{}
		for _, child := range c.Children {
			if !child.Handed {
				c.Total = c.Total.Plus(child.Total)
			}
		}
	case n.Split || rest.Nanos > 0:
		c.Self, rest = c.Self.Plus(rest), Time{}
	}
	return &c, rest
}
