package suggest

import (
	"cmp"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"math"
	"slices"
	"time"
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

// A Candidate is a method that may get a probe, with all that is known of it.
type Candidate struct {
	Method
	Members []Method // that are meant: itself, or all of the name where stacks do not tell
	Pattern string   // by which a set names it

	Share     float64 // of all samples, in which it stands above the leaf
	Leaf      float64 // of all samples, those in which it is only the leaf
	PerSecond float64 // calls
	Ended     uint64  // calls that ended while they were counted
	Mean      time.Duration
	Cost      float64 // part of the program's processor time that a probe would take
	Thin      float64 // the same, if one call in Thinned is timed and all are counted
	Measured  bool    // calls were counted

	Nature
	Waits
	Inlined bool // most of the time it is part of its callers
}

// fewEnded is how many calls must have ended for a probe to tell of them: a server's
// loop is entered once.
const fewEnded = 5

// covers reports whether a probe in it would tell of what it calls.
func (c *Candidate) covers() bool { return c.Measured && c.Ended >= fewEnded }

// A Why is what led to a choice.
type Why string

// Why a method is proposed.
const (
	ToCover   Why = "covers"  // time that nothing else covers
	ToSplit   Why = "splits"  // time that others cover, into parts
	ForWait   Why = "waits"   // threads wait in it
	ForNature Why = "nature"  // by what it calls
	ForEntry  Why = "request" // it takes requests
)

// A Choice is a method that is proposed.
type Choice struct {
	*Candidate
	Why   Why
	Adds  float64 // to the coverage of those chosen before
	Gains float64 // bits that it tells of a sample beyond what those chosen before do
	Thins bool    // one call in Thinned is timed: to time all would cost too much
}

// Sample is one in how many calls its probe times; 0: all of them.
func (c *Choice) Sample() uint32 {
	if c.Thins {
		return overhead.ThinPeriod
	}
	return 0
}

// Takes is the part of the program's processor time that its probe takes.
func (c *Choice) Takes() float64 {
	if c.Thins {
		return c.Thin
	}
	return c.Cost
}

// appeal is how much rather than another method one is proposed that covers as much: a
// person looks for causes, and those are where requests come in, databases are asked and
// locks are held, not in what compilers made.
func (c *Candidate) appeal() float64 {
	appeal := 1.0
	if c.Entry != "" {
		appeal *= 2
	}
	for _, use := range c.Uses {
		switch use.Kind {
		case Database, HTTP, Queue:
			appeal *= 1.8
		case Network, Files:
			appeal *= 1.4
		case Lock:
			appeal *= 1.1
		}
	}
	if c.Blocked >= leastWait {
		appeal *= 2
	}
	if c.isLambdaBody() {
		appeal *= 0.5
	}
	if c.Inlined {
		appeal *= 0.5
	}
	if isLibrary(c.Class) {
		appeal *= 0.3
	}
	return appeal
}

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
