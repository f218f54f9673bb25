// Package diff compares two profiles: which methods and contexts became slower or faster,
// and which cannot be compared.
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

// A Difference is the comparison of two profiles, per call of their roots, so that runs of
// different length can be compared.
type Difference struct {
	Before, After Run
	Total         cct.Time // of one call of the root, After minus Before
	Methods       []Change // significant changes first, then by size
	Contexts      []Change
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

// A Run is one of the two runs.
type Run struct {
	Title string   `json:"target"`
	Calls uint64   `json:"rootCalls"` // of the roots
	Total cct.Time `json:"total"`     // of one call of the root
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

// Compare compares two profiles.
func Compare(before, after *cct.Profile) *Difference {
	before, after = before.Measured(), after.Measured()
	c := newComparer(before, after)
	d := &Difference{Before: newRun(before), After: newRun(after), Uncompared: c.uncompared()}
	methods, contexts := c.changes()
	var was, is Figures
	for _, change := range contexts {
		was.add(change.Before)
		is.add(change.After)
	}
	d.Total = apart(minus(d.After.Total, d.Before.Total), c.before.whole(was), c.after.whole(is))
	d.Methods, d.Contexts = inOrder(methods), inOrder(contexts)
	d.Notes = remarks(before, after)
	return d
}

func newRun(p *cct.Profile) Run {
	calls := p.Merged.Roots().Calls
	return Run{p.Target.String(), calls, p.Merged.Total.Over(float64(calls))}
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

// remarks returns what makes two profiles hard to compare.
func remarks(a, b *cct.Profile) []string {
	var list []string
	say := func(what, before, after string) {
		if before != after && before != "" && after != "" {
			list = append(list, what+" differ: "+before+" before, "+after+" after")
		}
	}
	say("roots", strings.Join(a.Roots, " "), strings.Join(b.Roots, " "))
	say("JDKs", a.Target.JDK, b.Target.JDK)
	say("timings", string(a.Timing), string(b.Timing))
	if slices.Contains(a.Notes, NoErrors) || slices.Contains(b.Notes, NoErrors) {
		list = append(list, NoErrors)
	}
	return list
}

// A comparer matches the methods and contexts of two profiles.
type comparer struct {
	before, after *side
	names         map[string]string
	order         []string // keys of methods
}

func newComparer(before, after *cct.Profile) *comparer {
	c := &comparer{before: newSide(before), after: newSide(after), names: map[string]string{}}
	for _, p := range []*cct.Profile{before, after} {
		shown := cct.Names(p.Methods)
		for i, m := range p.Methods {
			if key := m.Key(); c.names[key] == "" {
				c.names[key] = shown[i]
				c.order = append(c.order, key)
			}
		}
	}
	isFolded := func(key string) bool { return !measuredAlike(c.before.hook(key), c.after.hook(key)) }
	c.before.fold(isFolded)
	c.after.fold(isFolded)
	return c
}

// uncompared returns the methods that the two runs measured differently, those with the most
// time first.
func (c *comparer) uncompared() []Uncompared {
	var list []Uncompared
	for _, key := range c.order {
		before, after := c.before.hook(key), c.after.hook(key)
		if measuredAlike(before, after) || c.before.calls[key] == 0 && c.after.calls[key] == 0 {
			continue
		}
		list = append(list, Uncompared{Method: c.names[key], Before: before, After: after, held: math.Max(c.before.held(key), c.after.held(key))})
	}
	slices.SortStableFunc(list, func(a, b Uncompared) int { return cmp.Compare(b.held, a.held) })
	return list
}

// changes compares the contexts of both runs, and the sums by method.
func (c *comparer) changes() (methods, contexts []Change) {
	type pair struct{ before, after Figures }
	sums := map[string]*pair{}
	var order []string
	var walk func(old, fresh *part, path []string)
	visit := func(old, fresh *part, key string, path []string) {
		here := append(slices.Clip(path), c.names[key])
		before, after := c.before.figures(old), c.after.figures(fresh)
		contexts = append(contexts, newChange(here, before, after))
		sum := sums[key]
		if sum == nil {
			sum = &pair{Figures{roots: c.before.roots}, Figures{roots: c.after.roots}}
			sums[key] = sum
			order = append(order, key)
		}
		sum.before.add(before)
		sum.after.add(after)
		walk(old, fresh, here)
	}
	walk = func(old, fresh *part, path []string) {
		for _, child := range old.below() {
			visit(child, fresh.child(child.key), child.key, path)
		}
		for _, child := range fresh.below() {
			if old.child(child.key) == nil {
				visit(nil, child, child.key, path)
			}
		}
	}
	walk(c.before.top, c.after.top, nil)
	for _, key := range order {
		sum := sums[key]
		for _, f := range []*Figures{&sum.before, &sum.after} {
			f.Known = f.Known || f.Calls == 0 // it certainly took no time
		}
		methods = append(methods, newChange([]string{c.names[key]}, sum.before, sum.after))
	}
	return methods, contexts
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

// A side is one of the two profiles.
type side struct {
	profile *cct.Profile
	roots   uint64 // calls of the roots
	cut     uint64 // calls of the roots that had not ended
	hooks   map[string]Hook
	calls   map[string]uint64
	selfs   map[string]float64
	spared  map[string]bool // classes and methods that were left alone
	top     *part
}

func newSide(p *cct.Profile) *side {
	s := &side{profile: p, hooks: map[string]Hook{}, calls: map[string]uint64{}, selfs: map[string]float64{}, spared: map[string]bool{}}
	root := p.Merged.Roots()
	s.roots, s.cut = root.Calls, root.Running
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
	fromPProf := slices.Contains(p.Notes, NoErrors)
	s.addNodes(p.Merged, fromPProf)
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
func (s *side) addNodes(n *cct.Node, fromPProf bool) {
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
func worse(s State) int { return slices.Index([]State{Idle, Unknown, Timed, Counted, Partly}, s) }

// isCounted reports whether the time of a node is included in that of its caller.
func isCounted(n *cct.Node) bool { return n.Calls > 0 && !n.Known() && n.Self.High == 0 }

// hook returns the state of a method's hook. Where a budget chose the hooks, a method that is
// not listed had none. Otherwise every method that could be called had one, so it was idle.
func (s *side) hook(key string) Hook {
	if h, is := s.hooks[key]; is {
		return h
	}
	class, _, _ := strings.Cut(key, "(")
	if s.profile.Timing == cct.Auto || s.spared[key] || s.spared[class[:max(0, strings.LastIndexByte(class, '.'))]] {
		return Hook{State: NoHook}
	}
	return Hook{State: Idle}
}

// held returns the self time of a method as a part of the roots' time.
func (s *side) held(key string) float64 {
	return s.selfs[key] / math.Max(1, s.profile.Merged.Total.Nanos)
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
	// Sums over threads of the squared differences of calls, self and total from what the
	// thread's share of root calls predicts.
	callsOff, selfOff, totalOff float64
	children                    []*part
}

// fold makes a tree without nodes for some methods: their time is added to their callers,
// which also become the callers of their callees. So both trees have the same shape, and self
// time means the same in both.
func (s *side) fold(isFolded func(string) bool) {
	s.top = s.folded(s.profile.Merged, isFolded)
	s.top.rarest = s.roots
	s.top.bound()
	for _, t := range s.profile.Threads {
		top := s.folded(t.Top, isFolded)
		var roots uint64
		for _, root := range top.children {
			roots += root.calls
		}
		s.top.vary(top, float64(roots)/math.Max(1, float64(s.roots)))
	}
}

// vary adds the squared differences of one thread.
func (p *part) vary(thread *part, share float64) {
	for _, c := range p.children {
		own := thread.child(c.key)
		var calls, self, total float64
		if own != nil {
			calls, self, total = float64(own.calls), own.self.Nanos, own.total.Nanos
		}
		c.callsOff += square(calls - share*float64(c.calls))
		c.selfOff += square(self - share*c.self.Nanos)
		c.totalOff += square(total - share*c.total.Nanos)
		c.vary(own, share)
	}
}

func square(x float64) float64 { return x * x }

func (s *side) folded(top *cct.Node, isFolded func(string) bool) *part {
	made := &part{}
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
	return made
}

// addSelf adds the self time of a node.
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
		// Chance decides how many root calls lead here. With several threads, their
		// differences show the effect of chance and of loops.
		varies := math.Sqrt(math.Max(0, 1/float64(p.rarest)-1/by))
		f.callsMix, f.selfMix = f.Calls*varies, f.Self.Nanos*varies
		f.variance = p.variance / by / by
		if n := float64(len(s.profile.Threads)); n > 1 {
			f.callsMix = math.Max(f.callsMix, math.Sqrt(p.callsOff*n/(n-1))/by)
			f.selfMix = math.Max(f.selfMix, math.Sqrt(p.selfOff*n/(n-1))/by)
		}
		// Root calls are incomplete at both ends of the window.
		f.cut = 2 * float64(s.cut) / by
	}
	return f
}

// whole returns the figures of the roots including everything below them. With several threads,
// their differences show the effect of chance.
func (s *side) whole(contexts Figures) Figures {
	if n := float64(len(s.profile.Threads)); n > 1 {
		var off float64
		for _, root := range s.top.children {
			off += root.totalOff
		}
		contexts.selfMix = math.Sqrt(off*n/(n-1)) / math.Max(1, float64(s.roots))
	}
	return contexts
}
