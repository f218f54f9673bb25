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

// A Verdict says what can be said of a change.
type Verdict string

// The verdicts. Slower and Faster are given only where the two intervals have
// nothing in common.
const (
	Slower  Verdict = "slower"
	Faster  Verdict = "faster"
	New     Verdict = "new"     // not called before
	Gone    Verdict = "gone"    // not called after
	Calls   Verdict = "calls"   // called more or less often, with no sure change of time
	Same    Verdict = "same"    // nothing sure
	Untimed Verdict = "untimed" // of one side or both no time is known
)

// NoErrors is the note of a profile whose times have no error bounds because it was read
// from a pprof file. A comparison repeats it.
const NoErrors = "read from a pprof file, which holds no errors: every difference looks sure"

// When calls or times differ surely. Many rows are compared at once, and times of calls
// have long tails: the usual two standard errors would find a change in every list.
const (
	// callsDiffer is by what part calls per root call must differ to be worth a line.
	callsDiffer = 0.1
	// chanceErrors is how many standard errors chance may make up.
	chanceErrors = 4
	// leastChance is how likely it may be that a method was not called by chance for it
	// to be new or gone. What a call leads to in a loop makes it look likelier than it is.
	leastChance = 1e-6
)

// A Difference is what two profiles have different, per call of their roots, so that
// runs of different length can be compared.
type Difference struct {
	Before, After Run
	Total         cct.Time // After less Before, of one call of the root
	Methods       []Change // by the size of the change, those that are sure first
	Contexts      []Change
	Uncompared    []Uncompared
	Notes         []string
}

// An Uncompared is a method that was not measured in the same way on both sides. Its time
// is its callers' on both, in all that is compared.
type Uncompared struct {
	Method        string
	Before, After Hook
	held          float64 // part of the roots' time
}

// A Run is one of the two.
type Run struct {
	Title string
	Calls uint64   // of the roots
	Total cct.Time // of one of them
}

// A Change is a method, or one calling context of it.
type Change struct {
	Path          []string // the calls that lead to it, the outermost first; of a method only itself
	Before, After Figures
	Delta         cct.Time // own time, After less Before, with both errors and what chance may make of it
	Verdict       Verdict
}

// Figures are a method's or context's, per call of the root.
type Figures struct {
	Calls float64
	Self  cct.Time
	Known bool // whether the time is

	roots uint64  // calls of them
	reach float64 // the part of them that led here, at most
	// Standard errors by how many calls of the root lead here: it is one request that
	// leads to many contexts, so these go the same way in all of them.
	callsMix, selfMix float64
	variance          float64 // of Self, by how calls differ: on their own in each context
	cut               float64 // the part of the roots' calls that the window does not hold whole
}

// selfChance is the standard error of Self.
func (f Figures) selfChance() float64 { return math.Hypot(f.selfMix, math.Sqrt(f.variance)) }

// add takes in another context.
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
	r := Run{Title: p.Target.String()}
	for _, root := range p.Merged.Children {
		r.Calls += root.Calls
	}
	r.Total = p.Merged.Total.Over(float64(r.Calls))
	return r
}

// minus is the difference of two times: each may err in either direction.
func minus(a, b cct.Time) cct.Time {
	return cct.Time{Nanos: a.Nanos - b.Nanos, Low: a.Low - b.High, High: a.High - b.Low}
}

// apart is a difference with what chance may make of it on either side.
func apart(t cct.Time, before, after Figures) cct.Time {
	chance := chanceErrors*math.Hypot(before.selfChance(), after.selfChance()) + before.cut*before.Self.Nanos + after.cut*after.Self.Nanos
	return cct.Time{Nanos: t.Nanos, Low: t.Low - chance, High: t.High + chance}
}

// isNew reports whether a method that was never called in one run, but in the other, was
// not merely missed.
func isNew(never, called Figures) bool {
	return called.Calls > 0 && math.Pow(1-called.reach, float64(never.roots)) < leastChance
}

// inOrder puts the surest and largest first, and leaves alone what is alike.
func inOrder(list []Change) []Change {
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(math.Abs(b.Delta.Nanos), math.Abs(a.Delta.Nanos)),
			cmp.Compare(math.Abs(b.After.Calls-b.Before.Calls), math.Abs(a.After.Calls-a.Before.Calls)))
	})
	return list
}

// rank puts sure changes of time before those of calls alone, and these before the
// rest.
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

// remarks are what makes two profiles hard to compare.
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

// A comparer finds what belongs together in two profiles.
type comparer struct {
	before, after *side
	names         map[string]string
	order         []string // methods, as they are met
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

// uncompared lists the methods that were not measured alike on both sides, those that
// hold most time first.
func (c *comparer) uncompared() []Uncompared {
	var list []Uncompared
	for _, key := range c.order {
		before, after := c.before.hook(key), c.after.hook(key)
		if measuredAlike(before, after) || c.before.calls[key] == 0 && c.after.calls[key] == 0 {
			continue
		}
		list = append(list, Uncompared{Method: c.names[key], Before: before, After: after, held: math.Max(c.before.held(key), c.after.held(key))})
	}
	slices.SortStableFunc(list, func(a, b Uncompared) int { return compareDown(a.held, b.held) })
	return list
}

// changes pairs the contexts of both sides, and sums them up by method.
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
			f.Known = f.Known || f.Calls == 0 // it took no time for sure
		}
		methods = append(methods, newChange([]string{c.names[key]}, sum.before, sum.after))
	}
	return methods, contexts
}

// A Hook is what the hook of a method did in one of two runs that are compared.
type Hook struct {
	State State
	On    time.Duration // of Partly: how long it was on, where that is known
}

// A State of a hook.
type State string

// The states.
const (
	Timed   State = "timed"   // on throughout
	Counted State = "counted" // on throughout, without time: that is with the callers
	Idle    State = "idle"    // on throughout, and never called; or nothing was there to be called
	Partly  State = "partly"  // on for a part of the window
	Off     State = "off"     // off throughout
	NoHook  State = "none"    // there was none
	Unknown State = "unknown" // a pprof file does not say whether the calls were timed
)

// measuredAlike reports whether a method was measured in the same way on both sides.
// Otherwise a part of its time is its callers' on one side and its own on the other.
func measuredAlike(before, after Hook) bool {
	for _, h := range []Hook{before, after} {
		if h.State == Partly || h.State == Off || h.State == NoHook {
			return false
		}
	}
	return !(before.State == Timed && after.State == Counted || before.State == Counted && after.State == Timed)
}

// A side is one of two profiles that are compared.
type side struct {
	profile *cct.Profile
	roots   uint64 // calls of them
	cut     uint64 // of these, how many had not ended
	hooks   map[string]Hook
	calls   map[string]uint64
	selfs   map[string]float64
	spared  map[string]bool // classes, and methods, that could not have hooks
	top     *part
}

func newSide(p *cct.Profile) *side {
	s := &side{profile: p, hooks: map[string]Hook{}, calls: map[string]uint64{}, selfs: map[string]float64{}, spared: map[string]bool{}}
	for _, root := range p.Merged.Children {
		s.roots += root.Calls
		s.cut += root.Running
	}
	for _, l := range p.LeftAlone {
		if l.Method == "" {
			s.spared[l.Class] = true
		} else {
			s.spared[l.Class+"."+l.Method] = true
		}
	}
	for _, m := range p.Methods {
		s.hooks[m.Key()] = Hook{State: Idle}
	}
	fromPProf := slices.Contains(p.Notes, NoErrors)
	s.look(p.Merged, fromPProf)
	for method, on := range p.Partly() {
		h := Hook{State: Off}
		if key := p.Methods[method].Key(); on > 0 || s.calls[key] > 0 {
			h = Hook{Partly, on}
		}
		s.hooks[p.Methods[method].Key()] = h
	}
	return s
}

// look notes what the nodes below one say of the hooks of their methods.
func (s *side) look(n *cct.Node, fromPProf bool) {
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
		s.look(c, fromPProf)
	}
}

// worse orders states by how little can be said: one context speaks for its method.
func worse(s State) int { return slices.Index([]State{Idle, Unknown, Timed, Counted, Partly}, s) }

// isCounted reports whether the time of a node is with its caller.
func isCounted(n *cct.Node) bool { return n.Calls > 0 && !n.Known() && n.Self.High == 0 }

// hook is what is known of a method's hook. Where a budget chose the hooks, a method that
// is not listed had none; otherwise all had one that could be called, so it was not.
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

// held is the part of the roots' time that a method holds itself.
func (s *side) held(key string) float64 {
	return s.selfs[key] / math.Max(1, s.profile.Merged.Total.Nanos)
}

// A part is a method in a calling context, with the time of callees that are folded.
type part struct {
	key      string
	calls    uint64
	rarest   uint64 // fewest calls of a method on the way to it
	self     cct.Time
	total    cct.Time
	known    bool
	variance float64 // of self, by how calls vary
	folded   bool    // time of callees was added
	counts   bool    // it has callees that are only counted
	// Σ over threads of the square of how far calls, self and total are from what the
	// thread's calls of the root lead to expect.
	callsOff, selfOff, totalOff float64
	children                    []*part
}

// fold makes the tree in which some methods have no nodes of their own: their time is
// their callers', and what they call is called by these. So both sides have the same
// shape, and the own time of a method means the same on both.
func (s *side) fold(isFolded func(string) bool) {
	s.top = s.folded(s.profile.Merged, isFolded)
	s.top.rarest = s.roots
	s.top.settle()
	for _, t := range s.profile.Threads {
		top := s.folded(t.Top, isFolded)
		var roots uint64
		for _, root := range top.children {
			roots += root.calls
		}
		s.top.vary(top, float64(roots)/math.Max(1, float64(s.roots)))
	}
}

// vary adds how far a thread is from its share of all calls.
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
			key := s.profile.Methods[c.Method].Key()
			if at != made && isFolded(key) {
				owner.take(c)
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
				child.take(c)
				walk(c, child, child)
			}
		}
	}
	walk(top, made, made)
	return made
}

// take adds the own time of a node.
func (p *part) take(n *cct.Node) {
	p.self = p.self.Plus(n.Self)
	p.known = p.known || n.Known()
	p.variance += float64(n.Calls) * n.Spread * n.Spread
}

// settle finds the rarest call on the way to each part, and bounds a time that was put
// together by what the whole leaves for it: errors of chance were added up there as such.
func (p *part) settle() {
	low, high := p.total.Low, p.total.High
	for _, c := range p.children {
		c.rarest = min(p.rarest, c.calls)
		c.settle()
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

// figures are those of a part; one that is not there was not called, and took no time
// for sure.
func (s *side) figures(p *part) Figures {
	f := Figures{Known: true, roots: s.roots}
	if p == nil {
		return f
	}
	by := math.Max(1, float64(s.roots))
	f.Calls, f.Self, f.Known = float64(p.calls)/by, p.self.Over(by), p.known
	if p.rarest > 0 && s.roots > 0 {
		f.reach = float64(p.rarest) / by
		// Chance decides how many calls of the root lead here; where several threads did
		// the work, how far they are apart says how much that and loops make up.
		varies := math.Sqrt(math.Max(0, 1/float64(p.rarest)-1/by))
		f.callsMix, f.selfMix = f.Calls*varies, f.Self.Nanos*varies
		f.variance = p.variance / by / by
		if n := float64(len(s.profile.Threads)); n > 1 {
			f.callsMix = math.Max(f.callsMix, math.Sqrt(p.callsOff*n/(n-1))/by)
			f.selfMix = math.Max(f.selfMix, math.Sqrt(p.selfOff*n/(n-1))/by)
		}
		// Calls of the root are cut off at both ends of the window.
		f.cut = 2 * float64(s.cut) / by
	}
	return f
}

// whole are the figures of the roots with all below them. Where several threads did the
// work, what chance does to the whole is seen in how far these are apart.
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

func compareDown(a, b float64) int { return cmp.Compare(b, a) }
