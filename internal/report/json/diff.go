package json

import (
	"io"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/diff"
)

// The comparison of two profiles; docs/formats/profile.md describes it.
type (
	difference struct {
		Before      run          `json:"before"`
		After       run          `json:"after"`
		Total       bounds       `json:"total"`
		Methods     []change     `json:"methods"`
		Contexts    []change     `json:"contexts"`
		NotCompared []uncompared `json:"notCompared,omitempty"`
		Notes       []string     `json:"notes,omitempty"`
	}
	run struct {
		Target    string `json:"target"`
		RootCalls uint64 `json:"rootCalls"`
		Total     bounds `json:"total"`
	}
	change struct {
		Path    []string     `json:"path"`
		Verdict diff.Verdict `json:"verdict"`
		Before  figures      `json:"before"`
		After   figures      `json:"after"`
		Delta   *bounds      `json:"change,omitempty"`
	}
	figures struct {
		Calls float64 `json:"calls"`
		Self  *bounds `json:"self,omitempty"`
	}
	uncompared struct {
		Method string `json:"method"`
		Before hook   `json:"before"`
		After  hook   `json:"after"`
	}
	hook struct {
		State diff.State    `json:"hook"`
		On    time.Duration `json:"onNanos,omitempty"`
	}
)

// WriteDiff writes a comparison and a line break. It includes the first top methods and
// contexts, or all where top is 0.
func WriteDiff(w io.Writer, d *diff.Difference, top int) error {
	document := difference{
		Before: newRun(d.Before), After: newRun(d.After), Total: exactBounds(d.Total),
		Methods: newChanges(d.Methods, top), Contexts: newChanges(d.Contexts, top), Notes: d.Notes,
	}
	for _, u := range d.Uncompared {
		document.NotCompared = append(document.NotCompared, uncompared{u.Method, hook(u.Before), hook(u.After)})
	}
	return write(w, "difference", document)
}

func newRun(r diff.Run) run { return run{r.Title, r.Calls, exactBounds(r.Total)} }

func newChanges(list []diff.Change, top int) []change {
	if top > 0 && top < len(list) {
		list = list[:top]
	}
	changes := make([]change, 0, len(list))
	for _, c := range list {
		one := change{Path: c.Path, Verdict: c.Verdict, Before: newFigures(c.Before), After: newFigures(c.After)}
		if c.Before.Known && c.After.Known {
			delta := exactBounds(c.Delta)
			one.Delta = &delta
		}
		changes = append(changes, one)
	}
	return changes
}

func newFigures(f diff.Figures) figures {
	one := figures{Calls: f.Calls}
	if f.Known {
		self := exactBounds(f.Self)
		one.Self = &self
	}
	return one
}

// exactBounds returns the bounds of a time that is known, which may be zero.
func exactBounds(t cct.Time) bounds { return boundsOf(t.Nanos, t.Low, t.High) }
