package page

import (
	"errors"
	"io"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// The parts of the page of a climb. All of it stands still: the script only shows
// more of what the pointer is on, and switches between light and dark.
var (
	climbSheets  = []string{"base.css", "header.css", "flame.css", "measured.css", "spot.css", "timeline.css", "climbprint.css"}
	climbScripts = []string{"format.js", "dom.js", "place.js", "theme.js", "climb.js"}
	climbLayouts = []string{"assets/climb.html", "assets/climbheader.html", "assets/spot.html", "assets/timeline.html", "assets/climbcost.html"}
)

// ErrNoClimb is the error of EmbeddedClimb for a file that carries no climb.
var ErrNoClimb = errors.New("the page carries no climb: it is not a report of sonde walk, or was cut short")

// climbOpening is where the climb stands in its page.
const climbOpening = `<script type="application/json" id="climb">`

// WriteClimb writes the page of a climb. encoded is the same climb as JSON, in the
// form of docs/formats/climb.md; the page carries it whole.
func WriteClimb(w io.Writer, c *climb.Climb, encoded []byte) error {
	held, err := newFrame(climbSheets, climbScripts, encoded)
	if err != nil {
		return err
	}
	return execute(w, climbLayouts, struct {
		climbView
		frame
	}{newClimbView(c), held})
}

// EmbeddedClimb is the JSON that WriteClimb put into a page.
func EmbeddedClimb(html []byte) ([]byte, error) { return between(html, climbOpening, ErrNoClimb) }

// A climbView is what the templates of a climb's page show.
type climbView struct {
	Title    string
	Target   climb.Target
	Began    string
	BeganISO string
	Took     string
	Sampled  string
	Biased   bool
	Spots    []spotView
	Timeline *timeline // nil where no hook was on
	Batches  []batchView
	List     []entryView
	Cost     climbCostView
	Notes    []string
}

// A climbCostView is what the walk took of the program.
type climbCostView struct {
	costView
	Hooked    string
	MostLive  string
	Limit     string
	Executed  string
	Redefined string
}

// A batchView is a redefinition.
type batchView struct {
	At, Classes, Pause, Compile, Why string
	In                               bool
}

// An entryView is a line of the caller list.
type entryView struct {
	Method           int
	Name             name
	State            climb.State
	Reason           string
	Hits             string
	Callers, Callees int
}

func newClimbView(c *climb.Climb) climbView {
	v := climbView{
		Title: titleOf(cct.Target(c.Target)), Target: c.Target, Biased: c.Sampled.Biased, Notes: c.Notes, Timeline: newTimeline(c),
		Sampled: format.Plural(c.Sampled.Samples, "sample") + " in " + duration(c.Sampled.Over),
		Cost: climbCostView{
			costView: newCostView(cct.Cost{Steady: c.Cost.Steady, Budget: c.Cost.Budget, Pause: c.Cost.Pause, Compile: c.Cost.Compile}, 0),
			Hooked:   format.Plural(c.Cost.Hooked, "method"), MostLive: format.Grouped(uint64(c.Cost.MostLive)), Limit: format.Grouped(uint64(c.Cost.LiveLimit)),
			Executed: format.Grouped(c.Cost.Executed), Redefined: format.Plural(c.Cost.Redefined, "time"),
		},
	}
	if c.Sampled.By != "" {
		v.Sampled += ", " + c.Sampled.By
	}
	if c.Took > 0 {
		v.Took = duration(c.Took)
	}
	if !c.Began.IsZero() {
		v.Began = c.Began.Format("2 January 2006, 15:04:05 MST")
		v.BeganISO = c.Began.Format("2006-01-02T15:04:05Z07:00")
	}
	hues := huesOf(c.Methods)
	for i := range c.Spots {
		v.Spots = append(v.Spots, newSpotView(c, i, hues))
	}
	for _, b := range c.Batches {
		v.Batches = append(v.Batches, batchView{duration(b.At), format.Grouped(uint64(b.Classes)), duration(b.Pause), duration(b.Compile), b.Why, b.In})
	}
	for _, e := range c.List {
		v.List = append(v.List, entryView{
			e.Method, nameOf(cct.Method(c.Methods[e.Method])), e.State, e.Reason, format.Grouped(e.Hits), len(e.Callers), len(e.Callees),
		})
	}
	return v
}
