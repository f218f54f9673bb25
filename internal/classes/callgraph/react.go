package callgraph

import "slices"

// react finds what a changed class makes callable, given the calls that are made.
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

// callBack lets skipped classes call whatever overrides or implements a method of
// theirs, and whatever they name. That is found when calls are followed, as a walk
// may be under way.
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

// callBackOf reaches what objects of a class that is not skipped have, by themselves
// or by inheritance, for methods of skipped supertypes; where a supertype is missing,
// all it may know of them.
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
	for _, super := range supers {
		if !h.classes[super].skipped {
			continue
		}
		if id, ok := h.declaration(super, s); ok && h.methods[id].virtual {
			return true
		}
	}
	return false
}

func (h *hierarchy) isFinalizer(s sigID) bool {
	return h.sigs[s].name == "finalize" && h.sigs[s].descriptor == "()V"
}
