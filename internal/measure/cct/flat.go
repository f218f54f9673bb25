package cct

import (
	"cmp"
	"slices"
)

// A Row is a method with all its contexts.
type Row struct {
	Method   int
	Calls    uint64
	Timed    uint64
	Threw    uint64
	Running  uint64
	Self     Time
	Total    Time // of outermost calls: a recursion is not counted twice
	Mean     Time // Self of one call
	Contexts int  // nodes it has
	Known    bool // whether anything is known of its own time
}

// Flat lists the methods below a node, by their own time, the longest first.
func Flat(top *Node, methods []Method) []Row {
	rows := make([]Row, len(methods))
	open := make([]int, len(methods)) // calls of a method around the node at hand
	var walk func(n *Node)
	walk = func(n *Node) {
		if n.Method >= 0 {
			row := &rows[n.Method]
			row.Calls += n.Calls
			row.Timed += n.Timed
			row.Threw += n.Threw
			row.Running += n.Running
			row.Self = row.Self.Plus(n.Self)
			row.Contexts++
			row.Known = row.Known || n.Known()
			if open[n.Method] == 0 {
				row.Total = row.Total.Plus(n.Total)
			}
			open[n.Method]++
			defer func() { open[n.Method]-- }()
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(top)
	for i := range rows {
		rows[i].Method = i
		rows[i].Mean = rows[i].Self.Over(float64(rows[i].Calls))
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Contexts == 0 })
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Self.Nanos, a.Self.Nanos), cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(methods[a.Method].String(), methods[b.Method].String()), cmp.Compare(a.Method, b.Method))
	})
	return rows
}
