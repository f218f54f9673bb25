package html

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// summaryRows is the length of the method list that is shown on paper and without scripts.
const summaryRows = 25

var profilePage = page{
	command: "profile",
	layouts: []string{"profile.html", "header.html", "measured.html", "summary.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "tables.css", "measured.css", "print.css"},
	scripts: slices.Concat(flameScripts, []string{"tooltip.js", "main.js"}),
}

// flameScripts are parts of pages with flame graphs. A script with the tooltip and the decoder of the page follows, then
// main.js.
var flameScripts = []string{
	"format.js", "decode.js", "tree.js", "reshape.js", "methodlist.js", "colour.js", "search.js", "dom.js", "carried.js", "rows.js", "place.js", "theme.js",
	"flamedraw.js", "flame.js", "treetab.js", "methodstab.js", "methodpanel.js", "legend.js", "menu.js", "permalink.js",
}

// WriteProfile writes a page that shows a profile and contains it as JSON.
func WriteProfile(w io.Writer, p *cct.Profile) error {
	return profilePage.write(w, p.Target, document.NewProfile(p), newProfileView(p))
}

// A profileView is what the layouts of a profile show.
type profileView struct {
	*cct.Profile
	Timing  string
	Root    *cct.Node // the calls of all roots
	Extent  float64   // nanoseconds of all time
	Hottest *cct.Row  // nil if no method was timed
	Summary []cct.Row
	Off     []int // methods without a row whose hooks were off
	More    int   // methods that Summary leaves out
	Sum     sums
	Spans   []calibrated
	Reasons []reason
}

func newProfileView(p *cct.Profile) profileView {
	top := p.Merged
	if top == nil {
		top = &cct.Node{Method: -1}
	}
	flat := cct.Flat(top, p.Methods)
	v := profileView{
		Profile: p, Timing: text.Timing(p), Root: top.Roots(), Extent: top.Extent(), Summary: flat[:min(summaryRows, len(flat))], More: max(0, len(flat)-summaryRows),
		Sum: sumCalls(top), Spans: spansOf(p.Calibration), Reasons: reasonsOf(p.LeftAlone),
	}
	if len(flat) > 0 && flat[0].Known && v.Root.Total.Nanos > 0 {
		v.Hottest = &flat[0]
	}
	off := text.Off(p, flat)
	v.Off = off[:min(len(off), summaryRows-len(v.Summary))]
	return v
}

// Part returns a time as a part of all time: that of the roots, and of what they handed to other threads.
func (v profileView) Part(t cct.Time) float64 { return t.Nanos / v.Extent }

// State describes when a quiet hook was on.
func (v profileView) State(q cct.Quiet) string { return text.HookState(v.Profile, q) }

// sums are sums over the contexts of a profile.
type sums struct {
	Calls, Timed, Threw, Running, Missed uint64
	Lost                                 time.Duration // to Sonde
	Contexts, Untimed, Late              int           // Untimed: with calls but without time; Late: the hook was installed late
}

// TimedPart returns the part of the calls that were timed.
func (s sums) TimedPart() float64 { return float64(s.Timed) / float64(max(s.Calls, 1)) }

func sumCalls(top *cct.Node) (s sums) {
	for n := range top.All() {
		if n.Method < 0 {
			continue
		}
		s.Contexts++
		s.Calls += n.Calls
		s.Timed += n.Timed
		s.Threw += n.Threw
		s.Running += n.Running
		s.Missed += n.Missed
		s.Lost += n.Lost
		if n.Timed == 0 && n.Calls > 0 && !n.Sampled {
			s.Untimed++
		}
		if n.Late {
			s.Late++
		}
	}
	return s
}

// A calibrated cost has a place.
type calibrated struct {
	Name, What string
	cct.Span
	LowAt, MedianAt, Width float64 // on a scale from 0 to 100
}

// spansOf places the calibrated costs on one scale.
func spansOf(c cct.Calibration) []calibrated {
	spans := []calibrated{
		{Name: "Inner", What: "of a timed call, within its own measured time", Span: c.Inner},
		{Name: "Outer", What: "of a timed call, within its caller’s measured time", Span: c.Outer},
		{Name: "Drawn", What: "Inner, of a call that is timed by sampling", Span: c.Drawn},
		{Name: "Count", What: "of a call that is only counted", Span: c.Count},
	}
	scale := max(c.Inner.High, c.Outer.High, c.Drawn.High, c.Count.High, 1)
	for i := range spans {
		s := &spans[i]
		s.LowAt, s.MedianAt, s.Width = 100*s.Low/scale, 100*s.Median/scale, max(0.6, 100*(s.High-s.Low)/scale)
	}
	return spans
}

// reasonSamples is how many classes left alone for one reason are named. The JSON names
// all of them.
const reasonSamples = 200

// A reason groups classes and methods that were left alone.
type reason struct {
	Reason      string
	Named       []string
	Count, More int // More is how many are not named
}

// reasonsOf groups what was left alone by reason, the most frequent first.
func reasonsOf(all []cct.LeftAlone) (reasons []reason) {
	named := map[string][]string{}
	for _, l := range all {
		named[l.Reason] = append(named[l.Reason], text.LeftName(l))
	}
	for _, why := range slices.Sorted(maps.Keys(named)) {
		names := named[why]
		slices.Sort(names)
		shown := min(len(names), reasonSamples)
		reasons = append(reasons, reason{why, names[:shown], len(names), len(names) - shown})
	}
	slices.SortStableFunc(reasons, func(a, b reason) int { return cmp.Compare(b.Count, a.Count) })
	return reasons
}

// A name is a method's name in the parts that are styled differently.
type name struct {
	Package, Class, Method string
}

func nameOf(m cct.Method) name {
	class := strings.ReplaceAll(m.Class, "/", ".")
	dot := strings.LastIndexByte(class, '.')
	return name{Package: class[:dot+1], Class: class[dot+1:], Method: m.Name}
}

var diffPage = page{
	command: "diff",
	layouts: []string{"diff.html"},
	sheets:  []string{"base.css", "header.css", "toolbar.css", "flame.css", "tables.css", "measured.css", "diff.css", "print.css"},
	scripts: slices.Concat(flameScripts, []string{"difftip.js", "main.js"}),
}

// A diffView is what the layout of a comparison shows.
type diffView struct {
	*diff.Difference
	Sides   []diffSide
	Verdict string        // on the time of a call of the root
	Changed []diff.Change // methods with a significant change
	Same    int           // methods without
}

type diffSide struct {
	When string
	diff.Run
}

// WriteDiff writes a page that shows a comparison as a flame graph, and contains it as JSON.
func WriteDiff(w io.Writer, d *diff.Difference) error {
	v := diffView{Difference: d, Sides: []diffSide{{"Before", d.Before}, {"After", d.After}}, Verdict: text.TotalChange(d)}
	for _, c := range d.Methods {
		if c.Verdict == diff.Same || c.Verdict == diff.Untimed {
			v.Same++
		} else {
			v.Changed = append(v.Changed, c)
		}
	}
	return diffPage.write(w, cct.Target{Command: d.After.Title}, document.NewDiff(d, 0).WithTree(d), v)
}

// IsKnown reports whether the times of a change are known on both sides.
func (v diffView) IsKnown(c diff.Change) bool { return c.Before.Known && c.After.Known }

// Last returns the method of a change.
func (v diffView) Last(c diff.Change) string { return c.Path[len(c.Path)-1] }
