package callgraph

import (
	"slices"
	"strings"
)

// take returns what was not told yet, in order of names.
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
			Caller:     r.h.named(s.caller),
			Owner:      r.h.classes[c.owner].name,
			Name:       r.h.sigs[c.sig].name,
			Descriptor: r.h.sigs[c.sig].descriptor,
			Native:     r.h.named(s.native),
			Mixed:      r.made[s.call].mixed,
		})
	}
	slices.SortFunc(e.Methods, Method.compare)
	slices.SortFunc(e.Sites, compareSites)
	e.Sites = slices.Compact(e.Sites) // super.m() and this.m() may name the same
	return e
}

func compareSites(a, b Site) int {
	if c := a.Caller.compare(b.Caller); c != 0 {
		return c
	}
	if c := a.Native.compare(b.Native); c != 0 {
		return c
	}
	return strings.Compare(a.Owner+a.Name+a.Descriptor, b.Owner+b.Name+b.Descriptor)
}

// Size counts what hooks a closure needs.
type Size struct {
	Methods, Classes int // to be woven, the roots' included
	Sites            int // calls of native methods in them
}

// Closure counts all that is reached from roots, whatever was expanded before. It
// changes nothing.
func (g *Graph) Closure(roots []Method) Size {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := newReach(g.hierarchy)
	r.expandAll(g.hierarchy.known(roots))
	classes := make(map[classID]bool)
	var size Size
	for id, callable := range r.callable {
		if m := &g.hierarchy.methods[id]; callable && m.code {
			size.Methods++
			classes[m.class] = true
		}
	}
	size.Classes, size.Sites = len(classes), len(r.take().Sites)
	return size
}
