package arena

import (
	"cmp"
	"maps"
	"slices"
)

// Callers that are no methods.
const (
	// CallerUnknown is who called where that could not be told: the stack was too
	// deep in calls of the method by itself, or too many callers were met.
	CallerUnknown = layoutCallerUnknown
	// CallerEntry is nobody: the call is the first of its thread.
	CallerEntry = layoutCallerEntry
)

// IsCaller tells whether an id is a caller's number. Which method that is, an
// arrival of this id says; CallerUnknown and CallerEntry have none.
func IsCaller(id uint32) bool {
	return id >= layoutCallersFirst && id-layoutCallersFirst < layoutCallersMost
}

// An Edge is what is known of a method's calls by one caller: of those that were
// drawn. How many there were in all, Sum tells.
type Edge struct {
	Caller uint32 // its number
	Method uint32
	Calls  uint64 // drawn
	Timed  uint64 // of those, the ones that were timed and have ended
	Nanos  uint64 // by outermost calls: a method that calls itself is not counted twice
	Self   uint64 // without timed callees
	Max    uint64
	Spread *Spread // nil where none was asked for
}

// Edges are all of them, added up over threads, in the order of methods and
// callers.
func Edges(threads []Thread) []Edge {
	type ends struct{ caller, method uint32 }
	found := make(map[ends]*Edge)
	for _, thread := range threads {
		callers := make(map[uint32]uint32) // numbers, by their nodes' refs
		for _, node := range thread.Nodes {
			if IsCaller(node.ID) && node.Parent == thread.Root {
				callers[node.Ref] = node.ID
			}
		}
		for _, node := range thread.Nodes {
			number, isEdge := callers[node.Parent]
			if !isEdge {
				continue
			}
			edge := found[ends{number, node.ID}]
			if edge == nil {
				edge = &Edge{Caller: number, Method: node.ID}
				found[ends{number, node.ID}] = edge
			}
			edge.add(node)
		}
	}
	edges := make([]Edge, 0, len(found))
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b ends) int {
		return cmp.Or(cmp.Compare(a.method, b.method), cmp.Compare(a.caller, b.caller))
	}) {
		edges = append(edges, *found[key])
	}
	return edges
}

func (e *Edge) add(node Node) {
	e.Calls += node.Calls
	e.Timed += node.Timed
	e.Nanos += node.Nanos
	e.Self += uint64(max(node.Self, 0))
	e.Max = max(e.Max, node.Max)
	if node.Spread != nil {
		if e.Spread == nil {
			e.Spread = &Spread{}
		}
		e.Spread.Add(node.Spread)
	}
}
