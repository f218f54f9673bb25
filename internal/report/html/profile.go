package html

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// summaryRows is the length of the method list that is shown on paper and without scripts.
const summaryRows = 25

var profilePage = page{
	command: "profile", id: "profile",
	layouts: []string{"profile.html", "header.html", "measured.html", "summary.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "tables.css", "measured.css", "print.css"},
	scripts: []string{
		"format.js", "decode.js", "tree.js", "methodlist.js", "colour.js", "search.js", "dom.js", "rows.js", "place.js", "theme.js", "tooltip.js",
		"flamedraw.js", "flame.js", "treetab.js", "methodstab.js", "methodpanel.js", "legend.js", "main.js",
	},
}

// WriteProfile writes a page that shows a profile and contains it as JSON.
func WriteProfile(w io.Writer, p *cct.Profile) error {
	return profilePage.write(w, p.Target, document.NewProfile(p), newProfileView(p))
}

// A profileView is what the layouts of a profile show.
type profileView struct {
	header
	Roots    []string
	Scheme   string
	Why      string
	Timing   string
	Headline headline
	Cost     costView
	Notes    []string
	Summary  []summaryRow
	More     int // methods that Summary leaves out
	Measured measured
}

// A headline holds the most important numbers.
type headline struct {
	RootCalls string
	Running   string // root calls that had not ended; empty if none
	Mean      string
	MeanError string
	Timed     bool
	Total     string
	Hottest   *name
	HotShare  string
	HotSelf   string
	HotError  string
}

// A summaryRow is a method in the flat list.
type summaryRow struct {
	Name  name
	Self  string
	Error string
	Share string
	Mean  string
	Calls string
}

func newProfileView(p *cct.Profile) profileView {
	top := p.Merged
	if top == nil {
		top = &cct.Node{Method: -1}
	}
	flat := cct.Flat(top, p.Methods)
	total := 0.0
	for _, root := range top.Children {
		total += root.Total.Nanos
	}
	v := profileView{
		header:   newHeader(p.Target, p.Began, p.Took),
		Roots:    p.Roots,
		Scheme:   p.Scheme,
		Why:      p.Why,
		Timing:   timingOf(p),
		Headline: newHeadline(p, top, flat, total),
		Cost:     newCostView(p.Cost, len(p.Quiet)),
		Notes:    p.Notes,
		More:     max(0, len(flat)-summaryRows),
		Measured: newMeasured(p, top),
	}
	for _, m := range flat[:min(summaryRows, len(flat))] {
		v.Summary = append(v.Summary, newSummaryRow(p, m, total))
	}
	partly := p.Partly()
	for _, q := range p.Quiet {
		called := slices.ContainsFunc(flat, func(row cct.Row) bool { return row.Method == q.Method })
		if on, is := partly[q.Method]; is && on == 0 && !called && len(v.Summary) < summaryRows {
			row := newSummaryRow(p, cct.Row{Method: q.Method}, total)
			row.Calls = offText
			v.Summary = append(v.Summary, row)
		}
	}
	return v
}

func timingOf(p *cct.Profile) string {
	switch p.Timing {
	case cct.Sampled:
		return "sampled: every call was counted, one in " + format.Grouped(uint64(p.Period)) + " was timed"
	case cct.Auto:
		return "auto: every call was counted, and up to a few thousand per second and method were timed, within the budget"
	}
	return "exact: every call was timed"
}

func newHeadline(p *cct.Profile, top *cct.Node, flat []cct.Row, total float64) headline {
	h := headline{Total: nanos(total)}
	var calls, timed, running uint64
	var sum cct.Time
	for _, root := range top.Children {
		calls += root.Calls
		timed += root.Timed
		running += root.Running
		sum = sum.Plus(root.Total)
	}
	h.RootCalls = format.Grouped(calls)
	if running > 0 {
		h.Running = format.Grouped(running)
	}
	if h.Timed = timed > 0 && calls > 0; h.Timed {
		h.Mean = mean(sum.Nanos / float64(calls))
		h.MeanError = nanos(errorOf(sum) / float64(calls))
	}
	if len(flat) > 0 && flat[0].Timed > 0 && total > 0 {
		hottest := nameOf(p.Methods[flat[0].Method])
		h.Hottest = &hottest
		h.HotSelf = nanos(flat[0].Self.Nanos)
		h.HotError = nanos(errorOf(flat[0].Self))
		h.HotShare = share(flat[0].Self.Nanos / total)
	}
	return h
}

func newSummaryRow(p *cct.Profile, m cct.Row, total float64) summaryRow {
	method := p.Methods[m.Method]
	row := summaryRow{
		Name: nameOf(method), Calls: format.AtLeast(method.LowerBound, format.Grouped(m.Calls)), Self: "–", Error: "–", Share: "–", Mean: "–",
	}
	if m.Timed > 0 {
		row.Self = nanos(m.Self.Nanos)
		row.Error = "±" + space + nanos(errorOf(m.Self))
		row.Mean = mean(m.Mean.Nanos)
		if total > 0 {
			row.Share = share(m.Self.Nanos / total)
		}
	}
	return row
}

// offText stands for the number of calls of a method whose hook was off.
const offText = "off"

// reasonSamples is how many classes left alone for one reason are named. The JSON names
// all of them.
const reasonSamples = 200

// measured describes how the numbers were obtained.
type measured struct {
	Spans       []spanView
	Times       string // number of calibrations; empty if none
	Overlap     string
	Adjustments []adjustment
	Quiet       []quietView
	LeftAlone   []reason
	LeftTotal   string
	Calls       callsView
	Period      string // k where one in k calls was timed
	Auto        bool
}

// A spanView is a calibrated cost.
type spanView struct {
	Name, What             string
	Median, Low, High      string
	LowAt, MedianAt, Width float64 // on a scale from 0 to 100
}

// An adjustment is time that Sonde took from the program.
type adjustment struct {
	Name, What, Time string
}

// A quietView is a hook that was not on for the whole window, or that the budget thinned.
type quietView struct {
	Name       name
	On, Reason string
}

// A reason groups classes and methods that were left alone.
type reason struct {
	Reason string
	Count  string
	Named  []string
	More   string // how many are not named; empty if none
}

// A callsView shows how many calls were counted and timed.
type callsView struct {
	Counted, Timed, Part, Threw, Running, Missed, Contexts string
	Untimed                                                string // contexts with calls but without time; empty if none
	Late                                                   string // contexts whose hook was installed late; empty if none
}

func newMeasured(p *cct.Profile, top *cct.Node) measured {
	calls, lost := sumCalls(top)
	m := measured{
		Spans:       spansOf(p.Calibration),
		Overlap:     nanos(p.Calibration.Overlap),
		Adjustments: adjustmentsOf(p.Cost, lost),
		LeftAlone:   reasonsOf(p.LeftAlone),
		LeftTotal:   format.Grouped(uint64(len(p.LeftAlone))),
		Calls:       calls,
		Auto:        p.Timing == cct.Auto,
	}
	if p.Calibration.Times > 0 {
		m.Times = format.Plural(p.Calibration.Times, "time")
	}
	if p.Period > 0 {
		m.Period = format.Grouped(uint64(p.Period))
	}
	partly := p.Partly()
	for _, q := range p.Quiet {
		state := "thinned"
		if on, is := partly[q.Method]; is && on > 0 {
			state = "on for " + duration(on)
		} else if is {
			state = offText
		}
		m.Quiet = append(m.Quiet, quietView{nameOf(p.Methods[q.Method]), state, q.Reason})
	}
	return m
}

// spansOf places the calibrated costs on one scale.
func spansOf(c cct.Calibration) []spanView {
	scale := max(c.Inner.High, c.Outer.High, c.Drawn.High, c.Count.High, 1)
	span := func(name, what string, s cct.Span) spanView {
		return spanView{
			Name: name, What: what, Median: nanos(s.Median), Low: nanos(s.Low), High: nanos(s.High),
			LowAt: 100 * s.Low / scale, MedianAt: 100 * s.Median / scale, Width: max(0.6, 100*(s.High-s.Low)/scale),
		}
	}
	return []spanView{
		span("Inner", "of a timed call, within its own measured time", c.Inner),
		span("Outer", "of a timed call, within its caller’s measured time", c.Outer),
		span("Drawn", "Inner, of a call that is timed by sampling", c.Drawn),
		span("Count", "of a call that is only counted", c.Count),
	}
}

func adjustmentsOf(c cct.Cost, lost time.Duration) []adjustment {
	return []adjustment{
		{"Waited", "threads waited in a hook until the callees of the method had hooks", duration(c.Waited)},
		{"Pauses", "the whole program was paused while hooks were installed", duration(c.Pause)},
		{"Compilers", "CPU time of its compilers meanwhile", duration(c.Compile)},
		{"Taken out of calls", "the part of this that fell into running calls; no time shown includes it", duration(lost)},
	}
}

// sumCalls sums up the calls of a tree, and the time that Sonde took from them.
func sumCalls(top *cct.Node) (callsView, time.Duration) {
	var calls, timed, threw, running, missed uint64
	var lost time.Duration
	var contexts, untimed, late int
	visit(top, func(n *cct.Node) {
		if n.Method < 0 {
			return
		}
		contexts++
		calls += n.Calls
		timed += n.Timed
		threw += n.Threw
		running += n.Running
		missed += n.Missed
		lost += n.Lost
		if n.Timed == 0 && n.Calls > 0 {
			untimed++
		}
		if n.Late {
			late++
		}
	})
	v := callsView{
		Counted: format.Plural(calls, "call"), Timed: format.Plural(timed, "call"), Threw: format.Grouped(threw),
		Running: format.Plural(running, "call"), Missed: format.Plural(missed, "call"), Contexts: format.Plural(contexts, "context"),
		Part: share(float64(timed) / float64(max(calls, 1))),
	}
	if untimed > 0 {
		v.Untimed = format.Plural(untimed, "context")
	}
	if late > 0 {
		v.Late = format.Plural(late, "context")
	}
	return v, lost
}

// reasonsOf groups what was left alone by reason, the most frequent first.
func reasonsOf(all []cct.LeftAlone) []reason {
	named := map[string][]string{}
	for _, l := range all {
		name := strings.ReplaceAll(l.Class, "/", ".")
		if l.Method != "" {
			name += "." + l.Method
		}
		named[l.Reason] = append(named[l.Reason], name)
	}
	var reasons []reason
	sizes := map[string]int{}
	for text, names := range named {
		slices.Sort(names)
		r := reason{Reason: text, Count: format.Grouped(uint64(len(names))), Named: names}
		if len(names) > reasonSamples {
			r.Named, r.More = names[:reasonSamples], format.Grouped(uint64(len(names)-reasonSamples))
		}
		sizes[text] = len(names)
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(a, b reason) int {
		return cmp.Or(cmp.Compare(sizes[b.Reason], sizes[a.Reason]), cmp.Compare(a.Reason, b.Reason))
	})
	return reasons
}

// A costView shows what a run cost the program.
type costView struct {
	Steady  string
	Budget  string  // empty if there was none
	Filled  float64 // percentage of Budget that Steady is, at most 100
	Over    bool    // Steady exceeds Budget
	Hooks   string
	Closure string // empty if every reachable method has a hook
	Classes string
	Rounds  string
	Pause   string
	Compile string
	Waited  string
	Quiet   string // hooks that the budget thinned or switched off; empty if none
}

func newCostView(c cct.Cost, quiet int) costView {
	v := costView{
		Steady:  share(c.Steady),
		Hooks:   format.Plural(c.Hooks, "hook"),
		Classes: format.Plural(c.Classes, "class"),
		Rounds:  format.Plural(c.Rounds, "round"),
		Pause:   duration(c.Pause),
		Compile: duration(c.Compile),
		Waited:  duration(c.Waited),
	}
	if c.Closure > c.Hooks {
		v.Closure = format.Grouped(uint64(c.Closure))
	}
	if quiet > 0 {
		v.Quiet = format.Plural(quiet, "hook") + " off, thinned, or on for part of the time"
	}
	if c.Budget > 0 {
		v.Budget = share(c.Budget)
		v.Filled = min(100, 100*c.Steady/c.Budget)
		v.Over = c.Steady > c.Budget
	}
	return v
}

// visit calls do for each node of a tree, callers before callees.
func visit(n *cct.Node, do func(*cct.Node)) {
	do(n)
	for _, child := range n.Children {
		visit(child, do)
	}
}

// errorOf returns the larger distance from a time to its bounds.
func errorOf(t cct.Time) float64 {
	return max(math.Abs(t.Nanos-t.Low), math.Abs(t.High-t.Nanos))
}

// A name is a method's name in the parts that are styled differently.
type name struct {
	Package, Class, Method string
}

func nameOf(m cct.Method) name {
	class := strings.ReplaceAll(m.Class, "/", ".")
	if dot := strings.LastIndexByte(class, '.'); dot >= 0 {
		return name{Package: class[:dot+1], Class: class[dot+1:], Method: m.Name}
	}
	return name{Class: class, Method: m.Name}
}
