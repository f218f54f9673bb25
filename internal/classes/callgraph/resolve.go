package callgraph

// marks remembers which classes a walk has met. Supertypes form a net, and in
// damaged class files a circle.
type marks struct {
	round uint32
	met   []uint32
}

func (m *marks) begin(classes int) {
	if m.round++; m.round == 0 { // the counter came round: old marks would count
		clear(m.met)
		m.round = 1
	}
	if missing := classes - len(m.met); missing > 0 {
		m.met = append(m.met, make([]uint32, missing)...)
	}
}

// meet reports whether the walk meets c for the first time.
func (m *marks) meet(c classID) bool {
	if m.met[c] == m.round {
		return false
	}
	m.met[c] = m.round
	return true
}

// supertypes returns c and everything above it, mirrored or not.
func (h *hierarchy) supertypes(c classID) []classID {
	h.inner.begin(len(h.classes))
	h.inner.meet(c)
	found := []classID{c}
	for i := 0; i < len(found); i++ {
		for _, super := range h.classes[found[i]].supers {
			if h.inner.meet(super) {
				found = append(found, super)
			}
		}
	}
	return found
}

// subtypes returns c and everything below it.
func (h *hierarchy) subtypes(c classID) []classID {
	h.inner.begin(len(h.classes))
	h.inner.meet(c)
	found := []classID{c}
	for i := 0; i < len(found); i++ {
		for _, sub := range h.classes[found[i]].subs {
			if h.inner.meet(sub) {
				found = append(found, sub)
			}
		}
	}
	return found
}

// resolve visits what a reference to a method of c may resolve to: the nearest
// declarations on all ways up. Which of several wins is not asked: more than one is
// rare. It ends early when visit returns false, and reports whether it did not.
func (h *hierarchy) resolve(c classID, s sigID, visit func(methodID) bool) bool {
	h.inner.begin(len(h.classes))
	return h.upward(c, s, false, visit)
}

// choose visits what a virtual call may select for an object of class c. Methods
// that are private or static are passed over.
func (h *hierarchy) choose(c classID, s sigID, visit func(methodID) bool) bool {
	h.inner.begin(len(h.classes))
	return h.upward(c, s, true, visit)
}

func (h *hierarchy) upward(c classID, s sigID, onlyVirtual bool, visit func(methodID) bool) bool {
	if !h.inner.meet(c) {
		return true
	}
	if id, ok := h.declaration(c, s); ok && (!onlyVirtual || h.methods[id].virtual) {
		if !visit(id) {
			return false
		}
		// A version of the class that does not declare it inherits it.
		declaring := h.methods[id].versions
		if onlyVirtual {
			declaring = h.methods[id].selected
		}
		if declaring == len(h.classes[c].versions) {
			return true
		}
	}
	for _, super := range h.classes[c].supers {
		if !h.upward(super, s, onlyVirtual, visit) {
			return false
		}
	}
	return true
}

// targets visits what a call may reach, some of it more than once. It ends early
// when visit returns false.
func (h *hierarchy) targets(c *call, visit func(methodID) bool) {
	if c.kind == initialize {
		h.initialisers(c.owner, visit)
		return
	}
	found, overridable := false, false
	if !h.resolve(c.owner, c.sig, func(id methodID) bool {
		found = true
		overridable = overridable || h.methods[id].virtual
		return visit(id)
	}) || c.kind == exact || found && !overridable {
		return
	}
	h.walk.begin(len(h.classes))
	h.walk.meet(c.owner)
	ahead := []classID{c.owner}
	for len(ahead) > 0 {
		last := len(ahead) - 1
		at := ahead[last]
		ahead = ahead[:last]
		if !h.choose(at, c.sig, visit) {
			return
		}
		for _, sub := range h.classes[at].subs {
			if h.walk.meet(sub) {
				ahead = append(ahead, sub)
			}
		}
	}
	for _, id := range h.sigs[c.sig].declared {
		if h.methods[id].exposed && h.isOpen(h.methods[id].class) && !visit(id) {
			return
		}
	}
}

func (h *hierarchy) initialisers(c classID, visit func(methodID) bool) {
	s, ok := h.sigIDs["<clinit>()V"]
	if !ok {
		return
	}
	for _, super := range h.supertypes(c) {
		if id, ok := h.declaration(super, s); ok && !visit(id) {
			return
		}
	}
}
