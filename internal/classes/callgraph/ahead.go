package callgraph

import "slices"

// Limits bounds a look ahead. Each must be positive for there to be any.
type Limits struct {
	Depth   int // how many calls away
	Methods int // how many methods at most
	Fan     int // how many targets a call may have to be looked through
}

// Ahead returns methods that are likely to be entered soon after methods, nearest
// first: those reached by calls of few targets. Expanding them in the same round
// saves one for each. methods themselves, and what was expanded before, are not
// returned, but looked through. Nothing is changed: what it returns is to be given
// to Expand.
func (g *Graph) Ahead(methods []Method, limits Limits) []Method {
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
	var found []Method
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
