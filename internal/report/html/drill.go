package html

import (
	"io"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var drillPage = page{
	command: "drill",
	layouts: []string{"drill.html", "drillheader.html"},
	sheets:  []string{"base.css", "header.css", "flame.css", "measured.css", "spot.css", "drill.css", "climbprint.css"},
	scripts: rootCausePage.scripts,
}

// WriteDrill writes a page that shows the result of a search from a slow method to its cause, and contains it as JSON.
func WriteDrill(w io.Writer, r *drill.Result) error {
	return drillPage.write(w, r.Target, document.NewDrill(r), newDrillView(r))
}

// A drillView is what the layouts of a search show.
type drillView struct {
	*drill.Result
	CauseMethod cct.Method // set if there is a cause
	Cost        drillCost
	Rows        []descentRow
	States      []drill.State // that are not rare
}

// A drillCost is the part of the program's time that hooks took, and may take.
type drillCost struct{ Steady, Budget float64 }

// A descentRow is a method of the path, another callee of such a method, or the own time of the last method.
type descentRow struct {
	drill.Contrast
	Method  cct.Method // without a name: own time
	Class   string     // cause, beside, or none
	Handed  bool
	Indent  int     // in pixels
	Bar     float64 // length of the bar of the share, in percent
	Figure  string  // calls, or samples if there are no hooks
	SlowBar float64 // lengths of the bars of the times, in percent
	NormBar float64
}

func newDrillView(r *drill.Result) drillView {
	v := drillView{Result: r, Cost: drillCost{r.HookShare, r.Budget}, Rows: descentOf(r)}
	if r.Cause != nil {
		v.CauseMethod = cct.Method{Class: r.Cause.Class, Name: r.Cause.Method}
		for _, s := range r.Cause.States {
			if !s.IsRare() {
				v.States = append(v.States, s)
			}
		}
	}
	return v
}

// indentWidth is how far a callee is indented below its caller, and mostIndent how far at most, in pixels.
const (
	indentWidth = 14
	mostIndent  = 20 * indentWidth
)

// descentOf returns the path with the other callees of its methods, each method below its caller.
func descentOf(r *drill.Result) (rows []descentRow) {
	add := func(depth int, c drill.Contrast, row descentRow) {
		c.Share.Low = max(0, c.Share.Low)
		row.Contrast, row.Indent, row.Bar = c, min(depth*indentWidth, mostIndent), percent(min(1, max(0, c.Share.Part)))
		rows = append(rows, row)
	}
	for i := range r.Path {
		l := &r.Path[i]
		row := descentRow{Method: cct.Method{Class: l.Class, Name: l.Method}, Handed: l.Handed, Figure: l.Calls()}
		if r.Unhooked != nil {
			row.Figure = format.Grouped(l.Samples)
		}
		if i > 0 && i == len(r.Path)-1 {
			row.Class = "cause"
		}
		add(i, l.Contrast, row)
		for _, s := range l.Beside() {
			add(i+1, s.Contrast, descentRow{Method: cct.Method{Class: s.Class, Name: s.Method}, Class: "beside"})
		}
		if i == len(r.Path)-1 && l.HasCallees() {
			add(i+1, l.Own, descentRow{Class: "beside"})
		}
	}
	longest := 1.0 // nanosecond
	for _, row := range rows {
		longest = max(longest, row.Slow, row.Normal)
	}
	for i := range rows {
		rows[i].SlowBar, rows[i].NormBar = percent(max(0, rows[i].Slow)/longest), percent(max(0, rows[i].Normal)/longest)
	}
	return rows
}
