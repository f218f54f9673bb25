package callgraph

import (
	"slices"
	"strings"
)

// A Target is a method that a call may reach.
type Target struct {
	Method
	// ByLambda says that an object made of a lambda or method reference stands
	// between: the call names its interface.
	ByLambda bool
}

// Targets returns all that a direct call may reach, in order of names: methods with
// code or native ones, those that lambdas stand for too. Where there is none it is the
// abstract declaration, or nothing. caller is who calls: what its superclasses do to be
// initialised they have done, or begun, when it runs.
func (g *Graph) Targets(call DirectCall, caller Method) []Target {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hierarchy
	found := make(map[methodID]bool) // and whether a lambda stands between
	var abstract []methodID
	followed := map[callID]bool{call.id: true}
	calls := []callID{call.id}
	for i := 0; i < len(calls); i++ {
		h.targets(&h.calls[calls[i]], func(id methodID) bool {
			m := &h.methods[id]
			switch {
			case h.classes[m.class].lambda:
				for _, inner := range m.calls {
					if !followed[inner] && !h.hasBegun(inner, m.class) {
						followed[inner] = true
						calls = append(calls, inner)
					}
				}
			case m.code || m.native:
				if before, known := found[id]; !known || before {
					found[id] = i > 0
				}
			default:
				abstract = append(abstract, id)
			}
			return true
		})
	}
	if call.Kind == Initializer {
		for _, id := range h.begunWith(caller) {
			delete(found, id)
		}
	}
	var targets []Target
	for id, byLambda := range found {
		targets = append(targets, Target{h.named(id), byLambda})
	}
	if len(found) == 0 && len(abstract) > 0 {
		targets = append(targets, Target{Method: h.named(abstract[0])})
	}
	slices.SortFunc(targets, func(a, b Target) int { return a.compare(b.Method) })
	return targets
}

// hasBegun reports whether a call that a lambda makes is the initialisation of the class
// that made the lambda.
func (h *hierarchy) hasBegun(id callID, lambda classID) bool {
	maker, _, _ := strings.Cut(h.classes[lambda].name, lambdaMark)
	return h.calls[id].kind == initialize && h.classes[h.calls[id].owner].name == maker
}

// lambdaMark stands in the name of a class that stands for a lambda, behind who made it.
const lambdaMark = ";lambda;"

// begunWith are the static initialisers of a method's class and its superclasses.
func (h *hierarchy) begunWith(m Method) (begun []methodID) {
	s, some := h.sigIDs["<clinit>()V"]
	at, known := h.classIDs[m.Class]
	for met := map[classID]bool{}; some && known && !met[at]; {
		met[at] = true
		if id, ok := h.declaration(at, s); ok {
			begun = append(begun, id)
		}
		if len(h.classes[at].supers) == 0 {
			break
		}
		at = h.classes[at].supers[0] // the superclass comes before interfaces
	}
	return begun
}

// A Nature is what a class file says of a method.
type Nature struct {
	Code, Native bool // neither where it is abstract
	Bytes        int  // of code
}

// Nature returns what is known of a method; false where its class is not mirrored or
// does not declare it.
func (g *Graph) Nature(m Method) (Nature, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.find(m)
	if !ok {
		return Nature{}, false
	}
	known := &g.hierarchy.methods[id]
	return Nature{Code: known.code, Native: known.native, Bytes: known.shape.Bytes}, true
}

// Declared returns the methods that a mirrored class declares, those without code too,
// in order of names.
func (g *Graph) Declared(class string) []Method {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, ok := g.hierarchy.classIDs[class]
	if !ok {
		return nil
	}
	var all []Method
	for _, d := range g.hierarchy.classes[id].methods {
		all = append(all, g.hierarchy.named(d.id))
	}
	slices.SortFunc(all, Method.compare)
	return all
}

// IsSubtype reports whether a class is another, or below it, as far as is mirrored.
func (g *Graph) IsSubtype(class, super string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	sub, ok := g.hierarchy.classIDs[class]
	above, known := g.hierarchy.classIDs[super]
	return ok && known && slices.Contains(g.hierarchy.supertypes(sub), above)
}
