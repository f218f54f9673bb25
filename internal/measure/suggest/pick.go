package suggest

import (
	"cmp"
	"slices"
)

const (
	// leastShare is the share of samples that a method must be above to be counted.
	leastShare = 0.005
	// outermost is how many methods of a path are looked at, from the thread's entry
	// inwards: what is further in is called more often, and tells less of causes.
	outermost = 40
	// mostCounted and mostClasses bound what is woven to count.
	mostCounted = 240
	mostClasses = 120
)

// pick are the methods that are worth counting, those above most samples first.
func pick(l *look) []*Candidate {
	type shares struct{ above, leaf float64 }
	seen := make(map[Method]shares)
	var whole float64
	for i := range l.paths {
		p := &l.paths[i]
		whole += p.Weight
		above := p.above()
		for _, m := range above[max(0, len(above)-outermost):] {
			one := seen[m]
			one.above += p.Weight
			seen[m] = one
		}
		if leaf := p.Methods[0]; !slices.Contains(above, leaf) {
			one := seen[leaf]
			one.leaf += p.Weight
			seen[leaf] = one
		}
	}
	var found []*Candidate
	for m, weight := range seen {
		if m.carries() || m.Name == "<clinit>" || isCentral(m.Class) || isLibrary(m.Class) && weight.above == 0 {
			continue
		}
		c := &Candidate{Method: m, Share: weight.above / whole, Leaf: weight.leaf / whole, Inlined: l.inlining.isMostly(m), Waits: l.queue.of(m)}
		// What is the leaf alone and part of its callers is better told of by those.
		isSeen := c.Share >= leastShare || c.Share+c.Leaf >= leastShare && !c.Inlined
		if isSeen || c.waits() >= leastWait {
			found = append(found, c)
		}
	}
	for _, m := range l.queue.methods() {
		isThere := slices.ContainsFunc(found, func(c *Candidate) bool { return c.Method.anyOverload() == m })
		if !isThere && !isCentral(m.Class) {
			found = append(found, &Candidate{Method: m, Waits: l.queue.of(m)})
		}
	}
	slices.SortFunc(found, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), -compareFloat(a.Share+a.Leaf, b.Share+b.Leaf), a.compare(b.Method))
	})
	return bound(found, l)
}

// rank puts first where threads wait, then what is cheap to weave: not what is compiled
// into others, and last what is the JDK's.
func (c *Candidate) rank() int {
	switch {
	case isLibrary(c.Class):
		return 2
	case c.waits() >= leastWait:
		return -1
	case c.Inlined:
		return 1
	}
	return 0
}

// bound keeps so many that few classes are redefined. What is compiled into others, or
// is the JDK's, is taken only where few of those taken before stand above the same
// samples: to change it costs the program most.
func bound(found []*Candidate, l *look) (kept []*Candidate) {
	classes := make(map[string]bool)
	stands := standing(l.paths, (*Path).above)
	taken := make([]int, len(l.paths)) // by path, how many stand above its leaf
	var whole float64
	for i := range l.paths {
		whole += l.paths[i].Weight
	}
	for _, c := range found {
		if len(kept) == mostCounted {
			break
		}
		var open float64 // weight above which few stand
		for _, p := range stands[c.Method] {
			if taken[p] < fewAbove {
				open += l.paths[p].Weight
			}
		}
		isFresh := !classes[c.Class]
		if isFresh && len(classes) == mostClasses || c.rank() > 0 && open < leastShare*whole {
			continue
		}
		classes[c.Class] = true
		for _, p := range stands[c.Method] {
			taken[p]++
		}
		kept = append(kept, c)
	}
	return kept
}

// fewAbove is how many methods above a leaf do not suffice: some never end, and cover
// nothing.
const fewAbove = 3

// standing are the paths in which methods are, by method: those that are chosen of each.
func standing(paths []Path, chosen func(*Path) []Method) map[Method][]int {
	stands := make(map[Method][]int)
	for i := range paths {
		for _, m := range chosen(&paths[i]) {
			stands[m] = append(stands[m], i)
		}
	}
	return stands
}
