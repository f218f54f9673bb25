package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// The difference as JSON (docs/formats/profile.md says what is in it).
type (
	diffJSON struct {
		Before   runJSON       `json:"before"`
		After    runJSON       `json:"after"`
		Total    boundsJSON    `json:"total"`
		Methods  []changeJSON  `json:"methods"`
		Contexts []changeJSON  `json:"contexts"`
		Unalike  []unalikeJSON `json:"notCompared,omitempty"`
		Notes    []string      `json:"notes,omitempty"`
	}
	unalikeJSON struct {
		Method string   `json:"method"`
		Before hookJSON `json:"before"`
		After  hookJSON `json:"after"`
	}
	hookJSON struct {
		Hook State `json:"hook"`
		On   int64 `json:"onNanos,omitempty"`
	}
	runJSON struct {
		Target    string     `json:"target"`
		RootCalls uint64     `json:"rootCalls"`
		Total     boundsJSON `json:"total"`
	}
	changeJSON struct {
		Path    []string    `json:"path"`
		Verdict Verdict     `json:"verdict"`
		Before  figuresJSON `json:"before"`
		After   figuresJSON `json:"after"`
		Delta   *boundsJSON `json:"change,omitempty"`
	}
	figuresJSON struct {
		Calls float64     `json:"calls"`
		Self  *boundsJSON `json:"self,omitempty"`
	}
	boundsJSON [3]*float64
)

// WriteJSON writes the difference for programs: of methods and of contexts the first
// top each, 0 is all.
func (d *Difference) WriteJSON(w io.Writer, top int) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	var unalike []unalikeJSON
	for _, u := range d.Uncompared {
		unalike = append(unalike, unalikeJSON{u.Method, hookJSON{u.Before.State, int64(u.Before.On)}, hookJSON{u.After.State, int64(u.After.On)}})
	}
	err := encoder.Encode(diffJSON{
		Before: describeRun(d.Before), After: describeRun(d.After), Total: boundsOf(d.Total),
		Methods: describeChanges(d.Methods, top), Contexts: describeChanges(d.Contexts, top), Unalike: unalike, Notes: d.Notes,
	})
	if err != nil {
		return fmt.Errorf("difference as JSON: %w", err)
	}
	return nil
}

func describeRun(r Run) runJSON { return runJSON{r.Title, r.Calls, boundsOf(r.Total)} }

func describeChanges(list []Change, top int) []changeJSON {
	if top > 0 && top < len(list) {
		list = list[:top]
	}
	described := make([]changeJSON, 0, len(list))
	for _, c := range list {
		j := changeJSON{Path: c.Path, Verdict: c.Verdict, Before: describeFigures(c.Before), After: describeFigures(c.After)}
		if c.Before.Known && c.After.Known {
			delta := boundsOf(c.Delta)
			j.Delta = &delta
		}
		described = append(described, j)
	}
	return described
}

func describeFigures(f Figures) figuresJSON {
	j := figuresJSON{Calls: f.Calls}
	if f.Known {
		self := boundsOf(f.Self)
		j.Self = &self
	}
	return j
}

// boundsOf is a time and its bounds; JSON has no infinity: null is none.
func boundsOf(t cct.Time) (b boundsJSON) {
	for i, n := range []float64{t.Nanos, t.Low, t.High} {
		if !math.IsInf(n, 0) && !math.IsNaN(n) {
			b[i] = &n
		}
	}
	return b
}
