package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

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
		s.hooks[keyOf(m)] = Hook{State: Idle}
	}
	fromPProf := slices.Contains(p.Notes, pprofNote)
	s.look(p.Merged, fromPProf)
	for method, on := range p.Partly() {
		h := Hook{State: Off}
		if key := keyOf(p.Methods[method]); on > 0 || s.calls[key] > 0 {
			h = Hook{Partly, on}
		}
		s.hooks[keyOf(p.Methods[method])] = h
	}
	return s
}

// look notes what the nodes below one say of the hooks of their methods.
func (s *side) look(n *cct.Node, fromPProf bool) {
	for _, c := range n.Children {
		key := keyOf(s.profile.Methods[c.Method])
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
			key := keyOf(s.profile.Methods[c.Method])
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
