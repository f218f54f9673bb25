// Package calltree finds what a method of a running JVM can call, level by level,
// according to the bytecode of the loaded classes: a tree of methods, each with how it is
// called, how large it is, its class loaders, and whether a call of it was counted.
//
// A World holds the calls of loaded classes; World.Tree returns a tree without asking a
// JVM. Look does both for a running JVM. It installs hooks only to count
// calls for a time, and these hooks do not measure times.
package calltree

import (
	"cmp"
	"math"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
)

// A State says what is known of a method's calls.
type State uint8

// The states.
const (
	NotWatched   State = iota // its calls are not counted
	Instrumented              // a hook of another Sonde has counted no call
	Called                    // a hook has counted a call
	NeverCalled               // our hook has counted no call
	Cannot                    // it cannot have a hook
)

var stateNames = [...]string{"not watched", "instrumented", "called", "never called", "no hook"}

func (s State) String() string { return stateNames[s] }

// A Via says how a method is called.
type Via struct {
	Kind callgraph.CallKind
	// Declared is the method that the call names, which may be one that this method
	// overrides; for an initializer only the class.
	Declared classfile.MethodRef
	// ByLambda says that the call reaches it by a lambda or method reference, which may
	// have been made anywhere.
	ByLambda bool
	ByProxy  bool // likewise by a proxy
}

// A Stop says why the callees of a method are not at this place of the tree.
type Stop uint8

// The reasons.
const (
	Followed  Stop = iota // they are, unless they are cut
	Deepest               // it is on the last level
	OfJDK                 // it belongs to the JDK
	Elsewhere             // they are at another place of the tree
	Recursive             // it is its own caller
	Closed                // Limits.Open says so
)

var stopNames = [...]string{"", "levels", "jdk", "elsewhere", "recursive", "closed"}

func (s Stop) String() string { return stopNames[s] }

// A Cut is a number of callees that a bound keeps out of the tree.
type Cut struct {
	Methods int
	By      Bound
	Via     Via // of ByOverrides: the call that has more targets than are followed
}

// A Bound identifies one of the Limits.
type Bound uint8

// The bounds.
const (
	ByOverrides Bound = iota
	ByBreadth
	ByNodes
)

var boundNames = [...]string{"overrides", "breadth", "nodes"}

func (b Bound) String() string { return boundNames[b] }

// A Node is a method at one place of the tree.
type Node struct {
	classfile.MethodRef
	Via    []Via // how its parent calls it; nothing for a root
	Level  int   // 0 for a root
	State  State
	Reason string // of Cannot
	Holder string // for Instrumented and Called: whose hook it is, if not ours
	Calls  uint64 // counted calls
	// LowerBound says that hooks may have missed calls.
	LowerBound bool
	Bytes      int // of code
	Loaders    []uint32
	JDK        bool
	Stop       Stop
	// Reflects and Handles say that it makes calls by reflection or by method handles,
	// whose targets are not in the bytecode.
	Reflects, Handles bool
	Parent            *Node   // nil for a root
	Callees           []*Node // in the order of their first calls
	Cuts              []Cut
}

// A Tree holds what some methods can call.
type Tree struct {
	Roots   []*Node
	Nodes   int // in all
	Methods int // distinct ones
	Cut     int // callees that bounds keep out
	// RootsCut is how many further methods match.
	RootsCut int
}

// Each visits all nodes, level by level from the root.
func (t *Tree) Each(visit func(*Node)) {
	level := t.Roots
	for len(level) > 0 {
		var next []*Node
		for _, n := range level {
			visit(n)
			next = append(next, n.Callees...)
		}
		level = next
	}
}

// Limits bound a tree.
type Limits struct {
	Levels    int  // of callees below the roots
	Overrides int  // methods that one call may reach
	Breadth   int  // callees of one method
	Nodes     int  // in all
	JDK       bool // follow the JDK's own methods too
	// Follow reports whether a call of one method may reach another; nil for all that the bytecode allows.
	Follow func(caller classfile.MethodRef, call Via, callee classfile.MethodRef) bool
	// Open reports whether the tree has what a method calls that is not a root; nil for all methods.
	Open func(*Node) bool
}

// DefaultLimits returns limits for a tree that a person can read.
func DefaultLimits() Limits { return Limits{Levels: 2, Overrides: 10, Breadth: 60, Nodes: 1000} }

// A Hooked is what the hook of a method has counted.
type Hooked struct {
	Calls  uint64
	Holder string // whose hook it is; "" for ours

	LowerBound bool // it may have missed calls
}

// Mark sets the states of methods that have hooks. A method without a counted call is
// NeverCalled if the hook is ours and cannot have missed calls, otherwise Instrumented.
func (t *Tree) Mark(hooked map[classfile.MethodRef]Hooked) {
	t.Each(func(n *Node) {
		h, is := hooked[n.MethodRef]
		if !is {
			return
		}
		n.Calls, n.LowerBound, n.Holder, n.Reason = h.Calls, h.LowerBound, h.Holder, ""
		switch {
		case h.Calls > 0:
			n.State = Called
		case h.Holder == "" && !h.LowerBound:
			n.State = NeverCalled
		default:
			n.State = Instrumented
		}
	})
}

// Refuse sets why methods have no hook although one was requested: by method, or by class
// with an empty name and descriptor.
func (t *Tree) Refuse(reasons map[classfile.MethodRef]string) {
	t.Each(func(n *Node) {
		if n.State != NotWatched {
			return
		}
		if reason := cmp.Or(reasons[n.MethodRef], reasons[classfile.MethodRef{Class: n.Class}]); reason != "" {
			n.State, n.Reason = Cannot, reason
		}
	})
}

// Watchable returns the methods of a tree that may have hooks, each once, those nearest to
// a root first, and how many more there are. Methods of the JDK are included only if the
// JDK is followed: a hook there slows down every caller.
func (t *Tree) Watchable(most int, jdk bool) (methods []classfile.MethodRef, more int) {
	met := make(map[classfile.MethodRef]bool)
	t.Each(func(n *Node) {
		if n.State != NotWatched || n.JDK && !jdk && n.Level > 0 || met[n.MethodRef] {
			return
		}
		met[n.MethodRef] = true
		if len(methods) < most {
			methods = append(methods, n.MethodRef)
		} else {
			more++
		}
	})
	return slices.Clip(methods), more
}

// A growth is a tree under construction, level by level.
type growth struct {
	*World
	limits   Limits
	tree     *Tree
	expanded map[classfile.MethodRef]bool
}

// Tree returns what methods can call, within limits.
func (w *World) Tree(roots []classfile.MethodRef, limits Limits) *Tree {
	g := &growth{World: w, limits: limits, tree: &Tree{}, expanded: make(map[classfile.MethodRef]bool)}
	clear(w.reached) // they depend on the limits
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
				g.expanded[n.MethodRef] = true
				g.expand(n)
				next = append(next, n.Callees...)
			}
		}
		level = next
	}
	distinct := make(map[classfile.MethodRef]bool)
	g.tree.Each(func(n *Node) { distinct[n.MethodRef] = true })
	g.tree.Methods = len(distinct)
	return g.tree
}

// node returns the node of a method, with what is known from the loaded classes.
func (g *growth) node(m classfile.MethodRef, parent *Node) *Node {
	g.tree.Nodes++
	n := &Node{MethodRef: m, Parent: parent}
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
	case !declared && !g.graph.Has(m.Class):
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

// stop returns why a method is not followed.
func (g *growth) stop(n *Node) Stop {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.MethodRef == n.MethodRef {
			return Recursive
		}
	}
	switch {
	case n.Bytes == 0: // nothing to follow
		return Followed
	case n.JDK && !g.limits.JDK && n.Level > 0:
		return OfJDK
	case g.expanded[n.MethodRef]:
		return Elsewhere
	case n.Level >= g.limits.Levels:
		return Deepest
	case n.Level > 0 && g.limits.Open != nil && !g.limits.Open(n):
		return Closed
	}
	return Followed
}

// expand adds the callees of a method.
func (g *growth) expand(n *Node) {
	at := make(map[classfile.MethodRef]*Node)
	cut := make(map[classfile.MethodRef]bool) // methods that a bound keeps out
	var byBreadth, byNodes int
	for _, call := range g.graph.Calls(n.MethodRef) {
		n.Reflects, n.Handles = n.Reflects || call.Reflects, n.Handles || call.Handles
		targets, more := g.followed(call, n.MethodRef)
		if more > 0 {
			n.Cuts = append(n.Cuts, Cut{more, ByOverrides, Via{Kind: call.Kind, Declared: call.Declared}})
			g.tree.Cut += more
		}
		for _, target := range g.named(call, targets) {
			via := Via{call.Kind, call.Declared, target.ByLambda, target.ByProxy}
			child := at[target.MethodRef]
			switch {
			case child != nil:
				child.Via = append(child.Via, via)
				continue
			case cut[target.MethodRef]:
				continue
			case len(at) >= g.limits.Breadth:
				byBreadth++
			case g.tree.Nodes >= g.limits.Nodes:
				byNodes++
			default:
				child = g.node(target.MethodRef, n)
				child.Via = []Via{via}
				at[target.MethodRef] = child
				n.Callees = append(n.Callees, child)
				if call.Handles && child.State == Cannot {
					child.Reason = "what the method handle calls is not in the bytecode"
				}
				continue
			}
			cut[target.MethodRef] = true
		}
	}
	for _, c := range []Cut{{Methods: byBreadth, By: ByBreadth}, {Methods: byNodes, By: ByNodes}} {
		if c.Methods > 0 {
			n.Cuts = append(n.Cuts, c)
			g.tree.Cut += c.Methods
		}
	}
}

// followed returns the methods that a call reaches, as far as the limits allow, and how many more there
// are.
func (g *growth) followed(call callgraph.DirectCall, caller classfile.MethodRef) (targets []callgraph.Target, more int) {
	if g.limits.Follow == nil {
		found := g.targets(call, caller, g.limits.Overrides)
		return found.first, found.all - len(found.first)
	}
	found := g.targets(call, caller, math.MaxInt)
	for _, target := range found.first {
		if len(targets) < g.limits.Overrides && g.limits.Follow(caller, Via{call.Kind, call.Declared, target.ByLambda, target.ByProxy}, target.MethodRef) {
			targets = append(targets, target)
		}
	}
	return targets, found.all - len(targets)
}

// named returns the declaration itself where a call reaches no loaded method. It is
// normal that no static initializer is left to run.
func (g *growth) named(call callgraph.DirectCall, targets []callgraph.Target) []callgraph.Target {
	if len(targets) == 0 && call.Kind != callgraph.Initializer {
		return []callgraph.Target{{MethodRef: call.Declared}}
	}
	return targets
}
