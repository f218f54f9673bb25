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
	command: "trace",
	layouts: []string{"trace.html", "traceheader.html", "tracesummary.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "measured.css", "trace.css"},
	scripts: []string{
		"format.js", "colour.js", "dom.js", "carried.js", "place.js", "theme.js", "model.js", "list.js", "detail.js", "water.js", "tracemain.js",
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
		class, method string
		self          time.Duration
		calls         uint64
	}
	type name struct{ class, method string }
	sums := map[name]*sum{}
	var all time.Duration
	var most *sum
	add := func(class, method string, self time.Duration, calls uint64) {
		s := sums[name{class, method}]
		if s == nil {
			s = &sum{class: class, method: method}
			sums[name{class, method}] = s
		}
		s.self += self
		s.calls += calls
		all += self
		if most == nil || s.self > most.self {
			most = s
		}
	}
	for _, one := range t.Transactions {
		for c := range one.All() {
			add(c.Class, c.Method, c.Self, 1)
			for _, folded := range c.Folded {
				for f := range folded.All() {
					add(f.Class, f.Method, f.Self, f.Calls)
				}
			}
		}
	}
	if most == nil || all == 0 {
		return nil
	}
	return &hottest{
		Name: text.ShortName(most.class, most.method), Full: (&trace.Call{Class: most.class, Method: most.method}).Name(), Self: format.Duration(most.self),
		Share: fmt.Sprintf("%.0f %%", 100*float64(most.self)/float64(all)), Calls: format.Count(most.calls, "call", "calls"),
	}
}
