package page

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// summaryRows is how much of the flat list the page shows on paper and where
// scripts do not run.
const summaryRows = 25

// A view is what the templates show.
type view struct {
	Title    string
	Target   cct.Target
	Roots    []string
	Began    string
	BeganISO string
	Took     string
	Scheme   string
	Why      string
	Timing   string
	Headline headline
	Cost     costView
	Notes    []string
	Summary  []summaryRow
	More     int // methods that the summary leaves out
	Measured measured
}

// A headline is what a hurried reader takes away.
type headline struct {
	RootCalls string
	Running   string // root calls that had not ended; empty for none
	Mean      string
	MeanError string
	Timed     bool
	Total     string
	Hottest   *name
	HotShare  string
	HotSelf   string
	HotError  string
}

// A summaryRow is a row of the flat list.
type summaryRow struct {
	Name  name
	Self  string
	Error string
	Share string
	Mean  string
	Calls string
}

func newView(p *cct.Profile) view {
	flat := flatten(p.Merged, len(p.Methods))
	total := sumTotal(p.Merged)
	v := view{
		Title:    titleOf(p.Target),
		Target:   p.Target,
		Roots:    p.Roots,
		Scheme:   p.Scheme,
		Why:      p.Why,
		Timing:   timingOf(p),
		Headline: newHeadline(p, flat, total),
		Cost:     newCostView(p.Cost, len(p.Quiet)),
		Notes:    p.Notes,
		More:     max(0, len(flat)-summaryRows),
		Measured: newMeasured(p),
	}
	if p.Took > 0 {
		v.Took = duration(p.Took)
	}
	if !p.Began.IsZero() {
		v.Began = p.Began.Format("2 January 2006, 15:04:05 MST")
		v.BeganISO = p.Began.Format("2006-01-02T15:04:05Z07:00")
	}
	for _, m := range flat[:min(summaryRows, len(flat))] {
		v.Summary = append(v.Summary, newSummaryRow(p, m, total))
	}
	partly := p.Partly()
	for _, q := range p.Quiet {
		called := slices.ContainsFunc(flat, func(m flatMethod) bool { return m.method == q.Method })
		if on, is := partly[q.Method]; is && on == 0 && !called && len(v.Summary) < summaryRows {
			row := newSummaryRow(p, flatMethod{method: q.Method}, total)
			row.Calls = offText
			v.Summary = append(v.Summary, row)
		}
	}
	return v
}

func titleOf(t cct.Target) string {
	if t.Command == "" {
		return "A Java program"
	}
	return t.Command
}

func timingOf(p *cct.Profile) string {
	switch p.Timing {
	case cct.Sampled:
		return "sampled: every call counted, one in " + format.Grouped(uint64(p.Period)) + " timed"
	case cct.Auto:
		return "auto: every call counted, up to some thousands a second of each method timed, within the budget"
	}
	return "exact: every call timed"
}

func newHeadline(p *cct.Profile, flat []flatMethod, total float64) headline {
	h := headline{Total: nanos(total), RootCalls: "0"}
	if p.Merged == nil {
		return h
	}
	var calls, timed, running uint64
	var sum cct.Time
	for _, root := range p.Merged.Children {
		calls += root.Calls
		timed += root.Timed
		running += root.Running
		sum.Nanos += root.Total.Nanos
		sum.Low += root.Total.Low
		sum.High += root.Total.High
	}
	h.RootCalls = format.Grouped(calls)
	if running > 0 {
		h.Running = format.Grouped(running)
	}
	if h.Timed = timed > 0 && calls > 0; h.Timed {
		h.Mean = mean(sum.Nanos / float64(calls))
		h.MeanError = nanos(errorOf(sum) / float64(calls))
	}
	if len(flat) > 0 && flat[0].timed > 0 && total > 0 {
		hottest := nameOf(p.Methods[flat[0].method])
		h.Hottest = &hottest
		h.HotSelf = nanos(flat[0].self.Nanos)
		h.HotError = nanos(errorOf(flat[0].self))
		h.HotShare = share(flat[0].self.Nanos / total)
	}
	return h
}

func newSummaryRow(p *cct.Profile, m flatMethod, total float64) summaryRow {
	row := summaryRow{Name: nameOf(p.Methods[m.method]), Calls: format.AtLeast(p.Methods[m.method].LowerBound, format.Grouped(m.calls)), Self: "–", Error: "–", Share: "–", Mean: "–"}
	if m.timed > 0 {
		row.Self = nanos(m.self.Nanos)
		row.Error = "±" + space + nanos(errorOf(m.self))
		row.Mean = mean(m.self.Nanos / float64(m.calls))
		if total > 0 {
			row.Share = share(m.self.Nanos / total)
		}
	}
	return row
}

// offText stands in place of calls that nothing counted, as the hook was off.
const offText = "off"

// reasonSamples is how many of the classes left alone for one reason are named;
// the profile's JSON names all.
const reasonSamples = 200

// A measured is how the figures were obtained.
type measured struct {
	Spans       []spanView
	Times       string // how often; empty for never
	Overlap     string
	Adjustments []adjustment
	Quiet       []quietView
	LeftAlone   []reason
	LeftTotal   string
	Calls       callsView
	Period      string // k where calls were sampled
	Auto        bool
}

// A spanView is a calibrated cost.
type spanView struct {
	Name, What             string
	Median, Low, High      string
	LowAt, MedianAt, Width float64 // on a scale from 0 to 100
}

// An adjustment is time that was Sonde's, not the program's.
type adjustment struct {
	Name, What, Time string
}

// A quietView is a hook that was not on throughout, or that the budget thinned.
type quietView struct {
	Name       name
	On, Reason string
}

// A reason is one for having left classes or methods alone.
type reason struct {
	Reason string
	Count  string
	Named  []string
	More   string // how many are not named; empty for none
}

// A callsView says how many calls are behind the figures.
type callsView struct {
	Counted, Timed, Part, Threw, Running, Missed, Contexts string
	Untimed                                                string // contexts with calls and no time; empty for none
	Late                                                   string // contexts whose hook came late; empty for none
}

func newMeasured(p *cct.Profile) measured {
	calls, lost := sumCalls(p.Merged)
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
		if q.Method < 0 || q.Method >= len(p.Methods) {
			continue
		}
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

// spansOf draws the three costs on one scale.
func spansOf(c cct.Calibration) []spanView {
	scale := max(c.Inner.High, c.Outer.High, c.Drawn.High, c.Count.High, 1)
	span := func(name, what string, s cct.Span) spanView {
		return spanView{
			Name: name, What: what, Median: nanos(s.Median), Low: nanos(s.Low), High: nanos(s.High),
			LowAt: 100 * s.Low / scale, MedianAt: 100 * s.Median / scale, Width: max(0.6, 100*(s.High-s.Low)/scale),
		}
	}
	return []spanView{
		span("Inner", "of a timed call, inside its own measured time", c.Inner),
		span("Outer", "of a timed call, inside its caller’s measured time", c.Outer),
		span("Drawn", "inner, of a call that is timed by lot", c.Drawn),
		span("Count", "of a call that is only counted", c.Count),
	}
}

func adjustmentsOf(c cct.Cost, lost time.Duration) []adjustment {
	return []adjustment{
		{"Waited", "threads stood in a hook until the callees of a method had theirs", duration(c.Waited)},
		{"Pauses", "the whole program stood still while hooks went in", duration(c.Pause)},
		{"Compilers", "processor time its compilers took meanwhile", duration(c.Compile)},
		{"Taken out of calls", "what of this fell into calls under way, and is in none of the times shown", duration(lost)},
	}
}

// sumCalls sums a tree's calls, and the time that Sonde took of them.
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

// reasonsOf groups what was left alone, the most frequent reason first.
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

// A costView is what the run cost the target.
type costView struct {
	Steady  string
	Budget  string  // empty where none was kept
	Filled  float64 // of the bar that shows Steady against Budget, in percent
	Over    bool    // Steady is past Budget
	Hooks   string
	Closure string // empty where every reachable method has a hook
	Classes string
	Rounds  string
	Pause   string
	Compile string
	Waited  string
	Quiet   string // hooks the budget thinned or switched off; empty for none
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
		v.Quiet = format.Plural(quiet, "hook") + " off, thinned or on for a part of the time"
	}
	if c.Budget > 0 {
		v.Budget = share(c.Budget)
		v.Filled = min(100, 100*c.Steady/c.Budget)
		v.Over = c.Steady > c.Budget
	}
	return v
}

// A flatMethod is a method over all contexts it was called in.
type flatMethod struct {
	method int
	calls  uint64
	timed  uint64
	self   cct.Time
}

// flatten sums a tree by method, the longest self time first.
func flatten(top *cct.Node, methods int) []flatMethod {
	sums := make([]flatMethod, methods)
	visit(top, func(n *cct.Node) {
		if n.Method < 0 || n.Method >= methods {
			return
		}
		sum := &sums[n.Method]
		sum.calls += n.Calls
		sum.timed += n.Timed
		sum.self.Nanos += n.Self.Nanos
		sum.self.Low += n.Self.Low
		sum.self.High += n.Self.High
	})
	called := make([]flatMethod, 0, methods)
	for i, sum := range sums {
		if sum.calls > 0 {
			sum.method = i
			called = append(called, sum)
		}
	}
	slices.SortStableFunc(called, func(a, b flatMethod) int { return cmp.Compare(b.self.Nanos, a.self.Nanos) })
	return called
}

// visit calls do for each node of a tree, callers before callees.
func visit(top *cct.Node, do func(*cct.Node)) {
	if top == nil {
		return
	}
	waiting := []*cct.Node{top}
	for len(waiting) > 0 {
		last := len(waiting) - 1
		n := waiting[last]
		waiting = waiting[:last]
		do(n)
		waiting = append(waiting, n.Children...)
	}
}

// sumTotal is the time of a tree: that of its roots.
func sumTotal(top *cct.Node) float64 {
	if top == nil {
		return 0
	}
	if top.Method >= 0 {
		return top.Total.Nanos
	}
	var sum float64
	for _, root := range top.Children {
		sum += root.Total.Nanos
	}
	return sum
}

// errorOf is how far the truth may be from a time.
func errorOf(t cct.Time) float64 {
	return max(math.Abs(t.Nanos-t.Low), math.Abs(t.High-t.Nanos))
}

// A name is a method's name for people, in the parts that are set apart.
type name struct {
	Package, Class, Method string
}

// nameOf takes a method's name apart.
func nameOf(m cct.Method) name {
	class := strings.ReplaceAll(m.Class, "/", ".")
	if dot := strings.LastIndexByte(class, '.'); dot >= 0 {
		return name{Package: class[:dot+1], Class: class[dot+1:], Method: m.Name}
	}
	return name{Class: class, Method: m.Name}
}
