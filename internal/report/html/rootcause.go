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
	command: "walk",
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
	*rootcause.Climb
	Spots    []spotView
	Timeline *timeline // nil if no hook was on
}

func newRootCauseView(c *rootcause.Climb) rootCauseView {
	v := rootCauseView{Climb: c, Timeline: newTimeline(c)}
	hues := huesOf(c.Methods)
	for i := range c.Spots {
		v.Spots = append(v.Spots, newSpotView(c, i, hues))
	}
	return v
}

// boxHeight is the height of a level in pixels.
const boxHeight = 27

// A spotView is a hot spot with its callers.
type spotView struct {
	*rootcause.Spot
	Rank     int
	Methods  []cct.Method
	Facts    []string
	Cause    callers.Cause
	HasHooks bool // some method got one
	Height   int
	Boxes    []boxView
	Levels   []levelLabel
	Rows     []callerView
	More     int // callers whose share is too small to be shown
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

type levelLabel struct{ Y, Level int }

func newSpotView(c *rootcause.Climb, index int, hues []string) spotView {
	s := &c.Spots[index]
	cause := callers.CauseOf(c, s)
	v := spotView{Spot: s, Rank: index + 1, Methods: c.Methods, Facts: callers.Facts(s), Cause: cause, HasHooks: c.Cost.Hooked > 0}
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
		v.Levels = append(v.Levels, levelLabel{(levels - 1 - level) * boxHeight, level})
	}
	rows, left := callers.RowsOf(s, leastCaller)
	v.More = left
	v.Rows = callerViews(c, s, rows, cause.By)
	return v
}

// leastCaller is the least share of a caller in the table.
const leastCaller = 0.001

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
func tipOf(m cct.Method, lines ...string) string {
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
func briefOf(m cct.Method) string {
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
	*rootcause.Caller
	Class                         string
	Indent                        int     // in pixels
	Bar                           float64 // length of the bar under the share, in percent
	Timed                         bool
	P50At, P90At, P99At, MaxAt, W float64 // on a logarithmic scale, in percent; W is the width from P50At to P90At
	Marks                         []string
}

// callerViews returns the hot spot and its callers, each after its callee.
func callerViews(c *rootcause.Climb, s *rootcause.Spot, rows []callers.Row, cause *rootcause.Caller) []callerView {
	hot := &rootcause.Caller{Method: s.Method, Share: rootcause.Share{Part: 1, Low: 1, High: 1}, Own: s.Own}
	if s.Own != nil {
		hot.Calls = s.Own.Calls
	}
	views := []callerView{{Caller: hot, Class: "hot", Bar: 100}}
	forks := forksOf(rows)
	for i, row := range rows {
		v := callerView{Caller: row.Caller, Bar: percent(row.Share.Part), Indent: 14 * forks[i], Marks: row.Marks(c)}
		if row.Caller == cause {
			v.Class = "cause"
		}
		views = append(views, v)
	}
	scale := logScale{math.Inf(1), math.Inf(-1)}
	for i := range views {
		v := &views[i]
		if v.Timed = v.Own != nil && v.Own.Timed > 0; v.Timed {
			scale.low, scale.high = min(scale.low, logOf(v.Own.P50)), max(scale.high, logOf(v.Own.Max))
		}
	}
	for i := range views {
		if v := &views[i]; v.Timed {
			v.P50At, v.P90At, v.P99At, v.MaxAt = scale.at(v.Own.P50), scale.at(v.Own.P90), scale.at(v.Own.P99), scale.at(v.Own.Max)
			v.W = max(0.8, v.P90At-v.P50At)
		}
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

// A logScale places times in percent so that both microseconds and seconds can be seen.
type logScale struct{ low, high float64 }

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
func huesOf(methods []cct.Method) []string {
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
