package document

import "github.com/sonde-jvm/sonde/internal/measure/drill"

// Drill is written by `sonde drill`; docs/formats/drill.md describes it.
type Drill struct {
	drill.Result
	Summary []string `json:"summary"`
	Doubts  []string `json:"doubts,omitempty"`
}

// NewDrill describes the result of a search from a slow method to its cause.
func NewDrill(r *drill.Result) Drill {
	d := Drill{Result: *r, Summary: notNil(r.Summary()), Doubts: r.Doubts()}
	d.Path, d.Values, d.Steps, d.Methods = notNil(d.Path), notNil(d.Values), notNil(d.Steps), notNil(d.Methods)
	return d
}
