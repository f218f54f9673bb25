package suggest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Limits bound a proposal.
type Limits struct {
	Budget float64 // part of the program's processor time
	Most   int     // methods
	// Samples is how many samples the paths are made of: what few show is chance. 0: not
	// known.
	Samples int
}

const (
	// Parts of the budget: full may be spent to cover time, not all because call rates
	// drift; ample on everything else.
	full  = 0.9
	ample = 0.5
	// minCover is the share of samples that a method must cover to be worth its line; a
	// method of the JDK must cover more. A split must separate minSplit of all samples, and
	// at least minSplitSamples.
	minCover        = 0.002
	libraryCover    = 0.01
	minSplit        = 0.025
	minSplitSamples = 5
	// minWait is how many threads must wait in a method on average for it to be proposed.
	minWait = 0.02
	// minForThin is the share that a method must cover for others to be timed less often.
	minForThin = 0.02
)

// A chooser chooses methods one after the other. It does no I/O.
type chooser struct {
	paths      []hotspots.Path
	candidates []*Candidate
	limits     Limits
	whole      float64
	above      map[classfile.MethodRef][]int // the paths that have a method above the leaf
	in         map[classfile.MethodRef][]int // the paths that have it anywhere
	known      [][]byte                      // by path, for each chosen method: 1 if it is in it
	covered    []bool
	taken      map[*Candidate]bool
	spent      float64
	chosen     []Choice
}

// choose returns methods whose probes together stay within the budget: first those that
// cover most for their cost, then those in which threads wait, then those that split most
// of what the others leave together. The same input gives the same choice.
func choose(paths []hotspots.Path, candidates []*Candidate, limits Limits) []Choice {
	c := &chooser{
		paths: paths, limits: limits, whole: weightOf(paths), above: standing(paths, above), in: standing(paths, func(p *hotspots.Path) []classfile.MethodRef { return unique(p.Methods) }),
		taken: make(map[*Candidate]bool), covered: make([]bool, len(paths)), known: make([][]byte, len(paths)),
	}
	for _, one := range candidates {
		if one.covers() && one.Pattern != "" {
			c.candidates = append(c.candidates, one)
		}
	}
	slices.SortStableFunc(c.candidates, func(a, b *Candidate) int { return a.Compare(b.MethodRef) })
	c.cover()
	c.wait()
	c.split()
	return c.chosen
}

// price returns the cost of a candidate for comparisons. Each line costs something:
// otherwise methods that are hardly called would be free.
func (c *chooser) price(one *Candidate) float64 {
	return one.Cost + c.limits.Budget/float64(4*max(c.limits.Most, 1))
}

// affords reports whether a cost fits into a part of the budget.
func (c *chooser) affords(cost, part float64) bool {
	return len(c.chosen) < c.limits.Most && c.spent+cost <= part*c.limits.Budget
}

// best returns the candidate that is worth most for its price, of those that fit into a
// part of the budget; nil if none is worth anything.
func (c *chooser) best(part float64, worth func(*Candidate) float64) (best *Candidate) {
	most := 0.0
	for _, one := range c.candidates {
		if c.taken[one] || !c.affords(one.Cost, part) {
			continue
		}
		if w := worth(one) / c.price(one); w > most {
			best, most = one, w
		}
	}
	return best
}

func (c *chooser) take(one *Candidate, why Why) {
	c.chosen = append(c.chosen, Choice{Candidate: one, Why: why, Adds: c.adds(one)})
	c.taken[one] = true
	c.spent += one.Cost
	for _, p := range c.above[one.MethodRef] {
		c.covered[p] = true
	}
	for p := range c.known {
		c.known[p] = append(c.known[p], 0)
	}
	for _, p := range c.in[one.MethodRef] {
		c.known[p][len(c.known[p])-1] = 1
	}
}

// adds returns the share of samples that a candidate covers and no chosen method does.
func (c *chooser) adds(one *Candidate) (share float64) {
	for _, p := range c.above[one.MethodRef] {
		if !c.covered[p] {
			share += c.paths[p].Weight / c.whole
		}
	}
	return share
}

// cover chooses until nothing more can be covered.
func (c *chooser) cover() {
	for {
		if one := c.best(full, c.coverOf); one != nil {
			c.take(one, ToCover)
		} else if !c.thinOut() {
			return
		}
	}
}

// coverOf returns the worth of a candidate by what it covers.
func (c *chooser) coverOf(one *Candidate) float64 {
	share, least := c.adds(one), minCover
	if callgraph.IsJDK(one.Class) {
		least = libraryCover
	}
	if share < least {
		return 0
	}
	return share * one.appeal()
}

// thinOut makes room for a candidate that covers much: few of its calls are timed, or few
// calls of the most expensive method that was chosen, whichever makes room.
func (c *chooser) thinOut() bool {
	room := full*c.limits.Budget - c.thinnest()
	var next *Candidate
	covers := 0.0
	for _, one := range c.candidates {
		if share := c.adds(one); !c.taken[one] && share >= minForThin && share > covers && one.Thin <= room {
			next, covers = one, share
		}
	}
	if next == nil || len(c.chosen) == c.limits.Most {
		return false
	}
	if c.affords(next.Thin, full) {
		c.take(next, ToCover)
		c.thin(len(c.chosen) - 1)
		return true
	}
	costliest, saved := -1, 0.0
	for i, one := range c.chosen {
		if save := one.Takes() - one.Thin; save > saved {
			costliest, saved = i, save
		}
	}
	if costliest < 0 {
		return false
	}
	c.thin(costliest)
	return true
}

// thinnest returns what the chosen methods would cost if few of their calls were timed.
func (c *chooser) thinnest() (sum float64) {
	for i := range c.chosen {
		sum += min(c.chosen[i].Takes(), c.chosen[i].Thin)
	}
	return sum
}

// thin makes a chosen method time few of its calls.
func (c *chooser) thin(i int) {
	c.spent -= c.chosen[i].Takes()
	c.chosen[i].Thins = true
	c.spent += c.chosen[i].Takes()
}

// wait chooses methods in which threads wait, those with most threads first.
func (c *chooser) wait() {
	due := slices.DeleteFunc(slices.Clone(c.candidates), func(one *Candidate) bool { return one.waits() < minWait })
	slices.SortStableFunc(due, func(a, b *Candidate) int { return cmp.Compare(b.waits(), a.waits()) })
	for _, one := range due {
		if !c.taken[one] && c.affords(one.Cost, ample) && len(c.chosen) < c.limits.Most/2 {
			c.take(one, ForWait)
		}
	}
}

// split chooses methods that split most of what the others leave together.
func (c *chooser) split() {
	for {
		one := c.best(ample, func(one *Candidate) float64 {
			gain, apart := c.gain(one)
			if callgraph.IsJDK(one.Class) || apart < minSplit || c.limits.Samples > 0 && apart*float64(c.limits.Samples) < minSplitSamples {
				return 0
			}
			return gain * one.appeal()
		})
		switch {
		case one == nil:
			return
		case one.Entry != "":
			c.take(one, ForEntry)
		case len(one.Uses) > 0:
			c.take(one, ForNature)
		default:
			c.take(one, ToSplit)
		}
	}
}

// gain returns how many bits of information a candidate adds about a sample, on average, if
// it is known which chosen methods are in its stack: samples with the same ones are a
// group, which the candidate splits. Apart is the share of samples in the smaller parts.
func (c *chooser) gain(one *Candidate) (bits, apart float64) {
	type group struct{ all, with float64 }
	groups := make(map[string]*group)
	var order []*group // sums of floats depend on their order
	for p := range c.paths {
		g := groups[string(c.known[p])]
		if g == nil {
			g = &group{}
			groups[string(c.known[p])] = g
			order = append(order, g)
		}
		g.all += c.paths[p].Weight
	}
	for _, p := range c.in[one.MethodRef] {
		groups[string(c.known[p])].with += c.paths[p].Weight
	}
	for _, g := range order {
		if g.all > 0 {
			bits += g.all / c.whole * (entropy(g.with/g.all) + entropy(1-g.with/g.all))
			apart += min(g.with, g.all-g.with) / c.whole
		}
	}
	return bits, apart
}

func entropy(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return -p * math.Log2(p)
}

// A Candidate is a method that may get a probe, with everything known about it.
type Candidate struct {
	classfile.MethodRef
	Members []classfile.MethodRef // itself, or all overloads where stacks do not distinguish them
	Pattern string                // that names it in a probe set

	Share     float64 // of the samples that have it above the leaf
	Leaf      float64 // of the samples that have it only as the leaf
	PerSecond float64 // calls
	Ended     uint64  // calls that ended while they were counted
	Mean      time.Duration
	Cost      float64 // part of the program's processor time that a probe would take
	Thin      float64 // the same, if one call in overhead.ThinPeriod is timed and all are counted
	Measured  bool    // calls were counted

	Nature
	Waits
	Inlined bool // mostly, into its callers

	flags arena.Flags // what its hook is to do
}

// minEnded is how many calls must have ended for a method to cover anything: a server's
// loop is entered once.
const minEnded = 5

// covers reports whether a probe in a candidate would report what it calls.
func (c *Candidate) covers() bool { return c.Measured && c.Ended >= minEnded }

// A Why is the reason for a choice.
type Why string

// Why a method is proposed.
const (
	ToCover   Why = "covers"  // it covers time that nothing else covers
	ToSplit   Why = "splits"  // it splits time that others cover
	ForWait   Why = "waits"   // threads wait in it
	ForNature Why = "nature"  // by what it calls
	ForEntry  Why = "request" // it takes requests
)

// A Choice is a method that is proposed.
type Choice struct {
	*Candidate
	Why   Why
	Adds  float64 // to the coverage of those chosen before
	Thins bool    // one call in overhead.ThinPeriod is timed: timing all would cost too much
}

// Sample returns the sampling period of its probe; 0 times all calls.
func (c *Choice) Sample() uint32 {
	if c.Thins {
		return overhead.ThinPeriod
	}
	return 0
}

// Takes returns the part of the program's processor time that its probe takes.
func (c *Choice) Takes() float64 {
	if c.Thins {
		return c.Thin
	}
	return c.Cost
}

// appeal returns a factor by which a candidate is preferred to another that covers as much:
// people look for causes where requests come in, databases are asked and locks are held,
// not in methods that compilers made.
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
	if c.Blocked >= minWait {
		appeal *= 2
	}
	if strings.HasPrefix(c.Name, "lambda$") { // a compiler made it
		appeal *= 0.5
	}
	if c.Inlined {
		appeal *= 0.5
	}
	if callgraph.IsJDK(c.Class) {
		appeal *= 0.3
	}
	return appeal
}

const (
	// minShare is the share of samples that a method must be above to be counted.
	minShare = 0.005
	// outermost is how many methods of a path are considered, from the thread's entry
	// inwards: methods further in are called more often, and are less often causes.
	outermost = 40
	// maxCounted and maxClasses bound how many methods and classes get hooks to count.
	maxCounted = 240
	maxClasses = 120
)

// pick returns the methods that are worth counting, those above most samples first.
func pick(l *look) []*Candidate {
	type shares struct{ above, leaf float64 }
	seen := make(map[classfile.MethodRef]shares)
	whole := weightOf(l.paths)
	for i := range l.paths {
		p := &l.paths[i]
		callers := above(p)
		for _, m := range callers[max(0, len(callers)-outermost):] {
			one := seen[m]
			one.above += p.Weight
			seen[m] = one
		}
		if leaf := p.Methods[0]; !slices.Contains(callers, leaf) {
			one := seen[leaf]
			one.leaf += p.Weight
			seen[leaf] = one
		}
	}
	var found []*Candidate
	for m, weight := range seen {
		if passesOn(m.Class) || m.Name == "<clinit>" || isCentral(m.Class) || callgraph.IsJDK(m.Class) && weight.above == 0 {
			continue
		}
		c := &Candidate{MethodRef: m, Share: weight.above / whole, Leaf: weight.leaf / whole, Inlined: l.inlining.isMostly(m), Waits: l.queue.of(m)}
		// An inlined leaf is better covered by its callers.
		isSeen := c.Share >= minShare || c.Share+c.Leaf >= minShare && !c.Inlined
		if isSeen || c.waits() >= minWait {
			found = append(found, c)
		}
	}
	for _, m := range l.queue.methods() {
		isThere := slices.ContainsFunc(found, func(c *Candidate) bool { return anyOverload(c.MethodRef) == m })
		if !isThere && !isCentral(m.Class) {
			found = append(found, &Candidate{MethodRef: m, Waits: l.queue.of(m)})
		}
	}
	slices.SortFunc(found, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Share+b.Leaf, a.Share+a.Leaf), a.Compare(b.MethodRef))
	})
	return bound(found, l)
}

// rank orders candidates: first those in which threads wait, then those that are cheap to
// weave, then inlined ones, and the JDK's last.
func (c *Candidate) rank() int {
	switch {
	case callgraph.IsJDK(c.Class):
		return 2
	case c.waits() >= minWait:
		return -1
	case c.Inlined:
		return 1
	}
	return 0
}

// bound limits candidates so that few classes are redefined. Inlined methods, and those of
// the JDK, are kept only if few of those kept before are above the same samples: changing
// them costs the program most.
func bound(found []*Candidate, l *look) (kept []*Candidate) {
	classes := make(map[string]bool)
	stands := standing(l.paths, above)
	taken := make([]int, len(l.paths)) // by path, how many kept candidates are above its leaf
	whole := weightOf(l.paths)
	for _, c := range found {
		if len(kept) == maxCounted {
			break
		}
		var open float64 // weight of the paths with few of them
		for _, p := range stands[c.MethodRef] {
			if taken[p] < fewAbove {
				open += l.paths[p].Weight
			}
		}
		isFresh := !classes[c.Class]
		if isFresh && len(classes) == maxClasses || c.rank() > 0 && open < minShare*whole {
			continue
		}
		classes[c.Class] = true
		for _, p := range stands[c.MethodRef] {
			taken[p]++
		}
		kept = append(kept, c)
	}
	return kept
}

// Fewer than fewAbove methods above a leaf are not enough: some never end, and cover
// nothing.
const fewAbove = 3

// standing returns the indexes of paths by method, for the methods that are chosen of each
// path.
func standing(paths []hotspots.Path, chosen func(*hotspots.Path) []classfile.MethodRef) map[classfile.MethodRef][]int {
	stands := make(map[classfile.MethodRef][]int)
	for i := range paths {
		for _, m := range chosen(&paths[i]) {
			stands[m] = append(stands[m], i)
		}
	}
	return stands
}
