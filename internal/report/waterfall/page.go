package waterfall

import (
	"embed"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/page"
)

//go:embed assets
var assets embed.FS

// The parts of the page. Scripts share one scope: a file may use at once only what
// those before it define.
var shell = page.Shell{
	Sheets: []string{"base.css", "header.css", "toolbar.css", "flame.css", "measured.css"}, Scripts: []string{"format.js", "colour.js", "dom.js", "place.js", "theme.js"},
	Own: assets, OwnSheets: []string{"assets/trace.css"},
	OwnScripts: []string{"assets/model.js", "assets/list.js", "assets/detail.js", "assets/water.js", "assets/tracemain.js"},
	Layouts:    []string{"assets/trace.html", "assets/traceheader.html", "assets/tracesummary.html"},
}

// WriteHTML writes a trace as one page that a browser shows without a network. It
// carries the whole trace in the form of docs/formats/trace.md.
func WriteHTML(w io.Writer, t *trace.Trace) error {
	encoded, err := encode(t)
	if err != nil {
		return err
	}
	written := shell
	written.Carried, written.View = encoded, newView(t)
	return written.Write(w)
}

// A view is what the layouts show.
type view struct {
	Title, JDK, Began, BeganISO, Took string
	PID                               int
	Methods, Conditions               []string
	Kept, NotChosen                   string
	Slowest                           *rowView
	Hottest                           *hottest
	Errors, Calls                     string
	Remarks                           []string
	Times, Levels                     string
	Rows                              []rowView
}

// A rowView is a transaction where scripts do not run.
type rowView struct{ Name, When, Duration, Calls, Errors, Thread, Tags string }

func newView(t *trace.Trace) view {
	v := view{
		Title: t.Target.Command, JDK: t.Target.JDK, PID: t.Target.PID, Methods: t.Methods, Conditions: t.Conditions, Took: format.Duration(t.Took),
		Kept: format.Grouped(uint64(len(t.Transactions))), NotChosen: "each that was chosen", Hottest: hottestOf(t), Levels: format.Count(uint64(t.Levels), "level", "levels"),
		Times: "What hooks took was not measured: it is in the times.",
	}
	if v.Title == "" {
		v.Title = "A Java program"
	}
	if text := notChosen(t.Losses); text != "" {
		v.NotChosen = strings.TrimPrefix(text, "; ")
	}
	if t.Cost != (trace.Cost{}) {
		v.Times = fmt.Sprintf("Without what hooks took: %.0f ns in each call, %.0f ns more in its caller. %s.", t.Cost.Inner, t.Cost.Outer, deeper)
	}
	if !t.Began.IsZero() {
		v.Began, v.BeganISO = t.Began.Format("2 January 2006, 15:04:05 MST"), t.Began.Format(time.RFC3339)
	}
	var calls, errors uint64
	for _, one := range t.Transactions {
		row := newRowView(one)
		v.Rows = append(v.Rows, row)
		c, e := one.Calls()
		calls, errors = calls+c, errors+e
		if one == t.Slowest() {
			v.Slowest = &row
		}
	}
	v.Calls = format.Count(calls, "call", "calls")
	if errors > 0 {
		v.Errors = format.Grouped(errors)
	}
	v.Remarks = append(LossTexts(t.Losses), t.Notes...)
	return v
}

func newRowView(t *trace.Transaction) rowView {
	calls, errors := t.Calls()
	return rowView{
		Name: t.Root.Name(), When: t.Begin.Format("15:04:05.000"), Duration: format.Duration(t.Duration), Calls: format.Grouped(calls), Errors: format.Grouped(errors),
		Thread: threadText(t.Root.Thread), Tags: tagsText(t.Tags),
	}
}

// hottest is the method with most time of its own.
type hottest struct{ Name, Full, Self, Share, Calls string }

func hottestOf(t *trace.Trace) *hottest {
	type sum struct {
		first *trace.Call
		self  time.Duration
		calls uint64
	}
	sums := map[string]*sum{}
	var all time.Duration
	var most *sum
	for _, one := range t.Transactions {
		for c := range one.All() {
			s := sums[c.Name()]
			if s == nil {
				s = &sum{first: c}
				sums[c.Name()] = s
			}
			s.self += c.Self
			s.calls++
			all += c.Self
			if most == nil || s.self > most.self {
				most = s
			}
		}
	}
	if most == nil || all == 0 {
		return nil
	}
	return &hottest{
		Name: shortName(most.first.Class, most.first.Method), Full: most.first.Name(), Self: format.Duration(most.self),
		Share: fmt.Sprintf("%.0f %%", 100*float64(most.self)/float64(all)), Calls: format.Count(most.calls, "call", "calls"),
	}
}
