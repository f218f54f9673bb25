package suggest

import (
	"math"
	"slices"
)

// Limits bound what is proposed.
type Limits struct {
	Budget float64 // part of the program's processor time
	Most   int     // methods
	// Samples is how many the paths are made of: what few show is chance. 0: not known.
	Samples int
}

const (
	// full is the part of the budget that may be spent to cover time, as call rates drift;
	// ample is up to which it is spent on more.
	full  = 0.9
	ample = 0.5
	// leastCover is the share of samples for which a method is worth its line; one of the
	// JDK's must cover more. A split must take apart leastSplit.
	leastCover   = 0.002
	libraryCover = 0.01
	leastSplit   = 0.025
	// fewShow is how many samples a split must take apart.
	fewShow = 5
	// leastWait is how many threads wait in a method on average for it to be proposed.
	leastWait = 0.02
	// leastForThin is the share that a method must cover for others to be timed less.
	leastForThin = 0.02
)

// A chooser picks methods one after the other.
type chooser struct {
	paths      []Path
	candidates []*Candidate
	limits     Limits
	whole      float64
	on         [][]int  // by candidate: the paths above whose leaf it stands
	in         [][]int  // by candidate: those, and the paths whose leaf it is, of which its own time tells
	known      [][]bool // by path: which of the chosen are in it
	covered    []bool
	taken      map[*Candidate]bool
	spent      float64
	chosen     []Choice
}

// choose picks methods whose probes together stay inside the budget: first those that
// cover most for what they cost, then those in which threads wait, then those that tell
// most apart. The same input gives the same choice.
func choose(paths []Path, candidates []*Candidate, limits Limits) []Choice {
	c := &chooser{paths: paths, limits: limits, taken: make(map[*Candidate]bool), covered: make([]bool, len(paths)), known: make([][]bool, len(paths))}
	for _, one := range candidates {
		if one.covers() && one.Pattern != "" {
			c.candidates = append(c.candidates, one)
		}
	}
	slices.SortStableFunc(c.candidates, func(a, b *Candidate) int { return a.compare(b.Method) })
	c.place()
	c.cover()
	c.wait()
	c.split()
	return c.chosen
}

// place finds where candidates stand.
func (c *chooser) place() {
	for p := range c.paths {
		c.whole += c.paths[p].Weight
	}
	above, anywhere := standing(c.paths, (*Path).above), standing(c.paths, (*Path).all)
	for _, one := range c.candidates {
		c.on = append(c.on, above[one.Method])
		c.in = append(c.in, anywhere[one.Method])
	}
}

// price is what a candidate costs for a comparison. A line costs something by itself:
// else whatever is hardly called would be for nothing.
func (c *chooser) price(one *Candidate) float64 {
	return one.Cost + c.limits.Budget/float64(4*max(c.limits.Most, 1))
}

// affords reports whether something that costs so much fits into a part of the budget.
func (c *chooser) affords(cost, part float64) bool {
	return len(c.chosen) < c.limits.Most && c.spent+cost <= part*c.limits.Budget
}

// best is the candidate that is worth most for its price, of those that fit into a part of
// the budget; -1 where none is worth anything.
func (c *chooser) best(part float64, worth func(i int) float64) int {
	best, most := -1, 0.0
	for i, one := range c.candidates {
		if c.taken[one] || !c.affords(one.Cost, part) {
			continue
		}
		if w := worth(i) / c.price(one); w > most {
			best, most = i, w
		}
	}
	return best
}

func (c *chooser) take(i int, why Why) {
	one := c.candidates[i]
	gain, _ := c.gain(i)
	choice := Choice{Candidate: one, Why: why, Adds: c.adds(i), Gains: gain}
	c.taken[one] = true
	c.spent += one.Cost
	c.chosen = append(c.chosen, choice)
	stands := make([]bool, len(c.paths))
	for _, p := range c.on[i] {
		c.covered[p] = true
	}
	for _, p := range c.in[i] {
		stands[p] = true
	}
	for p := range c.known {
		c.known[p] = append(c.known[p], stands[p])
	}
}

// adds is the share of samples that a candidate covers and nothing chosen does.
func (c *chooser) adds(i int) (share float64) {
	for _, p := range c.on[i] {
		if !c.covered[p] {
			share += c.paths[p].Weight / c.whole
		}
	}
	return share
}

// cover picks until nothing that is left can be covered.
func (c *chooser) cover() {
	for {
		if i := c.best(full, c.coverOf); i >= 0 {
			c.take(i, ToCover)
		} else if !c.thinOut() {
			return
		}
	}
}

// coverOf is what a candidate is worth by what it covers.
func (c *chooser) coverOf(i int) float64 {
	share, least := c.adds(i), leastCover
	if isLibrary(c.candidates[i].Class) {
		least = libraryCover
	}
	if share < least {
		return 0
	}
	return share * c.candidates[i].appeal()
}

// thinOut lets something in that covers much and for which there is no room: few of its
// calls are timed, or few of those of the dearest that was chosen, whichever makes room.
func (c *chooser) thinOut() bool {
	room := full*c.limits.Budget - c.thinnest()
	next, covers := -1, 0.0
	for i, one := range c.candidates {
		if share := c.adds(i); !c.taken[one] && share >= leastForThin && share > covers && one.Thin <= room {
			next, covers = i, share
		}
	}
	if next < 0 || len(c.chosen) == c.limits.Most {
		return false
	}
	if c.affords(c.candidates[next].Thin, full) {
		c.take(next, ToCover)
		c.thin(len(c.chosen) - 1)
		return true
	}
	dearest, saved := -1, 0.0
	for i, one := range c.chosen {
		if save := one.Takes() - one.Thin; save > saved {
			dearest, saved = i, save
		}
	}
	if dearest < 0 {
		return false
	}
	c.thin(dearest)
	return true
}

// thinnest is what those chosen would take if few of their calls were timed.
func (c *chooser) thinnest() (sum float64) {
	for i := range c.chosen {
		sum += min(c.chosen[i].Takes(), c.chosen[i].Thin)
	}
	return sum
}

// thin has few calls timed of one that was chosen.
func (c *chooser) thin(i int) {
	c.spent -= c.chosen[i].Takes()
	c.chosen[i].Thins = true
	c.spent += c.chosen[i].Takes()
}

// wait picks those in which threads wait, the most waited in first.
func (c *chooser) wait() {
	var due []int
	for i, one := range c.candidates {
		if one.waits() >= leastWait {
			due = append(due, i)
		}
	}
	slices.SortStableFunc(due, func(a, b int) int {
		return -compareFloat(c.candidates[a].waits(), c.candidates[b].waits())
	})
	for _, i := range due {
		if one := c.candidates[i]; !c.taken[one] && c.affords(one.Cost, ample) && len(c.chosen) < c.limits.Most/2 {
			c.take(i, ForWait)
		}
	}
}

// split picks those that tell most of what the others leave together.
func (c *chooser) split() {
	for {
		i := c.best(ample, func(i int) float64 {
			gain, apart := c.gain(i)
			if isLibrary(c.candidates[i].Class) || apart < leastSplit || c.limits.Samples > 0 && apart*float64(c.limits.Samples) < fewShow {
				return 0
			}
			return gain * c.candidates[i].appeal()
		})
		if i < 0 {
			return
		}
		why := ToSplit
		switch one := c.candidates[i]; {
		case one.Entry != "":
			why = ForEntry
		case len(one.Uses) > 0:
			why = ForNature
		}
		c.take(i, why)
	}
}

// gain is how many bits a candidate tells of a sample, on average, if it is known which
// of the chosen are in its stack: those of the same are one group, which it parts.
// apart is the share of samples that are in the lesser part of their group then.
func (c *chooser) gain(i int) (bits, apart float64) {
	type parts struct{ with, without float64 }
	groups := make(map[string]*parts)
	stands := make(map[int]bool, len(c.in[i]))
	for _, p := range c.in[i] {
		stands[p] = true
	}
	var names []string // sums of floats depend on their order
	for p := range c.paths {
		name := keyOf(c.known[p])
		group := groups[name]
		if group == nil {
			group = &parts{}
			groups[name] = group
			names = append(names, name)
		}
		if stands[p] {
			group.with += c.paths[p].Weight
		} else {
			group.without += c.paths[p].Weight
		}
	}
	for _, name := range names {
		g := groups[name]
		all := g.with + g.without
		if all > 0 {
			bits += all / c.whole * (entropy(g.with/all) + entropy(g.without/all))
			apart += min(g.with, g.without) / c.whole
		}
	}
	return bits, apart
}

func keyOf(known []bool) string {
	key := make([]byte, (len(known)+7)/8)
	for i, is := range known {
		if is {
			key[i/8] |= 1 << (i % 8)
		}
	}
	return string(key)
}

func entropy(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return -p * math.Log2(p)
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
