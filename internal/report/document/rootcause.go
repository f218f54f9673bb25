package document

import (
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/callers"
)

// RootCause is written by `sonde walk`; docs/formats/climb.md describes it.
type RootCause struct {
	Format  string            `json:"format"`
	Version int               `json:"version"`
	Target  cct.Target        `json:"target,omitzero"`
	Began   time.Time         `json:"began,omitzero"`
	Took    time.Duration     `json:"tookNanos,omitempty"`
	Sampled rootcause.Sampled `json:"sampled,omitzero"`
	Own     own.Packages      `json:"own"`
	Methods []cct.Method      `json:"methods"`
	Owners  []owner           `json:"ownMethods"`
	Spots   []hotSpot         `json:"spots"`
	List    []rootcause.Entry `json:"callerList"`
	Hooks   []rootcause.Live  `json:"hooks"`
	Batches []rootcause.Batch `json:"batches"`
	Cost    rootcause.Cost    `json:"cost,omitzero"`
	Notes   []string          `json:"notes,omitempty"`
}

// An owner is the own method nearest to where the program ran.
type owner struct {
	Method int        `json:"method"` // -1 for time on whose stacks there is no own method
	Share  [3]float64 `json:"share"`
	In     int        `json:"in"`
	InPart float64    `json:"inPart"`
}

type hotSpot struct {
	Method  int                 `json:"method"`
	Whole   bool                `json:"withLibraries,omitempty"`
	Share   [3]float64          `json:"share"` // part, low, high
	Kind    string              `json:"kind,omitempty"`
	Line    int                 `json:"line,omitempty"`
	From    time.Duration       `json:"fromNanos"`
	Until   time.Duration       `json:"untilNanos,omitempty"`
	Above   string              `json:"above,omitempty"`
	Own     *rootcause.Measured `json:"own,omitempty"`
	Cause   *cause              `json:"cause,omitempty"`
	Callers []caller            `json:"callers"`
}

// A cause is the method of the program's own packages that causes a hot spot.
type cause struct {
	Method int        `json:"method"`
	Share  [3]float64 `json:"share"`
	Path   []int      `json:"path"` // the methods from the hot spot up to this one
}

// A caller is listed after the method that it calls. Below is that method's index in the
// list, or -1 for the hot spot.
type caller struct {
	Below  int                 `json:"below"`
	Method int                 `json:"method"`
	Share  [3]float64          `json:"share"`
	By     rootcause.Basis     `json:"by,omitempty"`
	Calls  uint64              `json:"calls,omitempty"`
	Own    *rootcause.Measured `json:"own,omitempty"`
	State  rootcause.State     `json:"state,omitempty"`
	Reason string              `json:"reason,omitempty"`
	Top    bool                `json:"top,omitempty"`
}

// NewRootCause describes the result of a root-cause search.
func NewRootCause(c *rootcause.Climb) *RootCause {
	d := &RootCause{
		Format: "sonde-climb", Version: 1, Target: c.Target, Began: c.Began, Took: c.Took, Sampled: c.Sampled, Own: c.Own, Methods: notNil(c.Methods),
		Owners: []owner{}, Spots: []hotSpot{}, List: notNil(c.List), Hooks: notNil(c.Hooks), Batches: notNil(c.Batches), Cost: c.Cost, Notes: c.Notes,
	}
	d.Own.Names = notNil(d.Own.Names)
	for _, o := range c.Owners {
		d.Owners = append(d.Owners, owner{o.Method, shareBounds(o.Share), o.In, o.InPart})
	}
	for i := range c.Spots {
		s := &c.Spots[i]
		spot := hotSpot{
			Method: s.Method, Whole: s.Libraries, Share: shareBounds(s.Share), Kind: s.Kind, Line: s.Line, From: s.From, Until: s.Until,
			Above: s.Above, Own: s.Own, Callers: callerList([]caller{}, s.Callers, -1),
		}
		if found := callers.CauseOf(c, s); found.By != nil {
			spot.Cause = &cause{found.By.Method, shareBounds(found.Share), found.Path}
		}
		d.Spots = append(d.Spots, spot)
	}
	return d
}

func shareBounds(s rootcause.Share) [3]float64 { return [3]float64{s.Part, s.Low, s.High} }

// callerList appends a tree of callers to a list, each after the method that it calls.
func callerList(list []caller, callers []*rootcause.Caller, below int) []caller {
	for _, c := range callers {
		list = append(list, caller{below, c.Method, shareBounds(c.Share), c.By, c.Calls, c.Own, c.State, c.Reason, c.Top})
		list = callerList(list, c.Above, len(list)-1)
	}
	return list
}

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
