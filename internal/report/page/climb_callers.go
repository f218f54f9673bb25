package page

import (
	"math"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A callerView is a row of the table of a hot spot's callers.
type callerView struct {
	Method                        int
	Name                          name
	Class                         string
	Indent                        int // in pixels
	Share, Range, By, Calls       string
	Bar                           float64 // of the bar behind the share, in percent
	Mean, P50, P90, P99, Max      string
	Timed                         bool
	P50At, P90At, P99At, MaxAt, W float64 // on a logarithmic scale, in percent; W reaches from P50At to P90At
	Marks                         []string
	Reason                        string
}

// callerViews are the hot spot and its callers, each behind what it calls.
func callerViews(c *climb.Climb, s *climb.Spot, rows []ascent.Row, cause *climb.Caller) []callerView {
	scale := newLogScale(s, rows)
	first := callerView{Method: s.Method, Name: nameOf(cct.Method(c.Methods[s.Method])), Class: "hot", Share: "100" + space + "%", Bar: 100, Calls: "–"}
	if s.Own != nil {
		first.Calls = format.Grouped(s.Own.Calls)
	}
	first.measure(s.Own, scale)
	views := []callerView{first}
	forks := forksOf(rows)
	for i, row := range rows {
		v := callerView{
			Method: row.Method, Name: nameOf(cct.Method(c.Methods[row.Method])), Share: share(row.Share.Part), Range: rangeOf(row.Share),
			By: string(row.By), Calls: "–", Bar: percent(row.Share.Part), Indent: 14 * forks[i], Reason: row.Reason, Marks: stateMarks(c, row),
		}
		if row.Calls > 0 {
			v.Calls = format.Grouped(row.Calls)
		}
		if row.Caller == cause {
			v.Class = "cause"
		}
		v.measure(row.Own, scale)
		views = append(views, v)
	}
	return views
}

// forksOf are how often the way to each row has divided: a row that is the only
// caller stands as far in as what it calls.
func forksOf(rows []ascent.Row) []int {
	forks := make([]int, len(rows))
	for i, row := range rows {
		if row.Below >= 0 {
			forks[i] = forks[row.Below]
		}
		if !row.Last || row.Below != i-1 {
			forks[i]++
		}
	}
	return forks
}

func stateMarks(c *climb.Climb, row ascent.Row) []string {
	var marks []string
	if row.Again {
		marks = append(marks, "recursion")
	}
	if c.Methods[row.Method].Native {
		marks = append(marks, "native")
	}
	switch row.State {
	case climb.Left:
		marks = append(marks, "no hook")
	case climb.Seen, climb.Woven, climb.Watched:
		marks = append(marks, string(row.State))
	}
	return marks
}

func (v *callerView) measure(m *climb.Measured, scale logScale) {
	v.Mean, v.P50, v.P90, v.P99, v.Max = "–", "–", "–", "–", "–"
	if m == nil || m.Timed == 0 {
		return
	}
	v.Timed = true
	v.Mean, v.P50, v.P90, v.P99, v.Max = callTime(m.Mean), callTime(m.P50), callTime(m.P90), callTime(m.P99), callTime(m.Max)
	v.P50At, v.P90At, v.P99At, v.MaxAt = scale.at(m.P50), scale.at(m.P90), scale.at(m.P99), scale.at(m.Max)
	v.W = max(0.8, v.P90At-v.P50At)
}

// A logScale places times in percent, so that microseconds and seconds are seen.
type logScale struct{ low, high float64 }

func newLogScale(s *climb.Spot, rows []ascent.Row) logScale {
	scale := logScale{math.Inf(1), math.Inf(-1)}
	take := func(m *climb.Measured) {
		if m != nil && m.Timed > 0 {
			scale.low, scale.high = min(scale.low, logOf(m.P50)), max(scale.high, logOf(m.Max))
		}
	}
	take(s.Own)
	for _, row := range rows {
		take(row.Own)
	}
	return scale
}

func logOf(d time.Duration) float64 { return math.Log(float64(max(d, 10))) }

func (s logScale) at(d time.Duration) float64 {
	if s.high <= s.low {
		return 50
	}
	const margin = 0.03
	return percent(margin + (1-2*margin)*(logOf(d)-s.low)/(s.high-s.low))
}
