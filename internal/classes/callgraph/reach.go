package callgraph

import (
	"cmp"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
)

// reach records the expanded methods and the methods that became callable by them. It does
// not change the hierarchy, and never removes anything.
type reach struct {
	h        *hierarchy
	callable []bool // by method
	expanded []bool // by method
	made     []made // by call
	byOwner  map[classID][]callID
	bySig    map[sigID]bool // signatures of the virtual calls that are made
	// callsBack says that skipped classes may call what overrides their methods.
	callsBack bool
	owed      bool     // callsBack became true, and what it means was not followed yet
	handles   bool     // method handles are invoked
	seeks     bool     // what that means was not followed yet
	queue     []callID // calls that are made but not followed yet
	fresh     fresh
}

// made is a call that some expanded method makes.
type made struct {
	is      bool
	mixed   bool // reaches a method that is not native
	callers []methodID
	natives []methodID
}

// fresh is what take has not returned yet.
type fresh struct {
	methods                      []methodID
	sites                        []site
	reflects, handles, callsBack bool
}

type site struct {
	call           callID
	caller, native methodID
}

// nobody is the caller of calls that no method of the program makes directly.
const nobody methodID = -1

func newReach(h *hierarchy) *reach {
	return &reach{h: h, byOwner: make(map[classID][]callID), bySig: make(map[sigID]bool)}
}

// grow makes room for methods and calls mirrored since.
func (r *reach) grow() {
	if missing := len(r.h.methods) - len(r.callable); missing > 0 {
		r.callable = append(r.callable, make([]bool, missing)...)
		r.expanded = append(r.expanded, make([]bool, missing)...)
	}
	if missing := len(r.h.calls) - len(r.made); missing > 0 {
		r.made = append(r.made, make([]made, missing)...)
	}
}

func (r *reach) expand(id methodID) {
	r.grow()
	r.callable[id] = true
	if r.expanded[id] {
		return
	}
	r.expanded[id] = true
	if c := &r.h.classes[r.h.methods[id].class]; c.skipped {
		r.callBack()
		for _, call := range c.outward {
			r.make(call, nobody)
		}
	}
	for _, call := range r.h.methods[id].calls {
		r.make(call, id)
	}
	r.follow()
}

// expandAll expands methods and everything that becomes callable from now on. take
// returns the result.
func (r *reach) expandAll(ids []methodID) {
	next := len(r.fresh.methods)
	for _, id := range ids {
		r.expand(id)
	}
	for ; next < len(r.fresh.methods); next++ {
		r.expand(r.fresh.methods[next])
	}
}

// make records that a call is made. The first time, the call is queued to be followed.
func (r *reach) make(id callID, caller methodID) {
	c, m := &r.h.calls[id], &r.made[id]
	if caller != nobody {
		r.fresh.reflects = r.fresh.reflects || c.reflects
		r.fresh.handles = r.fresh.handles || c.handles
		if c.handles && !r.handles {
			r.handles, r.seeks = true, true
		}
		r.fresh.callsBack = r.fresh.callsBack || c.leaves
		m.callers = append(m.callers, caller)
		for _, native := range m.natives {
			r.fresh.sites = append(r.fresh.sites, site{id, caller, native})
		}
	}
	if m.is {
		return
	}
	m.is = true
	r.byOwner[c.owner] = append(r.byOwner[c.owner], id)
	if c.kind == virtual {
		r.bySig[c.sig] = true
	}
	r.queue = append(r.queue, id)
}

// follow reaches the targets of all queued calls and of the calls that they add.
func (r *reach) follow() {
	for len(r.queue) > 0 || r.owed || r.seeks {
		if r.seeks {
			r.seeks = false
			for id := range r.h.classes {
				r.soughtOf(classID(id))
			}
			continue
		}
		if r.owed {
			r.owed = false
			r.followCallBacks()
			continue
		}
		last := len(r.queue) - 1
		id := r.queue[last]
		r.queue = r.queue[:last]
		c := &r.h.calls[id]
		if c.leaves || r.h.maySkip(c) {
			r.callBack()
		}
		r.h.targets(c, func(target methodID) bool {
			r.hit(id, target)
			return true
		})
	}
}

// none is the call that made a method callable where there was none.
const none callID = -1

// hit makes a method callable, as the target of a call.
func (r *reach) hit(id callID, target methodID) {
	m := &r.h.methods[target]
	owner := &r.h.classes[m.class]
	switch {
	case owner.lambda && !owner.skipped:
		if !r.callable[target] {
			r.callable[target] = true
			for _, call := range m.calls {
				r.make(call, nobody)
			}
		}
		return
	case owner.skipped && !m.leaf && (m.code || m.native || owner.lambda):
		r.callBack()
	}
	if m.native && !TooCheapToHook(r.h.named(target)) {
		r.hitNative(id, target)
	}
	if m.code && id != none {
		r.made[id].mixed = true
	}
	if m.code && !owner.skipped && !r.callable[target] {
		r.callable[target] = true
		r.fresh.methods = append(r.fresh.methods, target)
	}
}

// hitNative records where a native method is called. The calls it makes are unknown: it
// may call back like a skipped class.
func (r *reach) hitNative(id callID, target methodID) {
	if !r.h.methods[target].leaf {
		r.callBack()
	}
	if id == none {
		return
	}
	made := &r.made[id]
	if slices.Contains(made.natives, target) {
		return
	}
	made.natives = append(made.natives, target)
	for _, caller := range made.callers {
		r.fresh.sites = append(r.fresh.sites, site{id, caller, target})
	}
}

func (r *reach) reflected(owner classID, s sigID) {
	h := r.h
	calls := []callID{h.call(exact, owner, s), h.call(virtual, owner, s)}
	starts := h.sigs[s].name == "<init>"
	h.resolve(owner, s, func(id methodID) bool {
		starts = starts || h.methods[id].static
		return true
	})
	if starts {
		calls = append(calls, h.call(initialize, owner, 0))
	}
	r.grow()
	for _, id := range calls {
		r.make(id, nobody)
	}
	r.follow()
}

// react finds the methods that a changed class makes callable, given the calls made so far.
func (r *reach) react(changed change) {
	r.grow()
	for _, id := range changed.grown {
		if r.expanded[id] {
			for _, call := range r.h.methods[id].calls {
				if !slices.Contains(r.made[call].callers, id) {
					r.make(call, id)
				}
			}
		}
	}
	if r.handles {
		r.seeks = r.seeks || changed.seeks
		r.soughtOf(changed.class)
	}
	if r.callsBack || len(r.byOwner) > 0 {
		if r.callsBack {
			for _, call := range r.h.classes[changed.class].outward {
				r.make(call, nobody)
			}
		}
		// Classes below may have come first: what they inherit changed too.
		for _, sub := range r.h.subtypes(changed.class) {
			r.reactBelow(sub)
		}
		if r.h.isOpen(changed.class) {
			r.reactOpen(changed.class)
		}
	}
	r.follow()
}

// reactBelow reaches what calls select for objects of a class, and what calls that
// name the class resolve to.
func (r *reach) reactBelow(c classID) {
	supers := r.h.supertypes(c)
	for _, super := range supers {
		for _, id := range r.byOwner[super] {
			switch call := &r.h.calls[id]; {
			case super == c:
				r.queue = append(r.queue, id)
			case call.kind == virtual:
				r.h.choose(c, call.sig, func(target methodID) bool {
					r.hit(id, target)
					return true
				})
			}
		}
	}
	if r.callsBack {
		r.callBackOf(c, supers)
	}
}

// reactOpen reaches what a class with a missing supertype may override by it.
func (r *reach) reactOpen(c classID) {
	for _, super := range r.h.supertypes(c) {
		if r.h.classes[super].skipped {
			continue
		}
		for _, d := range r.h.classes[super].methods {
			if r.h.methods[d.id].exposed && r.bySig[d.sig] {
				r.hit(none, d.id)
			}
		}
	}
}

// callBack lets skipped classes call all methods that override or implement theirs, and
// all methods they name. follow finds these methods later, as a walk may be in progress.
func (r *reach) callBack() {
	r.fresh.callsBack = true
	if !r.callsBack {
		r.callsBack, r.owed = true, true
	}
}

func (r *reach) followCallBacks() {
	for id := range r.h.classes {
		c := &r.h.classes[id]
		if c.skipped {
			for _, call := range c.outward {
				r.make(call, nobody)
			}
		} else if c.mirrored() {
			r.callBackOf(classID(id), r.h.supertypes(classID(id)))
		}
	}
}

// callBackOf reaches the methods, own or inherited, with which a class that is not skipped
// overrides methods of skipped supertypes; if a supertype is missing, all methods that
// it may declare.
func (r *reach) callBackOf(c classID, supers []classID) {
	h := r.h
	if h.classes[c].skipped || !h.classes[c].mirrored() {
		return
	}
	missing := slices.ContainsFunc(supers, h.isMissing)
	for _, own := range supers {
		if h.classes[own].skipped {
			continue
		}
		for _, d := range h.classes[own].methods {
			if m := &h.methods[d.id]; !m.virtual || h.isFinalizer(d.sig) {
				continue
			} else if missing && m.exposed || h.skippedDeclares(supers, d.sig) {
				r.hit(none, d.id)
			}
		}
	}
}

// skippedDeclares reports whether one of the supertypes is skipped and declares a
// method that can be overridden.
func (h *hierarchy) skippedDeclares(supers []classID, s sigID) bool {
	return slices.ContainsFunc(supers, func(super classID) bool {
		id, ok := h.declaration(super, s)
		return h.classes[super].skipped && ok && h.methods[id].virtual
	})
}

func (h *hierarchy) isFinalizer(s sigID) bool {
	return h.sigs[s].name == "finalize" && h.sigs[s].descriptor == "()V"
}

// take returns what it has not returned before, in order of names.
func (r *reach) take() Expansion {
	f := r.fresh
	r.fresh = fresh{}
	e := Expansion{Reflects: f.reflects, Handles: f.handles, CallsBack: f.callsBack}
	for _, id := range f.methods {
		e.Methods = append(e.Methods, r.h.named(id))
	}
	for _, s := range f.sites {
		c := &r.h.calls[s.call]
		e.Sites = append(e.Sites, Site{
			Caller: r.h.named(s.caller),
			Called: r.h.ref(c.owner, c.sig),
			Native: r.h.named(s.native),
			Mixed:  r.made[s.call].mixed,
		})
	}
	slices.SortFunc(e.Methods, classfile.MethodRef.Compare)
	slices.SortFunc(e.Sites, func(a, b Site) int {
		return cmp.Or(a.Caller.Compare(b.Caller), a.Native.Compare(b.Native), a.Called.Compare(b.Called))
	})
	e.Sites = slices.Compact(e.Sites) // super.m() and this.m() may name the same
	return e
}

// Size counts the hooks that a closure needs.
type Size struct {
	Methods, Classes int // to be woven, the roots' included
	Sites            int // calls of native methods in them
}

// Closure counts everything reached from roots, whatever was expanded before. It changes
// nothing.
func (g *Graph) Closure(roots []classfile.MethodRef) Size {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := newReach(g.hierarchy)
	r.expandAll(g.hierarchy.known(roots))
	return r.size()
}

// Reached returns those of some methods that are reached from roots, whatever was expanded before. It
// changes nothing.
func (g *Graph) Reached(roots, methods []classfile.MethodRef) []classfile.MethodRef {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := newReach(g.hierarchy)
	r.expandAll(g.hierarchy.known(roots))
	return slices.DeleteFunc(slices.Clone(methods), func(m classfile.MethodRef) bool {
		id, known := g.hierarchy.find(m)
		return !known || int(id) >= len(r.callable) || !r.callable[id]
	})
}

// Likely counts the methods reached from roots through calls with few targets, most of
// which a program makes, and all that these methods may call directly. It changes
// nothing.
func (g *Graph) Likely(roots []classfile.MethodRef, fan int) Size {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := newReach(g.hierarchy)
	r.grow()
	for level := g.hierarchy.known(roots); len(level) > 0; {
		var next []methodID
		for _, id := range level {
			if r.expanded[id] {
				continue
			}
			r.expand(id)
			for _, call := range g.hierarchy.methods[id].calls {
				next = append(next, g.hierarchy.fewTargets(call, fan)...)
			}
		}
		level = next
	}
	return r.size()
}

// size counts the callable methods.
func (r *reach) size() Size {
	classes := make(map[classID]bool)
	var size Size
	for id, callable := range r.callable {
		if m := &r.h.methods[id]; callable && m.code {
			size.Methods++
			classes[m.class] = true
		}
	}
	size.Classes, size.Sites = len(classes), len(r.take().Sites)
	return size
}

// Limits bounds the search of Ahead. Each must be positive.
type Limits struct {
	Depth   int // how many calls away
	Methods int // how many methods at most
	Fan     int // how many targets a call may have to be looked through
}

// Ahead returns methods that are likely to be entered soon after methods, nearest first:
// methods reached by calls with few targets. Expanding them in the same round saves a
// round for each. The search goes through methods and already expanded methods, but does
// not return them. It changes nothing: give the result to Expand.
func (g *Graph) Ahead(methods []classfile.MethodRef, limits Limits) []classfile.MethodRef {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hierarchy
	g.reach.grow()
	level := h.known(methods)
	met := make(map[methodID]bool, len(level))
	for _, id := range level {
		met[id] = true
	}
	looked := make(map[callID]bool)
	var found []classfile.MethodRef
	for depth := 0; depth < limits.Depth && len(level) > 0; depth++ {
		var next []methodID
		for _, id := range level {
			for _, call := range h.methods[id].calls {
				if looked[call] {
					continue
				}
				looked[call] = true
				next = append(next, h.fewTargets(call, limits.Fan)...)
			}
		}
		level = level[:0]
		for _, id := range next {
			if met[id] {
				continue
			}
			met[id] = true
			level = append(level, id)
			if g.reach.expanded[id] {
				continue
			}
			if len(found) >= limits.Methods {
				return found
			}
			found = append(found, h.named(id))
		}
	}
	return found
}

// fewTargets returns the methods with code, not skipped, that a call may reach,
// through lambdas too; none where they, or the lambdas, are more than a number.
func (h *hierarchy) fewTargets(first callID, most int) []methodID {
	var found, lambdas []methodID
	calls := []callID{first}
	few := func() bool { return len(found) <= most && len(lambdas) <= most }
	for i := 0; i < len(calls) && few(); i++ {
		h.targets(&h.calls[calls[i]], func(id methodID) bool {
			m := &h.methods[id]
			switch owner := &h.classes[m.class]; {
			case owner.skipped || slices.Contains(found, id) || slices.Contains(lambdas, id):
			case owner.lambda:
				lambdas = append(lambdas, id)
				calls = append(calls, m.calls...)
			case m.code:
				found = append(found, id)
			}
			return few()
		})
	}
	if !few() {
		return nil
	}
	return found
}

// Settle expands the methods whose expansion changes nothing now, because all they call
// is callable already, and returns them. A caller that waits for the first call of a
// method before it expands the method need not wait for these.
func (g *Graph) Settle(methods []classfile.MethodRef) []classfile.MethodRef {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach.grow()
	var settled []classfile.MethodRef
	for _, m := range methods {
		if id, ok := g.hierarchy.find(m); ok && g.reach.isSettled(id) {
			g.reach.expand(id)
			settled = append(settled, m)
		}
	}
	return settled
}

// isSettled reports whether expanding a method would change nothing.
func (r *reach) isSettled(id methodID) bool {
	if r.h.classes[r.h.methods[id].class].skipped {
		return false
	}
	for _, call := range r.h.methods[id].calls {
		c := &r.h.calls[call]
		if c.reflects || c.handles || len(r.made[call].natives) > 0 {
			return false
		}
		if r.made[call].is {
			continue
		}
		if (c.leaves || r.h.maySkip(c)) && !r.callsBack {
			return false
		}
		known := true
		r.h.targets(c, func(target methodID) bool {
			known = r.isKnown(target)
			return known
		})
		if !known {
			return false
		}
	}
	return true
}

// isKnown reports whether a call that reaches a method changes nothing.
func (r *reach) isKnown(target methodID) bool {
	m := &r.h.methods[target]
	owner := &r.h.classes[m.class]
	switch {
	case m.native && !TooCheapToHook(r.h.named(target)):
		return false
	case owner.skipped:
		return m.leaf || r.callsBack || !m.code && !m.native && !owner.lambda
	}
	return r.callable[target] || !m.code && !owner.lambda
}
