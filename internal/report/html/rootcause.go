package html

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/callers"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// The script only shows tooltips and switches between light and dark; everything else is
// written by the layouts.
var rootCausePage = page{
	command: "walk", id: "climb",
	layouts: []string{"climb.html", "climbheader.html", "spot.html", "timeline.html", "climbcost.html"},
	sheets:  []string{"base.css", "header.css", "flame.css", "measured.css", "spot.css", "timeline.css", "climbprint.css"},
	scripts: []string{"format.js", "dom.js", "place.js", "theme.js", "climb.js"},
}

// WriteRootCause writes a page that shows the result of a root-cause search and contains
// it as JSON.
func WriteRootCause(w io.Writer, c *rootcause.Climb) error {
	return rootCausePage.write(w, c.Target, document.NewRootCause(c), newRootCauseView(c))
}

// A rootCauseView is what the layouts of a root-cause search show.
type rootCauseView struct {
	header
	Sampled  string
	Biased   bool
	Spots    []spotView
	Timeline *timeline // nil if no hook was on
	Batches  []batchView
	List     []entryView
	Cost     searchCostView
	Notes    []string
}

// A searchCostView shows what a search cost the program.
type searchCostView struct {
	costView
	Hooked    string
	MostLive  string
	Limit     string
	Executed  string
	Redefined string
}

// A batchView is a redefinition.
type batchView struct {
	At, Classes, Pause, Compile, Why string
	In                               bool
}

// An entryView is a line of the caller list.
type entryView struct {
	Method           int
	Name             name
	State            rootcause.State
	Reason           string
	Hits             string
	Callers, Callees int
}

func newRootCauseView(c *rootcause.Climb) rootCauseView {
	v := rootCauseView{
		header: newHeader(c.Target, c.Began, c.Took), Biased: c.Sampled.Biased, Notes: c.Notes, Timeline: newTimeline(c),
		Sampled: format.Plural(c.Sampled.Samples, "sample") + " in " + duration(c.Sampled.Over),
		Cost: searchCostView{
			costView: newCostView(cct.Cost{Steady: c.Cost.Steady, Budget: c.Cost.Budget, Pause: c.Cost.Pause, Compile: c.Cost.Compile}, 0),
			Hooked:   format.Plural(c.Cost.Hooked, "method"), MostLive: format.Grouped(c.Cost.MostLive), Limit: format.Grouped(c.Cost.LiveLimit),
			Executed: format.Grouped(c.Cost.Executed), Redefined: format.Plural(c.Cost.Redefined, "time"),
		},
	}
	if c.Sampled.By != "" {
		v.Sampled += ", " + c.Sampled.By
	}
	hues := huesOf(c.Methods)
	for i := range c.Spots {
		v.Spots = append(v.Spots, newSpotView(c, i, hues))
	}
	for _, b := range c.Batches {
		v.Batches = append(v.Batches, batchView{duration(b.At), format.Grouped(b.Classes), duration(b.Pause), duration(b.Compile), b.Why, b.In})
	}
	for _, e := range c.List {
		v.List = append(v.List, entryView{
			e.Method, nameOf(c.Methods[e.Method]), e.State, e.Reason, format.Grouped(e.Hits), len(e.Callers), len(e.Callees),
		})
	}
	return v
}

// boxHeight is the height of a level in pixels.
const boxHeight = 27

// A spotView is a hot spot with its callers.
type spotView struct {
	Rank   string
	Method int
	Name   name
	Share  string
	Range  string // empty if it is narrow
	Facts  []string
	Above  string
	Cause  *causeView
	Height int
	Boxes  []boxView
	Levels []levelLabel
	Rows   []callerView
	More   int // callers whose share is too small to be shown
}

// A causeView describes the cause of a hot spot.
type causeView struct {
	Name   *name // nil if no method of the program is on the main call path
	Method int
	Share  string
	Range  string
	Path   []string
	Callee string // the method with several callers that matter; empty if there is none
	Split  []splitView
	End    *name
	Ending string
}

type splitView struct {
	Name  name
	Share string
}

// A boxView is a method as it is drawn. X and W are percentages, Y is in pixels from the top.
type boxView struct {
	X, W   float64
	Y      int
	Class  string
	Label  string
	Share  string
	Tip    string
	Method int
}

type levelLabel struct {
	Y    int
	Text string
}

func newSpotView(c *rootcause.Climb, index int, hues []string) spotView {
	s := &c.Spots[index]
	v := spotView{
		Rank: strconv.Itoa(index + 1), Method: s.Method, Name: nameOf(c.Methods[s.Method]),
		Share: share(s.Share.Part), Range: rangeOf(s.Share), Above: s.Above,
	}
	if s.Kind != "" {
		v.Facts = append(v.Facts, s.Kind)
	}
	if s.Line > 0 {
		v.Facts = append(v.Facts, "line "+strconv.Itoa(s.Line))
	}
	if s.From > 0 {
		v.Facts = append(v.Facts, "joined at "+duration(s.From))
	}
	if s.Until > 0 {
		v.Facts = append(v.Facts, "cooled at "+duration(s.Until))
	}
	cause := callers.CauseOf(c, s)
	v.Cause = newCauseView(c, cause)
	boxes, levels := boxesOf(s)
	v.Height = levels * boxHeight
	numbered := levels
	for _, b := range boxes {
		v.Boxes = append(v.Boxes, newBoxView(c, s, b, levels, cause.By, hues))
		if b.LeftOut > 0 { // above it, rows are not levels
			numbered = min(numbered, b.Level)
		}
	}
	for level := range numbered {
		v.Levels = append(v.Levels, levelLabel{(levels - 1 - level) * boxHeight, strconv.Itoa(level)})
	}
	rows, left := callers.RowsOf(s, leastCaller)
	v.More = left
	v.Rows = callerViews(c, s, rows, cause.By)
	return v
}

// leastCaller is the least share of a caller in the table.
const leastCaller = 0.001

func newCauseView(c *rootcause.Climb, cause callers.Cause) *causeView {
	if cause.End == nil {
		return nil
	}
	named := func(method int) name { return nameOf(c.Methods[method]) }
	v := &causeView{Method: -1}
	for _, method := range cause.Path {
		v.Path = append(v.Path, briefOf(c.Methods[method]))
	}
	if cause.By != nil {
		n := named(cause.By.Method)
		v.Name, v.Method, v.Share, v.Range = &n, cause.By.Method, share(cause.By.Share.Part), rangeOf(cause.By.Share)
	}
	if split := cause.Split; split != nil {
		v.Callee = briefOf(c.Methods[split.Callee])
		for _, caller := range split.Callers {
			v.Split = append(v.Split, splitView{named(caller.Method), share(caller.Share.Part)})
		}
	}
	if cause.End != cause.By {
		n := named(cause.End.Method)
		v.End, v.Ending = &n, cause.End.Reason
	}
	return v
}

func newBoxView(c *rootcause.Climb, s *rootcause.Spot, b box, levels int, cause *rootcause.Caller, hues []string) boxView {
	v := boxView{X: percent(b.At), W: percent(b.Width), Y: (levels - 1 - b.Level) * boxHeight, Method: -1}
	switch {
	case b.LeftOut > 0:
		v.Class, v.Label = "gap", "⋯ "+format.Plural(b.LeftOut, "method")+" without a split"
		v.Tip = v.Label + "\nthe table below lists them"
		return v
	case b.Caller == nil:
		v.Class, v.Label, v.Share, v.Method = "hot", briefOf(c.Methods[s.Method]), "hot spot", s.Method
		v.Tip = tipOf(c.Methods[s.Method], append([]string{share(s.Share.Part) + " of the program’s samples"}, measuredLines(s.Own)...)...)
		return v
	}
	classes := []string{hues[b.Method], "by-" + string(b.By)}
	if b.Main {
		classes = append(classes, "main")
	}
	if b.Caller == cause {
		classes = append(classes, "cause")
	}
	v.Class, v.Label, v.Share, v.Method = strings.Join(classes, " "), briefOf(c.Methods[b.Method]), share(b.Share.Part), b.Method
	lines := []string{share(b.Share.Part) + " of the hot spot (95 %: " + share(b.Share.Low) + " to " + share(b.Share.High) + "), by " + string(b.By)}
	if b.Again {
		lines = append(lines, "recursion: it is on this path below already")
	}
	if b.Calls > 0 {
		lines = append(lines, format.Plural(b.Calls, "call")+" of the method below identified")
	}
	lines = append(lines, measuredLines(b.Own)...)
	if b.Reason != "" {
		lines = append(lines, b.Reason)
	}
	v.Tip = tipOf(c.Methods[b.Method], lines...)
	return v
}

// tipOf returns the tooltip of a method; its name comes first.
func tipOf(m rootcause.Method, lines ...string) string {
	n := nameOf(m)
	return strings.Join(append([]string{n.Package + n.Class + "." + n.Method}, lines...), "\n")
}

func measuredLines(m *rootcause.Measured) []string {
	if m == nil || m.Timed == 0 {
		return nil
	}
	return []string{
		format.Plural(m.Calls, "call") + " in " + duration(m.Over) + ", mean " + callTime(m.Mean),
		"p50 " + callTime(m.P50) + " · p90 " + callTime(m.P90) + " · p99 " + callTime(m.P99) + " · max " + callTime(m.Max),
	}
}

func callTime(d time.Duration) string { return mean(float64(d)) }

// briefOf returns a method's name without its package.
func briefOf(m rootcause.Method) string {
	n := nameOf(m)
	return n.Class + "." + n.Method
}

// wideRange is the width from which on the interval of a share is written.
const wideRange = 0.03

func rangeOf(s rootcause.Share) string {
	if s.High-s.Low < wideRange {
		return ""
	}
	return fixed(100*s.Low, 0) + "–" + fixed(100*s.High, 0) + space + "%"
}

// percent returns a part of a whole in percent with three decimals.
func percent(part float64) float64 { return float64(int64(part*1e5+0.5)) / 1e3 }

// A callerView is a row of the table of a hot spot's callers.
type callerView struct {
	Method                        int
	Name                          name
	Class                         string
	Indent                        int // in pixels
	Share, Range, By, Calls       string
	Bar                           float64 // length of the bar under the share, in percent
	Mean, P50, P90, P99, Max      string
	Timed                         bool
	P50At, P90At, P99At, MaxAt, W float64 // on a logarithmic scale, in percent; W is the width from P50At to P90At
	Marks                         []string
	Reason                        string
}

// callerViews returns the hot spot and its callers, each after its callee.
func callerViews(c *rootcause.Climb, s *rootcause.Spot, rows []callers.Row, cause *rootcause.Caller) []callerView {
	scale := newLogScale(s, rows)
	first := callerView{Method: s.Method, Name: nameOf(c.Methods[s.Method]), Class: "hot", Share: "100" + space + "%", Bar: 100, Calls: "–"}
	if s.Own != nil {
		first.Calls = format.Grouped(s.Own.Calls)
	}
	first.measure(s.Own, scale)
	views := []callerView{first}
	forks := forksOf(rows)
	for i, row := range rows {
		v := callerView{
			Method: row.Method, Name: nameOf(c.Methods[row.Method]), Share: share(row.Share.Part), Range: rangeOf(row.Share),
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

// forksOf returns how many splits there are on the path to each row: an only caller is
// indented as far as its callee.
func forksOf(rows []callers.Row) []int {
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

func stateMarks(c *rootcause.Climb, row callers.Row) []string {
	var marks []string
	if row.Again {
		marks = append(marks, "recursion")
	}
	if c.Methods[row.Method].Native {
		marks = append(marks, "native")
	}
	switch row.State {
	case rootcause.Left:
		marks = append(marks, "no hook")
	case rootcause.Seen, rootcause.Woven, rootcause.Watched:
		marks = append(marks, string(row.State))
	}
	return marks
}

func (v *callerView) measure(m *rootcause.Measured, scale logScale) {
	v.Mean, v.P50, v.P90, v.P99, v.Max = "–", "–", "–", "–", "–"
	if m == nil || m.Timed == 0 {
		return
	}
	v.Timed = true
	v.Mean, v.P50, v.P90, v.P99, v.Max = callTime(m.Mean), callTime(m.P50), callTime(m.P90), callTime(m.P99), callTime(m.Max)
	v.P50At, v.P90At, v.P99At, v.MaxAt = scale.at(m.P50), scale.at(m.P90), scale.at(m.P99), scale.at(m.Max)
	v.W = max(0.8, v.P90At-v.P50At)
}

// A logScale places times in percent so that both microseconds and seconds can be seen.
type logScale struct{ low, high float64 }

func newLogScale(s *rootcause.Spot, rows []callers.Row) logScale {
	scale := logScale{math.Inf(1), math.Inf(-1)}
	take := func(m *rootcause.Measured) {
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

// numHues is the number of hues in assets/colour.js and assets/spot.css.
const numHues = 12

// huesOf returns the CSS classes of the methods' hues, by index: one hue per package, chosen
// as in assets/colour.js, so that all reports of one program look alike. Packages of the
// JDK are grey.
func huesOf(methods []rootcause.Method) []string {
	packages := make([]string, len(methods))
	for i, m := range methods {
		class := strings.ReplaceAll(m.Class, "/", ".")
		packages[i] = class[:strings.LastIndexByte(class, '.')+1]
	}
	slots := map[string]uint32{}
	taken := map[uint32]bool{}
	sorted := slices.Sorted(slices.Values(packages))
	for _, one := range slices.Compact(sorted) {
		if !callers.OfProgram(strings.ReplaceAll(one, ".", "/")) {
			continue
		}
		slot := hashOf(one) % numHues
		for tries := 0; taken[slot] && tries < numHues; tries++ {
			slot = (slot + 1) % numHues
		}
		taken[slot], slots[one] = true, slot
	}
	hues := make([]string, len(methods))
	for i, one := range packages {
		hues[i] = "grey"
		if slot, found := slots[one]; found {
			hues[i] = "hue" + strconv.Itoa(int(slot))
		}
	}
	return hues
}

// hashOf is the hash function of assets/colour.js.
func hashOf(text string) uint32 {
	hash := uint32(2166136261)
	for _, unit := range utf16.Encode([]rune(text)) {
		hash = (hash ^ uint32(unit)) * 16777619
	}
	return hash ^ hash>>15
}
