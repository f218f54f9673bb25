package html

import (
	"math"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// Heights in the timeline, in pixels.
const (
	marksHeight  = 34 // of the redefinitions on top
	laneHeight   = 22
	levelGap     = 5
	groundHeight = 30
	groupGap     = 16
	liveHeight   = 54
	axisHeight   = 26
)

// labelRoom is the part of the width that a hook reserves for its name.
const labelRoom = 0.14

const (
	textRoom = 0.12 // part of the width that a text on an axis may take
	endFrom  = 0.92 // marks from here on have their text to the left
)

// A timeline shows the search over time: a row for each level, with the hot spot at the
// bottom. X and W are percentages, Y is in pixels from the top.
type timeline struct {
	Height  int
	Body    int // where the rows end
	AxisY   int // of the text on the axis, relative to Body
	Labels  []rowLabel
	Bands   []band
	Bars    []bar
	Ground  []lifeline
	Batches []batchMark
	Breaks  []breakMark
	Ticks   []tick
	Counts  []countBar
	LimitY  int
	Limit   string
}

type rowLabel struct {
	Y           int
	Text, Class string
	Tip         string
}

type band struct{ Y, Height int }

type bar struct {
	X, W, Room float64 // Room is the room for its name
	Y          int
	Class      string
	Label      string
	Tip        string
	Method     int
}

// A lifeline shows how long a hot spot was hot.
type lifeline struct {
	X, W, End      float64
	Y              int
	Joined, Cooled bool
	Tip            string
}

type batchMark struct {
	X, W       float64
	Room       float64
	AtEnd      bool // its text is to the left
	Class      string
	Label, Tip string
}

type breakMark struct {
	X, W float64
	Text string
}

type tick struct {
	X    float64
	Text string
}

type countBar struct {
	X, W      float64
	Y, Height int
	Tip       string
}

func newTimeline(c *rootcause.Climb) *timeline {
	if len(c.Hooks) == 0 || c.Took <= 0 {
		return nil
	}
	scale := newScale(c)
	t := &timeline{}
	t.Labels = append(t.Labels, rowLabel{Y: 10, Text: "Redefinitions", Class: "aside"})
	y := marksHeight
	hues := huesOf(c.Methods)
	for i := range c.Spots {
		y = t.addSpot(c, i, scale, hues, y)
	}
	t.Body = y - groupGap
	t.addLive(c, scale, y)
	y += liveHeight
	t.addAxis(c, scale)
	t.Height = y + axisHeight
	t.AxisY = t.Height - t.Body - 7
	return t
}

// addSpot draws the levels of a hot spot, and below them the time in which it was hot.
func (t *timeline) addSpot(c *rootcause.Climb, spot int, scale *scale, hues []string, y int) int {
	s := &c.Spots[spot]
	top := y
	for _, level := range levelsOf(c, spot, scale, labelRoom) {
		t.Labels = append(t.Labels, rowLabel{Y: y, Text: "level " + strconv.Itoa(level.Level), Class: "level"})
		for _, lane := range level.Lanes {
			for i, h := range lane {
				next := 1.0
				if i+1 < len(lane) {
					next = scale.at(lane[i+1].From)
				}
				t.Bars = append(t.Bars, newBar(c, h, scale, next, y, hues))
			}
			y += laneHeight
		}
		y += levelGap
	}
	t.Bands = append(t.Bands, band{top - 4, y - top + groundHeight})
	from, end := scale.at(s.From), scale.at(endOf(c, s.Until))
	tip := tipOf(c.Methods[s.Method], "hot from "+duration(s.From)+" to "+duration(endOf(c, s.Until)), share(s.Share.Part)+" of the samples")
	t.Ground = append(t.Ground, lifeline{
		X: percent(from), W: percent(end - from), End: percent(end), Y: y + 9, Joined: s.From > 0, Cooled: s.Until > 0, Tip: tip,
	})
	t.Labels = append(t.Labels, rowLabel{Y: y, Text: "#" + strconv.Itoa(spot+1) + " " + briefOf(c.Methods[s.Method]), Class: "ground", Tip: tip})
	return y + groundHeight + groupGap
}

func newBar(c *rootcause.Climb, h rootcause.Live, scale *scale, next float64, y int, hues []string) bar {
	until := endOf(c, h.Until)
	from, end := scale.at(h.From), scale.at(until)
	return bar{
		X: percent(from), W: percent(end - from), Room: percent(next - from), Y: y, Class: hues[h.Method], Label: briefOf(c.Methods[h.Method]), Method: h.Method,
		Tip: tipOf(c.Methods[h.Method],
			"level "+strconv.Itoa(h.Level)+" of hot spot #"+strconv.Itoa(h.Spot+1),
			"on for "+duration(until-h.From)+", from "+duration(h.From)+" to "+duration(until),
			format.Plural(h.Calls, "call")+", callers identified for "+format.Grouped(h.Drawn)),
	}
}

// addLive draws how many hooks were on, and their limit.
func (t *timeline) addLive(c *rootcause.Climb, scale *scale, y int) {
	const height = liveHeight - 14
	most := max(c.Cost.LiveLimit, c.Cost.MostLive, 1)
	counts := liveOver(c)
	for i, one := range counts {
		until := c.Took
		if i+1 < len(counts) {
			until = counts[i+1].From
		}
		if one.Live <= 0 || until <= one.From {
			continue
		}
		high := height * one.Live / most
		from := scale.at(one.From)
		t.Counts = append(t.Counts, countBar{
			X: percent(from), W: percent(scale.at(until) - from), Y: y + liveHeight - high, Height: high,
			Tip: format.Plural(one.Live, "hook") + " on\nfrom " + duration(one.From) + " to " + duration(until),
		})
	}
	t.Labels = append(t.Labels, rowLabel{Y: y + liveHeight - 17, Text: "Live hooks", Class: "aside"})
	if c.Cost.LiveLimit > 0 {
		t.LimitY, t.Limit = y+liveHeight-height*c.Cost.LiveLimit/most, "limit "+strconv.Itoa(c.Cost.LiveLimit)
	}
}

func (t *timeline) addAxis(c *rootcause.Climb, scale *scale) {
	for i, b := range c.Batches {
		at := scale.at(b.At)
		next := 1.0
		if i+1 < len(c.Batches) {
			next = scale.at(c.Batches[i+1].At)
			if next > endFrom {
				next = max(at, next-textRoom) // the text of the next mark is to its left
			}
		}
		mark := batchMark{X: percent(at), W: percent(scale.at(b.At+b.Pause) - at), Class: "out", Label: format.Plural(b.Classes, "class") + " out"}
		if b.In {
			mark.Class, mark.Label = "in", format.Plural(b.Classes, "class")+" in"
		}
		mark.Room, mark.AtEnd = percent(next-at), at > endFrom
		mark.Tip = "redefinition: " + mark.Label + "\nat " + duration(b.At) + ", pause " + duration(b.Pause) + ", compilers " + duration(b.Compile) + "\n" + b.Why
		t.Batches = append(t.Batches, mark)
	}
	for _, b := range scale.breaks() {
		t.Breaks = append(t.Breaks, breakMark{percent(b.at), percent(b.width), duration(b.until - b.from)})
	}
	for _, moment := range scale.ticks(0.085) {
		at, text := scale.at(moment), tickText(moment)
		for _, b := range scale.breaks() {
			if math.Abs(at-b.at-b.width/2) < textRoom*0.75 { // the text of the break is there
				text = ""
			}
		}
		t.Ticks = append(t.Ticks, tick{percent(at), text})
	}
}

// tickText returns a round time without needless digits.
func tickText(moment time.Duration) string {
	if moment%time.Second == 0 || moment > time.Minute {
		return strconv.FormatFloat(moment.Seconds(), 'g', 6, 64) + space + "s"
	}
	return strconv.FormatFloat(float64(moment)/1e6, 'g', 6, 64) + space + "ms"
}
