package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

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
