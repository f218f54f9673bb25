package calltree

import (
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
)

// A growth is a tree that is made, level by level.
type growth struct {
	*World
	limits   Limits
	tree     *Tree
	expanded map[callgraph.Method]bool
}

// Tree is what methods can call, within limits.
func (w *World) Tree(roots []callgraph.Method, limits Limits) *Tree {
	g := &growth{World: w, limits: limits, tree: &Tree{}, expanded: make(map[callgraph.Method]bool)}
	clear(w.reached) // they are of other limits
	if len(roots) > limits.Nodes {
		g.tree.RootsCut = len(roots) - limits.Nodes
		roots = roots[:limits.Nodes]
	}
	for _, m := range roots {
		g.tree.Roots = append(g.tree.Roots, g.node(m, nil))
	}
	for level := g.tree.Roots; len(level) > 0; {
		var next []*Node
		for _, n := range level {
			if n.Stop = g.stop(n); n.Stop == Followed {
				g.expanded[n.Method] = true
				g.expand(n)
				next = append(next, n.Callees...)
			}
		}
		level = next
	}
	distinct := make(map[callgraph.Method]bool)
	g.tree.Each(func(n *Node) { distinct[n.Method] = true })
	g.tree.Methods = len(distinct)
	return g.tree
}

// node is a method with what the loaded classes say of it.
func (g *growth) node(m callgraph.Method, parent *Node) *Node {
	g.tree.Nodes++
	n := &Node{Method: m, parent: parent}
	if parent != nil {
		n.Level = parent.Level + 1
	}
	c := g.classes[m.Class]
	nature, declared := g.graph.Nature(m)
	if c != nil {
		n.Loaders, n.JDK = c.loaders, c.jdk
	}
	n.Bytes = nature.Bytes
	switch {
	case c == nil:
		n.State, n.Reason = Cannot, "its class is not loaded"
	case !declared && len(c.files) == 0:
		n.State, n.Reason = Cannot, "its class file is not found"
	case !declared:
		n.State, n.Reason = Cannot, "its class has no such method"
	case nature.Native:
		n.State, n.Reason = Cannot, "it is native"
	case !nature.Code:
		n.State, n.Reason = Cannot, "it is abstract, and no loaded class implements it"
	case c.reason != "":
		n.State, n.Reason = Cannot, c.reason
	}
	return n
}

// stop says why a method is not followed.
func (g *growth) stop(n *Node) Stop {
	for p := n.parent; p != nil; p = p.parent {
		if p.Method == n.Method {
			return Recursive
		}
	}
	switch {
	case n.Bytes == 0: // nothing to follow
		return Followed
	case n.JDK && !g.limits.JDK && n.Level > 0:
		return OfJDK
	case g.expanded[n.Method]:
		return Elsewhere
	case n.Level >= g.limits.Levels:
		return Deepest
	}
	return Followed
}

// expand puts what a method calls below it.
func (g *growth) expand(n *Node) {
	at := make(map[callgraph.Method]*Node)
	cut := make(map[callgraph.Method]bool) // what bounds kept out
	var byBreadth, byNodes int
	for _, call := range g.calls(n.Method) {
		n.Reflects, n.Handles = n.Reflects || call.Reflects, n.Handles || call.Handles
		targets := g.targets(call, n.Method, g.limits.Overrides)
		if more := targets.all - len(targets.first); more > 0 {
			n.Cuts = append(n.Cuts, Cut{more, ByOverrides, Via{Kind: call.Kind, Declared: call.Declared}})
			g.tree.Cut += more
		}
		for _, target := range g.named(call, targets.first) {
			via := Via{call.Kind, call.Declared, target.ByLambda}
			child := at[target.Method]
			switch {
			case child != nil:
				child.Via = append(child.Via, via)
				continue
			case cut[target.Method]:
				continue
			case len(at) >= g.limits.Breadth:
				byBreadth++
			case g.tree.Nodes >= g.limits.Nodes:
				byNodes++
			default:
				child = g.node(target.Method, n)
				child.Via = []Via{via}
				at[target.Method] = child
				n.Callees = append(n.Callees, child)
				if call.Handles && child.State == Cannot {
					child.Reason = "what the method handle calls is not in the bytecode"
				}
				continue
			}
			cut[target.Method] = true
		}
	}
	for _, c := range []Cut{{Methods: byBreadth, By: ByBreadth}, {Methods: byNodes, By: ByNodes}} {
		if c.Methods > 0 {
			n.Cuts = append(n.Cuts, c)
			g.tree.Cut += c.Methods
		}
	}
}

// named gives the declaration itself where a call reaches nothing that is loaded. That
// no static initialiser is left to run is nothing to tell.
func (g *growth) named(call callgraph.DirectCall, targets []callgraph.Target) []callgraph.Target {
	if len(targets) == 0 && call.Kind != callgraph.Initializer {
		return []callgraph.Target{{Method: call.Declared}}
	}
	return targets
}
