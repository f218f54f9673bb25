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
	return r.size()
}

// Likely counts what is reached from roots through calls of few targets, most of
// which a program makes, with all that those methods may call directly. It changes
// nothing.
func (g *Graph) Likely(roots []Method, fan int) Size {
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

// size counts what is callable.
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
