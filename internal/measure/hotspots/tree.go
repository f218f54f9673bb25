package hotspots

import (
	"cmp"
	"slices"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A Node is a method in one way of being called. The top stands for no method.
type Node struct {
	Method      *jfr.Method
	Self, Total float64 // weights, in samples of Java code
	Kinds       map[string]float64
	Children    []*Node // by total
}

// Tree is all stacks from their outermost method down. Those that were cut off
// begin where they were.
func (t *Table) Tree() *Node {
	type place struct {
		above  *Node
		method int
	}
	top := &Node{}
	nodes := map[place]*Node{}
	for i, s := range t.samples {
		weight := t.weights[i]
		if weight == 0 {
			continue
		}
		at := top
		at.Total += weight
		for _, frame := range slices.Backward(s.Stack.Frames) {
			if frame.Method == nil {
				continue
			}
			number := t.names[identityOf(frame.Method)]
			below := nodes[place{at, number}]
			if below == nil {
				below = &Node{Method: t.Methods[number].Method, Kinds: map[string]float64{}}
				nodes[place{at, number}] = below
				at.Children = append(at.Children, below)
			}
			at = below
			at.Total += weight
			at.Kinds[frame.Kind.String()] += weight
		}
		at.Self += weight
	}
	sortChildren(top)
	return top
}

func sortChildren(n *Node) {
	slices.SortFunc(n.Children, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Method.Class, b.Method.Class), cmp.Compare(a.Method.Name, b.Method.Name))
	})
	for _, c := range n.Children {
		sortChildren(c)
	}
}
