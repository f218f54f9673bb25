package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// boxHeight is that of a level, in pixels.
const boxHeight = 27

// A spotView is a hot spot with the ways up from it.
type spotView struct {
	Rank   string
	Method int
	Name   name
	Share  string
	Range  string // empty where it is narrow
	Facts  []string
	Above  string
	Cause  *causeView
	Height int
	Boxes  []boxView
	Levels []levelLabel
	Rows   []callerView
	More   int // callers too small to be shown
}

// A causeView is what is to be said first.
type causeView struct {
	Name   *name // nil where no method of the program is on the way
	Method int
	Share  string
	Range  string
	Way    []string
	Above  string // the method above which the way divides; empty where it does not
	Ways   []wayView
	End    *name
	Ending string
}

type wayView struct {
	Name  name
	Share string
}

// A boxView is a method on the way up as it is drawn. Places are in percent, and in
// pixels from the top.
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

func newSpotView(c *climb.Climb, index int, hues []string) spotView {
	s := &c.Spots[index]
	v := spotView{
		Rank: strconv.Itoa(index + 1), Method: s.Method, Name: nameOf(cct.Method(c.Methods[s.Method])),
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
		v.Facts = append(v.Facts, "cooled down at "+duration(s.Until))
	}
	cause := ascent.CauseOf(c, s)
	v.Cause = newCauseView(c, cause)
	boxes, levels := ascent.BoxesOf(s)
	v.Height = levels * boxHeight
	numbered := levels
	for _, b := range boxes {
		v.Boxes = append(v.Boxes, newBoxView(c, s, b, levels, cause.By, hues))
		if b.LeftOut > 0 { // above it rows are no levels
			numbered = min(numbered, b.Level)
		}
	}
	for level := range numbered {
		v.Levels = append(v.Levels, levelLabel{(levels - 1 - level) * boxHeight, strconv.Itoa(level)})
	}
	rows, left := ascent.RowsOf(s, leastCaller)
	v.More = left
	v.Rows = callerViews(c, s, rows, cause.By)
	return v
}

// leastCaller is the share a caller must have to stand in the table.
const leastCaller = 0.001

func newCauseView(c *climb.Climb, cause ascent.Cause) *causeView {
	if cause.End == nil {
		return nil
	}
	named := func(method int) name { return nameOf(cct.Method(c.Methods[method])) }
	v := &causeView{Method: -1}
	for _, method := range cause.Way {
		v.Way = append(v.Way, briefOf(c.Methods[method]))
	}
	if cause.By != nil {
		n := named(cause.By.Method)
		v.Name, v.Method, v.Share, v.Range = &n, cause.By.Method, share(cause.By.Share.Part), rangeOf(cause.By.Share)
	}
	if d := cause.Divides; d != nil {
		v.Above = briefOf(c.Methods[d.Above])
		for _, way := range d.Ways {
			v.Ways = append(v.Ways, wayView{named(way.Method), share(way.Share.Part)})
		}
	}
	if cause.End != cause.By {
		n := named(cause.End.Method)
		v.End, v.Ending = &n, cause.End.Reason
	}
	return v
}

func newBoxView(c *climb.Climb, s *climb.Spot, b ascent.Box, levels int, cause *climb.Caller, hues []string) boxView {
	v := boxView{X: percent(b.At), W: percent(b.Width), Y: (levels - 1 - b.Level) * boxHeight, Method: -1}
	switch {
	case b.LeftOut > 0:
		v.Class, v.Label = "gap", "⋯ "+format.Plural(b.LeftOut, "method")+" straight up"
		v.Tip = v.Label + "\nthe table below has them all"
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
		lines = append(lines, "recursion: it is on this way below already")
	}
	if b.Calls > 0 {
		lines = append(lines, format.Plural(b.Calls, "call")+" of the one below, identified")
	}
	lines = append(lines, measuredLines(b.Own)...)
	if b.Reason != "" {
		lines = append(lines, b.Reason)
	}
	v.Tip = tipOf(c.Methods[b.Method], lines...)
	return v
}

// tipOf is what is shown of a method that is pointed at; its name comes first.
func tipOf(m climb.Method, lines ...string) string {
	n := nameOf(cct.Method(m))
	return strings.Join(append([]string{n.Package + n.Class + "." + n.Method}, lines...), "\n")
}

func measuredLines(m *climb.Measured) []string {
	if m == nil || m.Timed == 0 {
		return nil
	}
	return []string{
		format.Plural(m.Calls, "call") + " in " + duration(m.Over) + ", mean " + callTime(m.Mean),
		"p50 " + callTime(m.P50) + " · p90 " + callTime(m.P90) + " · p99 " + callTime(m.P99) + " · max " + callTime(m.Max),
	}
}

func callTime(d time.Duration) string { return mean(float64(d)) }

// briefOf is a method's name without its package.
func briefOf(m climb.Method) string {
	n := nameOf(cct.Method(m))
	return n.Class + "." + n.Method
}

// wideRange is from which width on the interval of a share is written.
const wideRange = 0.03

func rangeOf(s climb.Share) string {
	if s.High-s.Low < wideRange {
		return ""
	}
	return fixed(100*s.Low, 0) + "–" + fixed(100*s.High, 0) + space + "%"
}

// percent is a part of the whole in percent, short enough to be read in the source.
func percent(part float64) float64 { return float64(int64(part*1e5+0.5)) / 1e3 }
