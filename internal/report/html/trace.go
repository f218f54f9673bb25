package html

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

var tracePage = page{
	command: "trace", id: "trace",
	layouts: []string{"trace.html", "traceheader.html", "tracesummary.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "measured.css", "trace.css"},
	scripts: []string{
		"format.js", "colour.js", "dom.js", "place.js", "theme.js", "model.js", "list.js", "detail.js", "water.js", "tracemain.js",
	},
}

// WriteTrace writes a page that shows a trace and contains it as JSON.
func WriteTrace(w io.Writer, t *trace.Trace) error {
	return tracePage.write(w, t.Target, document.NewTrace(t), newTraceView(t))
}

// A traceView is what the layouts of a trace show.
type traceView struct {
	*trace.Trace
	NotChosen     string
	Slowest       *transactionView
	Hottest       *hottest
	Errors, Calls uint64
	Remarks       []string
	Times         string
	Rows          []transactionView
}

// A transactionView is a transaction in the list that is shown without scripts.
type transactionView struct{ Name, When, Duration, Calls, Errors, Thread, Tags string }

func newTraceView(t *trace.Trace) traceView {
	v := traceView{
		Trace: t, NotChosen: cmp.Or(text.NotChosen(t.Losses), "all that met the conditions"), Hottest: hottestOf(t),
		Times: strings.Join(text.TraceTimes(t), ". ") + ".", Remarks: append(text.Losses(t.Losses), t.Notes...),
	}
	if t.Disturbance != nil {
		v.Remarks = append(v.Remarks, t.Disturbance.String())
	}
	for _, one := range t.Transactions {
		row := newTransactionView(one)
		v.Rows = append(v.Rows, row)
		calls, errors := one.Calls()
		v.Calls, v.Errors = v.Calls+calls, v.Errors+errors
		if one == t.Slowest() {
			v.Slowest = &row
		}
	}
	return v
}

func newTransactionView(t *trace.Transaction) transactionView {
	calls, errors := t.Calls()
	return transactionView{
		Name: t.Root.Name(), When: t.Begin.Format("15:04:05.000"), Duration: format.Duration(t.Duration), Calls: format.Grouped(calls),
		Errors: format.Grouped(errors), Thread: text.ThreadName(t.Root.Thread), Tags: text.Tags(t.Tags),
	}
}

// hottest is the method with the most self time.
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
		Name: text.ShortName(most.first.Class, most.first.Method), Full: most.first.Name(), Self: format.Duration(most.self),
		Share: fmt.Sprintf("%.0f %%", 100*float64(most.self)/float64(all)), Calls: format.Count(most.calls, "call", "calls"),
	}
}
