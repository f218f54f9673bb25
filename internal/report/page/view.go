package page

import (
	"slices"

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
