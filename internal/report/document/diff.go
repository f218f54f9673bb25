package document

import (
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/diff"
)

// Diff is written by `sonde diff --json`; docs/formats/profile.md describes it.
type Diff struct {
	Before      diff.Run          `json:"before"`
	After       diff.Run          `json:"after"`
	Total       cct.Time          `json:"total"`
	Methods     []change          `json:"methods"`
	Contexts    []change          `json:"contexts"`
	NotCompared []diff.Uncompared `json:"notCompared,omitempty"`
	Notes       []string          `json:"notes,omitempty"`
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
)

// NewDiff describes a comparison. It includes the first top methods and contexts, or all
// where top is 0.
func NewDiff(d *diff.Difference, top int) Diff {
	return Diff{d.Before, d.After, d.Total, newChanges(d.Methods, top), newChanges(d.Contexts, top), d.Uncompared, d.Notes}
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
