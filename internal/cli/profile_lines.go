package cli

import (
	"cmp"
	"container/heap"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

var profileColumns = []column{{"TOTAL", true}, {"", true}, {"SELF", true}, {"CALLS", true}, {"METHOD", false}}

// profileLines are what fits a terminal of a run: how it stands, and of its tree
// what took longest.
func profileLines(p profile.Progress, tree *cct.Profile, roots string, width, height int) []string {
	const around = 5 // head, standing, blank, titles, the line of the cursor
	head := string(p.Stage)
	if p.Elapsed > 0 {
		head += " for " + shortDuration(p.Elapsed)
	}
	if p.Stage == profile.Leaving {
		head = string(p.Stage)
	}
	head += ", below " + printable(roots)
	lines := []string{cut(head, width), cut(strings.Join(standing(p), ", "), width), ""}
	if tree != nil && len(tree.Merged.Children) > 0 {
		for _, line := range treeLines(tree, width, max(1, height-around)) {
			lines = append(lines, cut(line, width))
		}
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// treeLines are the longest nodes of a tree as a table, with its titles.
func treeLines(p *cct.Profile, width, most int) []string {
	shown, partly := longest(p.Merged, most), p.Partly()
	var rows [][]string
	var branches []string
	var walk func(n *cct.Node, branch string)
	walk = func(n *cct.Node, branch string) {
		var children []*cct.Node
		for _, c := range n.Children {
			if shown[c] {
				children = append(children, c)
			}
		}
		for i, c := range children {
			own, below := "├ ", "│ "
			if i == len(children)-1 {
				own, below = "└ ", "  "
			}
			if n == p.Merged { // roots stand at the margin
				own, below = "", ""
			}
			texts := nodeTexts(p, c)
			if _, is := partly[c.Method]; is {
				texts[len(texts)-1] += " [partly]" // its hook was on for a part of the time
			}
			rows = append(rows, texts)
			branches = append(branches, branch+own)
			walk(c, branch+below)
		}
	}
	walk(p.Merged, "")
	used := spaceBefore(profileColumns, rows)
	for i, row := range rows {
		last := len(row) - 1
		row[last] = branches[i] + keepEnd(row[last], width, used+utf8.RuneCountInString(branches[i]))
	}
	return tableLines(profileColumns, rows, 0)
}

// nodeTexts are a node's figures and its name.
func nodeTexts(p *cct.Profile, n *cct.Node) []string {
	total, share, self := "-", "", "-"
	if n.Total.Nanos > 0 {
		total = nanosText(n.Total.Nanos)
		share = fmt.Sprintf("%.0f %%", 100*n.Total.Nanos/p.Merged.Total.Nanos)
	}
	if n.Known() {
		self = nanosText(n.Self.Nanos)
	}
	return []string{total, share, self, grouped(int(n.Calls)), printable(p.Methods[n.Method].String())}
}

// longest are up to so many nodes below one: those that took longest, each with all
// above it.
func longest(top *cct.Node, most int) map[*cct.Node]bool {
	shown := make(map[*cct.Node]bool)
	open := nodeHeap(append([]*cct.Node(nil), top.Children...))
	heap.Init(&open)
	for len(open) > 0 && len(shown) < most {
		n := heap.Pop(&open).(*cct.Node)
		shown[n] = true
		for _, c := range n.Children {
			heap.Push(&open, c)
		}
	}
	return shown
}

// A nodeHeap gives the node that took longest first, of those whose time is not
// known the one called most.
type nodeHeap []*cct.Node

func (h nodeHeap) Len() int { return len(h) }

func (h nodeHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].Total.Nanos, h[i].Total.Nanos), cmp.Compare(h[j].Calls, h[i].Calls)) < 0
}

func (h nodeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *nodeHeap) Push(n any) { *h = append(*h, n.(*cct.Node)) }

func (h *nodeHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	*h = (*h)[:last]
	return n
}
