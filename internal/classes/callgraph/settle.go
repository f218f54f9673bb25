package callgraph

// Settle expands those of methods whose expansion changes nothing for now, and
// returns them: all they call is callable already. Who waits for the first call of
// a method, to expand it then, need not wait for these.
func (g *Graph) Settle(methods []Method) []Method {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach.grow()
	var settled []Method
	for _, m := range methods {
		if id, ok := g.hierarchy.find(m); ok && g.reach.isSettled(id) {
			g.reach.expand(id)
			settled = append(settled, m)
		}
	}
	return settled
}

// isSettled reports whether expanding a method would tell anything.
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

// isKnown reports whether a call that reaches a method tells nothing new.
func (r *reach) isKnown(target methodID) bool {
	m := &r.h.methods[target]
	owner := &r.h.classes[m.class]
	switch {
	case m.native && !IsIntrinsic(r.h.named(target)):
		return false
	case owner.skipped:
		return m.leaf || r.callsBack || !m.code && !m.native && !owner.lambda
	}
	return r.callable[target] || !m.code && !owner.lambda
}
