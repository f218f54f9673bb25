package document

import (
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/diff"
)

// Diff is written by `sonde diff`; docs/formats/profile.md describes it.
type Diff struct {
	Before      diff.Run          `json:"before"`
	After       diff.Run          `json:"after"`
	Total       cct.Time          `json:"total"`
	Methods     []change          `json:"methods"`
	Contexts    []change          `json:"contexts"`
	NotCompared []diff.Uncompared `json:"notCompared,omitempty"`
	Notes       []string          `json:"notes,omitempty"`
	Tree        *diffTree         `json:"tree,omitempty"` // all contexts; in files only
}

type (
	change struct {
		Path    []string     `json:"path"`
		Verdict diff.Verdict `json:"verdict"`
		Before  figures      `json:"before"`
		After   figures      `json:"after"`
		Delta   *cct.Time    `json:"change,omitempty"`
	}
	figures struct {
		Calls float64   `json:"calls"`
		Self  *cct.Time `json:"self,omitempty"`
	}
	diffTree struct {
		Methods []string   `json:"methods"`
		Nodes   []diffNode `json:"nodes"` // callers before callees
	}
	diffNode struct {
		Parent  int          `json:"parent"` // -1 for a root
		Method  int          `json:"method"`
		Verdict diff.Verdict `json:"verdict"`
		Before  nodeFigures  `json:"before"`
		After   nodeFigures  `json:"after"`
		Delta   *cct.Time    `json:"change,omitempty"`
	}
	nodeFigures struct {
		figures
		Total float64 `json:"totalNanos"`
	}
)

// NewDiff describes a comparison. It includes the first top methods and contexts, or all
// where top is 0.
func NewDiff(d *diff.Difference, top int) Diff {
	return Diff{d.Before, d.After, d.Total, newChanges(d.Methods, top), newChanges(d.Contexts, top), d.Uncompared, d.Notes, nil}
}

// WithTree adds the tree of all contexts.
func (d Diff) WithTree(of *diff.Difference) Diff {
	d.Tree = &diffTree{Methods: []string{}, Nodes: []diffNode{}}
	numbers := map[string]int{}
	for _, n := range of.Tree {
		name := n.Path[len(n.Path)-1]
		number, known := numbers[name]
		if !known {
			number = len(numbers)
			numbers[name] = number
			d.Tree.Methods = append(d.Tree.Methods, name)
		}
		c := newChanges([]diff.Change{n.Change}, 0)[0]
		d.Tree.Nodes = append(d.Tree.Nodes, diffNode{
			n.Parent, number, c.Verdict, nodeFigures{c.Before, n.TotalBefore}, nodeFigures{c.After, n.TotalAfter}, c.Delta,
		})
	}
	return d
}

func newChanges(list []diff.Change, top int) []change {
	if top > 0 && top < len(list) {
		list = list[:top]
	}
	changes := make([]change, 0, len(list))
	for _, c := range list {
		one := change{Path: c.Path, Verdict: c.Verdict, Before: newFigures(c.Before), After: newFigures(c.After)}
		if c.Before.Known && c.After.Known {
			one.Delta = &c.Delta
		}
		changes = append(changes, one)
	}
	return changes
}

func newFigures(f diff.Figures) figures {
	one := figures{Calls: f.Calls}
	if f.Known {
		one.Self = &f.Self
	}
	return one
}
