package callgraph

import "slices"

// openness knows which classes may be subtypes of anything: those with a supertype
// that is not mirrored, and all above them, whose methods they inherit.
type openness struct {
	stale bool
	open  []bool
}

// isOpen reports whether a method of c may override one of a class that c is not
// known to be a subtype of.
func (h *hierarchy) isOpen(c classID) bool {
	if h.open.stale {
		h.findOpen()
	}
	return int(c) < len(h.open.open) && h.open.open[c]
}

// noteOpen is told of a class that was added or changed. Most are added behind their
// supertypes and before their subtypes, which opens and closes nothing.
func (h *hierarchy) noteOpen(c classID) {
	h.open.stale = h.open.stale || len(h.classes[c].subs) > 0
	for _, super := range h.classes[c].supers {
		h.open.stale = h.open.stale || super != h.object && (!h.classes[super].mirrored() || h.isOpen(super))
	}
}

// findOpen goes down from every supertype that is missing, and up again from all
// below it. That java/lang/Object is missing leaves nothing open: there is nothing
// above it.
func (h *hierarchy) findOpen() {
	h.open.stale = false
	h.open.open = make([]bool, len(h.classes))
	var missing []classID
	for id := range h.classes {
		if h.isMissing(classID(id)) && classID(id) != h.object {
			missing = append(missing, classID(id))
		}
	}
	below := h.spreadOpen(missing, func(c *class) []classID {
		if !h.whole {
			return c.subs
		}
		return slices.DeleteFunc(slices.Clone(c.subs), func(sub classID) bool { return h.classes[sub].lambda })
	})
	h.spreadOpen(below, func(c *class) []classID { return c.supers })
}

// spreadOpen opens all that is reached from some classes by steps, and returns what
// it opened.
func (h *hierarchy) spreadOpen(from []classID, step func(*class) []classID) []classID {
	var opened []classID
	ahead := slices.Clone(from)
	for len(ahead) > 0 {
		last := len(ahead) - 1
		at := ahead[last]
		ahead = ahead[:last]
		for _, next := range step(&h.classes[at]) {
			if !h.open.open[next] {
				h.open.open[next] = true
				opened = append(opened, next)
				ahead = append(ahead, next)
			}
		}
	}
	return opened
}

// isMissing reports whether c is a supertype of a mirrored class but not mirrored.
func (h *hierarchy) isMissing(c classID) bool {
	return !h.classes[c].mirrored() && len(h.classes[c].subs) > 0
}

// maySkip reports whether a call may resolve to a method of a skipped class that is
// not mirrored.
func (h *hierarchy) maySkip(c *call) bool {
	if c.kind == initialize || !h.classes[c.owner].mirrored() {
		return false
	}
	if !h.resolve(c.owner, c.sig, func(methodID) bool { return false }) {
		return false
	}
	return slices.ContainsFunc(h.supertypes(c.owner), h.isMissing)
}
