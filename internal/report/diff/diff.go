// Package diff compares profiles from before and after a change: which methods and contexts became slower or
// faster, and which cannot be compared.
package diff

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A Verdict is the outcome of comparing a method or context.
type Verdict string

// The verdicts. Slower and Faster require that the interval of the change excludes zero.
const (
	Slower  Verdict = "slower"
	Faster  Verdict = "faster"
	New     Verdict = "new"     // not called in the first run
	Gone    Verdict = "gone"    // not called in the second run
	Calls   Verdict = "calls"   // called more or less often, without a significant change of time
	Same    Verdict = "same"    // no significant change
	Untimed Verdict = "untimed" // the time is unknown in one run or both
)

// NoErrors is the note of a profile whose times have no error bounds because it was read
// from a pprof file. A comparison repeats it.
const NoErrors = "read from a pprof file, which holds no errors: every difference looks sure"

// When a change is significant. Many rows are compared at once, and times of calls have long
// tails: the usual two standard errors would find a change in every list.
const (
	// callsDiffer is the least relative change of calls per root call.
	callsDiffer = 0.1
	// chanceErrors is the number of standard errors that chance may account for.
	chanceErrors = 4
	// leastChance is the probability of not calling a method by chance below which it is
	// new or gone. Calls in loops make that probability look larger than it is.
	leastChance = 1e-6
)

// studentErrors are the standard errors that chance may account for in 99 of 100 cases if they are known from
// few runs: by Student's t distribution, with 1, 2, … degrees of freedom. With more, chanceErrors is larger.
var studentErrors = []float64{63.66, 9.925, 5.841, 4.604, 4.032}

// A Difference is the comparison of profiles, per call of their roots, so that runs of
// different length can be compared.
type Difference struct {
	Before, After Run
	Total         cct.Time // of one call of the root, After minus Before
	Methods       []Change // significant changes first, then by size
	Contexts      []Change
	Tree          []Node // the contexts, callers before callees
	Uncompared    []Uncompared
	Notes         []string
}

// An Uncompared is a method that the two runs measured differently. In the comparison, its
// time is included in that of its callers in both runs.
type Uncompared struct {
	Method string  `json:"method"`
	Before Hook    `json:"before"`
	After  Hook    `json:"after"`
	held   float64 // part of the roots' time
}

// A Run is one of the two sides: one run, or several that were measured alike.
type Run struct {
	Title string   `json:"target"`
	Runs  int      `json:"runs"`
	Calls uint64   `json:"rootCalls"` // of the roots
	Total cct.Time `json:"total"`     // of one call of the root
}

// A Node is a context in the tree of all contexts. Totals are nanoseconds per call of the root.
type Node struct {
	Change
	Parent                  int // index of its caller; -1 for a root
	TotalBefore, TotalAfter float64
}

// A Change compares a method, or one calling context of it.
type Change struct {
	Path          []string // the calls that lead to a context, the outermost first; only the method itself for a method
	Before, After Figures
	Delta         cct.Time // of self time, After minus Before; the bounds include both errors and chance
	Verdict       Verdict
}

// Figures are calls and self time of a method or context, per call of the root.
type Figures struct {
	Calls float64
	Self  cct.Time
	Known bool // whether Self is known

	roots uint64  // calls of the roots
	reach float64 // upper bound of the part of root calls that lead here
	// Standard errors by how many calls of the root lead here. One request leads to many
	// contexts, so these errors have the same sign in all of them.
	callsMix, selfMix float64
	variance          float64 // of Self, by how calls vary; independent between contexts
	cut               float64 // part of the root calls that are incomplete in the window
}

// selfChance returns the standard error of Self.
func (f Figures) selfChance() float64 { return math.Hypot(f.selfMix, math.Sqrt(f.variance)) }

// add adds another context.
func (f *Figures) add(other Figures) {
	if other.Calls == 0 && other.Self == (cct.Time{}) {
		return
	}
	f.Calls += other.Calls
	f.Self = f.Self.Plus(other.Self)
	f.Known = f.Known || other.Known
	f.reach = math.Max(f.reach, other.reach)
	f.callsMix += other.callsMix
	f.selfMix += other.selfMix
	f.variance += other.variance
	f.cut = math.Max(f.cut, other.cut)
}

// Compare compares profiles from before and after a change. With at least two on each side, the differences
// between the runs of a side show what chance can do from run to run.
func Compare(before, after []*cct.Profile) *Difference {
	c := newComparer(before, after)
	d := &Difference{Before: c.before.summary(), After: c.after.summary(), Uncompared: c.uncompared()}
	methods, tree := c.changes()
	contexts := make([]Change, 0, len(tree))
	var was, is Figures
	for _, n := range tree {
		contexts = append(contexts, n.Change)
		was.add(n.Before)
		is.add(n.After)
	}
	d.Total = apart(minus(d.After.Total, d.Before.Total), c.before.whole(was), c.after.whole(is))
	d.Methods, d.Contexts, d.Tree = inOrder(methods), inOrder(contexts), tree
	d.Notes = remarks(before, after)
	return d
}

func (s *side) summary() Run {
	run := Run{Title: s.runs[0].profile.Target.String(), Runs: len(s.runs), Calls: s.roots}
	for _, r := range s.runs {
		run.Total = run.Total.Plus(r.profile.Merged.Total)
	}
	run.Total = run.Total.Over(float64(s.roots))
	return run
}

// minus returns the difference of two times whose errors are independent.
func minus(a, b cct.Time) cct.Time {
	return cct.Time{Nanos: a.Nanos - b.Nanos, Low: a.Low - b.High, High: a.High - b.Low}
}

// apart widens the bounds of a difference by what chance may account for.
func apart(t cct.Time, before, after Figures) cct.Time {
	chance := chanceErrors*math.Hypot(before.selfChance(), after.selfChance()) + before.cut*before.Self.Nanos + after.cut*after.Self.Nanos
	return cct.Time{Nanos: t.Nanos, Low: t.Low - chance, High: t.High + chance}
}

// isNew reports whether chance cannot explain that a method was called in one run only.
func isNew(never, called Figures) bool {
	return called.Calls > 0 && math.Pow(1-called.reach, float64(never.roots)) < leastChance
}

// inOrder sorts significant changes first, then by size.
func inOrder(list []Change) []Change {
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(math.Abs(b.Delta.Nanos), math.Abs(a.Delta.Nanos)),
			cmp.Compare(math.Abs(b.After.Calls-b.Before.Calls), math.Abs(a.After.Calls-a.Before.Calls)))
	})
	return list
}

// rank orders changes of time before changes of calls only, and those before the rest.
func rank(c Change) int {
	switch c.Verdict {
	case Slower, Faster, New, Gone:
		return 0
	case Calls:
		return 1
	}
	return 2
}

func newChange(path []string, before, after Figures) Change {
	c := Change{Path: path, Before: before, After: after, Delta: apart(minus(after.Self, before.Self), before, after)}
	off := math.Abs(after.Calls - before.Calls)
	often := off > callsDiffer*math.Max(after.Calls, before.Calls) && off > chanceErrors*math.Hypot(before.callsMix, after.callsMix)+before.cut*before.Calls+after.cut*after.Calls
	known := before.Known && after.Known
	switch {
	case before.Calls == 0 && isNew(before, after):
		c.Verdict = New
	case after.Calls == 0 && isNew(after, before):
		c.Verdict = Gone
	case before.Calls == 0 || after.Calls == 0:
		c.Verdict = Same
	case known && c.Delta.Low > 0:
		c.Verdict = Slower
	case known && c.Delta.High < 0:
		c.Verdict = Faster
	case often:
		c.Verdict = Calls
	case !known:
		c.Verdict = Untimed
	default:
		c.Verdict = Same
	}
	return c
}

// remarks returns what makes profiles hard to compare.
func remarks(before, after []*cct.Profile) []string {
	var list []string
	say := func(what string, of func(*cct.Profile) string) {
		a, b := valuesOf(before, of), valuesOf(after, of)
		if a != b && a != "" && b != "" {
			list = append(list, what+" differ: "+a+" before, "+b+" after")
		} else if strings.Contains(a, alternatives) {
			list = append(list, what+" differ between runs: "+a)
		}
	}
	say("roots", func(p *cct.Profile) string { return strings.Join(p.Roots, " ") })
	say("JDKs", func(p *cct.Profile) string { return p.Target.JDK })
	say("timings", func(p *cct.Profile) string { return string(p.Timing) })
	if slices.ContainsFunc(slices.Concat(before, after), fromPprof) {
		list = append(list, NoErrors)
	}
	return list
}

const alternatives = " or "

// valuesOf lists the different values that profiles have.
func valuesOf(profiles []*cct.Profile, of func(*cct.Profile) string) string {
	var values []string
	for _, p := range profiles {
		if value := of(p); value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return strings.Join(values, alternatives)
}

// fromPprof reports whether the times of a profile have no error bounds.
func fromPprof(p *cct.Profile) bool { return slices.Contains(p.Notes, NoErrors) }

// A comparer matches the methods and contexts of profiles.
type comparer struct {
	before, after *side
	names         map[string]string
	order         []string // keys of methods
	folded        map[string]bool
}

func newComparer(before, after []*cct.Profile) *comparer {
	few := 1.0
	if degrees := len(before) + len(after) - 2; degrees > 0 && degrees <= len(studentErrors) {
		few = studentErrors[degrees-1] / chanceErrors
	}
	c := &comparer{before: newSide(before, few), after: newSide(after, few), names: map[string]string{}, folded: map[string]bool{}}
	for _, r := range c.runs() {
		shown := cct.Names(r.profile.Methods)
		for i, m := range r.profile.Methods {
			if key := m.Key(); c.names[key] == "" {
				c.names[key] = shown[i]
				c.order = append(c.order, key)
			}
		}
	}
	c.before.fold(c.isFolded)
	c.after.fold(c.isFolded)
	return c
}

func (c *comparer) runs() []*run { return slices.Concat(c.before.runs, c.after.runs) }

// isFolded reports whether two runs measured a method differently.
func (c *comparer) isFolded(key string) bool {
	folded, known := c.folded[key]
	if known {
		return folded
	}
	runs := c.runs()
	for i, a := range runs {
		folded = folded || slices.ContainsFunc(runs[i:], func(b *run) bool { return !measuredAlike(a.hook(key), b.hook(key)) })
	}
	c.folded[key] = folded
	return folded
}

// uncompared returns the methods that the two runs measured differently, those with the most
// time first.
func (c *comparer) uncompared() []Uncompared {
	var list []Uncompared
	for _, key := range c.order {
		if !c.isFolded(key) || !slices.ContainsFunc(c.runs(), func(r *run) bool { return r.calls[key] > 0 }) {
			continue
		}
		var held float64
		for _, r := range c.runs() {
			held = math.Max(held, r.selfs[key]/math.Max(1, r.profile.Merged.Total.Nanos))
		}
		list = append(list, Uncompared{Method: c.names[key], Before: c.before.hook(key), After: c.after.hook(key), held: held})
	}
	slices.SortStableFunc(list, func(a, b Uncompared) int { return cmp.Compare(b.held, a.held) })
	return list
}

// changes compares the contexts of both sides, and the sums by method.
func (c *comparer) changes() (methods []Change, tree []Node) {
	type pair struct{ before, after Figures }
	sums := map[string]*pair{}
	var order []string
	var walk func(old, fresh *part, parent int)
	visit := func(old, fresh *part, key string, parent int) {
		var path []string
		if parent >= 0 {
			path = tree[parent].Path
		}
		before, after := c.before.figures(old), c.after.figures(fresh)
		place := len(tree)
		tree = append(tree, Node{newChange(append(slices.Clip(path), c.names[key]), before, after), parent, c.before.total(old), c.after.total(fresh)})
		sum := sums[key]
		if sum == nil {
			sum = &pair{Figures{roots: c.before.roots}, Figures{roots: c.after.roots}}
			sums[key] = sum
			order = append(order, key)
		}
		sum.before.add(before)
		sum.after.add(after)
		walk(old, fresh, place)
	}
	walk = func(old, fresh *part, parent int) {
		for _, child := range old.below() {
			visit(child, fresh.child(child.key), child.key, parent)
		}
		for _, child := range fresh.below() {
			if old.child(child.key) == nil {
				visit(nil, child, child.key, parent)
			}
		}
	}
	walk(c.before.top, c.after.top, -1)
	for _, key := range order {
		sum := sums[key]
		for _, f := range []*Figures{&sum.before, &sum.after} {
			f.Known = f.Known || f.Calls == 0 // it certainly took no time
		}
		methods = append(methods, newChange([]string{c.names[key]}, sum.before, sum.after))
	}
	return methods, tree
}

// A Hook is the state of a method's hook in one run.
type Hook struct {
	State State         `json:"hook"`
	On    time.Duration `json:"onNanos,omitempty"` // for Partly: how long it was on, if known
}

// A State is the state of a hook during a run.
type State string

// The states.
const (
	Timed   State = "timed"   // on for the whole window
	Counted State = "counted" // on for the whole window, only counting: the time is in the callers'
	Idle    State = "idle"    // on for the whole window and never called, or there was nothing to call
	Partly  State = "partly"  // on for part of the window
	Off     State = "off"     // off for the whole window
	NoHook  State = "none"    // there was no hook
	Unknown State = "unknown" // a pprof file does not record whether calls were timed
)

// measuredAlike reports whether both runs measured a method in the same way. Otherwise a
// part of its time is its callers' in one run and its own in the other.
func measuredAlike(before, after Hook) bool {
	for _, h := range []Hook{before, after} {
		if h.State == Partly || h.State == Off || h.State == NoHook {
			return false
		}
	}
	return !(before.State == Timed && after.State == Counted || before.State == Counted && after.State == Timed)
}

// A side is the runs before or after a change.
type side struct {
	runs       []*run
	roots, cut uint64  // calls of the roots, and how many of them had not ended
	threads    int     // of all runs
	few        float64 // factor on errors that are known from few runs
	top        *part
}

func newSide(profiles []*cct.Profile, few float64) *side {
	s := &side{few: few}
	for _, p := range profiles {
		r := newRun(p.Measured())
		s.runs = append(s.runs, r)
		s.roots += r.roots
		s.cut += r.profile.Merged.Roots().Running
		s.threads += len(r.profile.Threads)
	}
	return s
}

// hook returns the state of a method's hook in the run that allows the least to compare.
func (s *side) hook(key string) (worst Hook) {
	for i, r := range s.runs {
		if h := r.hook(key); i == 0 || worse(h.State) > worse(worst.State) {
			worst = h
		}
	}
	return worst
}

// A run is the profile of one run.
type run struct {
	profile *cct.Profile
	roots   uint64 // calls of the roots
	hooks   map[string]Hook
	calls   map[string]uint64
	selfs   map[string]float64
	spared  map[string]bool // classes and methods that were left alone
}

func newRun(p *cct.Profile) *run {
	s := &run{profile: p, roots: p.Merged.Roots().Calls, hooks: map[string]Hook{}, calls: map[string]uint64{}, selfs: map[string]float64{}, spared: map[string]bool{}}
	for _, l := range p.LeftAlone {
		if l.Method == "" {
			s.spared[l.Class] = true
		} else {
			s.spared[l.Class+"."+l.Method] = true
		}
	}
	for _, m := range p.Methods {
		if !m.Unhooked {
			s.hooks[m.Key()] = Hook{State: Idle}
		}
	}
	s.addNodes(p.Merged, fromPprof(p))
	for method, on := range p.Partly() {
		h := Hook{State: Off}
		if key := p.Methods[method].Key(); on > 0 || s.calls[key] > 0 {
			h = Hook{Partly, on}
		}
		s.hooks[p.Methods[method].Key()] = h
	}
	return s
}

// addNodes records calls, self times and hook states of the nodes below one.
func (s *run) addNodes(n *cct.Node, fromPProf bool) {
	for _, c := range n.Children {
		key := s.profile.Methods[c.Method].Key()
		s.calls[key] += c.Calls
		s.selfs[key] += c.Self.Nanos
		state := Timed
		switch {
		case c.Late:
			state = Partly
		case isCounted(c) && fromPProf:
			state = Unknown
		case isCounted(c):
			state = Counted
		}
		if had := s.hooks[key].State; worse(state) >= worse(had) {
			s.hooks[key] = Hook{State: state}
		}
		s.addNodes(c, fromPProf)
	}
}

// worse orders states by how little they allow to compare: the worst context decides for
// its method.
func worse(s State) int {
	return slices.Index([]State{Idle, Unknown, Timed, Counted, Partly, NoHook, Off}, s)
}

// isCounted reports whether the time of a node is included in that of its caller.
func isCounted(n *cct.Node) bool { return n.Calls > 0 && !n.Known() && n.Self.High == 0 }

// hook returns the state of a method's hook. Where a budget chose the hooks, a method that is
// not listed had none. Otherwise every method that could be called had one, so it was idle.
func (s *run) hook(key string) Hook {
	if h, is := s.hooks[key]; is {
		return h
	}
	class, _, _ := strings.Cut(key, "(")
	if s.profile.Timing == cct.Auto || s.spared[key] || s.spared[class[:max(0, strings.LastIndexByte(class, '.'))]] {
		return Hook{State: NoHook}
	}
	return Hook{State: Idle}
}

// A part is a method in a calling context, including the time of folded callees.
type part struct {
	key      string
	calls    uint64
	rarest   uint64 // fewest calls of any method on the path to it
	self     cct.Time
	total    cct.Time
	known    bool
	variance float64 // of self, by how calls vary
	folded   bool    // self includes folded callees
	counts   bool    // it has callees that were only counted
	threads  spread  // between threads
	runs     spread  // between runs
	children []*part
}

// A spread is sums over threads or runs of the squared differences of calls, self and total from what the share of root
// calls predicts.
type spread struct{ calls, self, total float64 }

// errorOf returns the standard error of a sum, per call of the root, by the squared differences of n threads or runs.
func (s *side) errorOf(squares float64, n int) float64 {
	if n < 2 {
		return 0
	}
	return math.Sqrt(squares*float64(n)/float64(n-1)) / math.Max(1, float64(s.roots))
}

// fold makes a tree without nodes for some methods: their time is added to their callers,
// which also become the callers of their callees. So both trees have the same shape, and self
// time means the same in both.
func (s *side) fold(isFolded func(string) bool) {
	s.top = &part{rarest: s.roots}
	for _, r := range s.runs {
		r.fold(s.top, r.profile.Merged, isFolded)
	}
	s.top.bound()
	for _, r := range s.runs {
		if len(s.runs) > 1 {
			s.compare(r, r.profile.Merged, isFolded, func(p *part) *spread { return &p.runs })
		}
		for _, t := range r.profile.Threads {
			s.compare(r, t.Top, isFolded, func(p *part) *spread { return &p.threads })
		}
	}
}

// compare adds the differences of one thread or run to the differences of all.
func (s *side) compare(r *run, tree *cct.Node, isFolded func(string) bool, of func(*part) *spread) {
	top := &part{}
	r.fold(top, tree, isFolded)
	var roots uint64
	for _, root := range top.children {
		roots += root.calls
	}
	s.top.vary(top, float64(roots)/math.Max(1, float64(s.roots)), of)
}

// vary adds the squared differences of one thread or run.
func (p *part) vary(one *part, share float64, of func(*part) *spread) {
	for _, c := range p.children {
		own := one.child(c.key)
		var calls, self, total float64
		if own != nil {
			calls, self, total = float64(own.calls), own.self.Nanos, own.total.Nanos
		}
		off := of(c)
		off.calls += square(calls - share*float64(c.calls))
		off.self += square(self - share*c.self.Nanos)
		off.total += square(total - share*c.total.Nanos)
		c.vary(own, share, of)
	}
}

func square(x float64) float64 { return x * x }

// fold adds the nodes below one to a part.
func (s *run) fold(made *part, top *cct.Node, isFolded func(string) bool) {
	var walk func(n *cct.Node, at, owner *part)
	walk = func(n *cct.Node, at, owner *part) {
		for _, c := range n.Children {
			if c.Handed && n == top {
				continue // it is below the call that handed it over, in the tree of all threads
			}
			key := s.profile.Methods[c.Method].Key()
			if at != made && isFolded(key) && !c.Handed {
				owner.addSelf(c)
				owner.folded = true
				walk(c, at, owner)
				continue
			}
			child := at.child(key)
			if child == nil {
				child = &part{key: key}
				at.children = append(at.children, child)
			}
			child.calls += c.Calls
			child.total = child.total.Plus(c.Total)
			if isCounted(c) {
				owner.counts = true
				walk(c, child, owner)
			} else {
				child.addSelf(c)
				walk(c, child, child)
			}
		}
	}
	walk(top, made, made)
}

func (p *part) addSelf(n *cct.Node) {
	p.self = p.self.Plus(n.Self)
	p.known = p.known || n.Known()
	p.variance += float64(n.Calls) * n.Spread * n.Spread
}

// bound sets rarest, and narrows the bounds of folded self times to what the total leaves for
// them: the total has smaller errors than the sum of its parts.
func (p *part) bound() {
	low, high := p.total.Low, p.total.High
	for _, c := range p.children {
		c.rarest = min(p.rarest, c.calls)
		c.bound()
		low, high = low-c.total.High, high-c.total.Low
	}
	if p.folded && !p.counts {
		p.self.Low = math.Min(p.self.Nanos, math.Max(p.self.Low, low))
		p.self.High = math.Max(p.self.Nanos, math.Min(p.self.High, high))
	}
}

func (p *part) below() []*part {
	if p == nil {
		return nil
	}
	return p.children
}

func (p *part) child(key string) *part {
	for _, c := range p.below() {
		if c.key == key {
			return c
		}
	}
	return nil
}

// figures returns the figures of a part. A part that is nil was not called and certainly took
// no time.
func (s *side) figures(p *part) Figures {
	f := Figures{Known: true, roots: s.roots}
	if p == nil {
		return f
	}
	by := math.Max(1, float64(s.roots))
	f.Calls, f.Self, f.Known = float64(p.calls)/by, p.self.Over(by), p.known
	if p.rarest > 0 && s.roots > 0 {
		f.reach = float64(p.rarest) / by
		// Chance decides how many root calls lead here. With several threads or runs, their
		// differences show the effect of chance and of loops.
		varies := math.Sqrt(math.Max(0, 1/float64(p.rarest)-1/by))
		f.callsMix, f.selfMix = f.Calls*varies, f.Self.Nanos*varies
		f.variance = p.variance / by / by
		f.callsMix = max(f.callsMix, s.errorOf(p.threads.calls, s.threads), s.few*s.errorOf(p.runs.calls, len(s.runs)))
		f.selfMix = max(f.selfMix, s.errorOf(p.threads.self, s.threads), s.few*s.errorOf(p.runs.self, len(s.runs)))
		// Root calls are incomplete at both ends of the window.
		f.cut = 2 * float64(s.cut) / by
	}
	return f
}

// total returns the time of a part with that of its callees, per call of the root.
func (s *side) total(p *part) float64 {
	if p == nil {
		return 0
	}
	return p.total.Nanos / math.Max(1, float64(s.roots))
}

// whole returns the figures of the roots including everything below them. With several threads or runs,
// their differences show the effect of chance.
func (s *side) whole(contexts Figures) Figures {
	var threads, runs float64
	for _, root := range s.top.children {
		threads += root.threads.total
		runs += root.runs.total
	}
	if s.threads > 1 {
		contexts.selfMix = s.errorOf(threads, s.threads)
	}
	contexts.selfMix = max(contexts.selfMix, s.few*s.errorOf(runs, len(s.runs)))
	return contexts
}
