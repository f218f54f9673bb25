package calltree

import "github.com/sonde-jvm/sonde/internal/classes/callgraph"

// A State is what is known of a method's calls.
type State uint8

// The states.
const (
	NotWatched   State = iota // nothing has counted its calls
	Instrumented              // a Sonde has a hook in it, which has not seen a call
	Called                    // a hook has seen a call
	NeverCalled               // a hook of ours has waited for one in vain
	Cannot                    // it cannot have a hook
)

var stateNames = [...]string{"not watched", "instrumented", "seen called", "never called", "cannot be"}

func (s State) String() string { return stateNames[s] }

// A Via is how a method is called.
type Via struct {
	Kind callgraph.CallKind
	// Declared is what the call names, which may be a method that this one overrides;
	// of an initializer only the class.
	Declared callgraph.Method
	// ByLambda says that the call reaches it by a lambda or method reference, which may
	// have been made anywhere.
	ByLambda bool
}

// A Stop is why the callees of a method are not in the tree at its place.
type Stop uint8

// The reasons.
const (
	Followed  Stop = iota // they are, as far as they are not cut
	Deepest               // it is on the last level
	OfJDK                 // it is the JDK's
	Elsewhere             // they are at another place of the tree
	Recursive             // it is its own caller
)

var stopNames = [...]string{"", "levels", "jdk", "elsewhere", "recursive"}

func (s Stop) String() string { return stopNames[s] }

// A Cut is a number of callees that a bound keeps out of the tree.
type Cut struct {
	Methods int
	By      Bound
	Via     Via // of ByOverrides: the call that has so many targets
}

// A Bound is one of Limits.
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
	callgraph.Method
	Via    []Via // how its parent calls it; nothing for a root
	Level  int   // 0 for a root
	State  State
	Reason string // of Cannot
	Holder string // of Instrumented and Called: whose hook it is, where it is not ours
	Calls  uint64 // that were seen
	// LowerBound says that hooks may have missed calls.
	LowerBound bool
	Bytes      int // of code
	Loaders    []uint32
	JDK        bool
	Stop       Stop
	// Reflects and Handles say that it calls, by reflection or by method handles, what
	// no bytecode tells.
	Reflects, Handles bool
	Callees           []*Node // in the order of their first calls
	Cuts              []Cut

	parent *Node
}

// A Tree is what some methods can call.
type Tree struct {
	Roots   []*Node
	Nodes   int // in all
	Methods int // distinct ones
	Cut     int // callees that bounds keep out
	// RootsCut is how many further methods match.
	RootsCut int
}

// Each visits all nodes, those of a level before those below.
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
}

// DefaultLimits give a tree that can be read.
func DefaultLimits() Limits { return Limits{Levels: 2, Overrides: 10, Breadth: 60, Nodes: 1000} }
