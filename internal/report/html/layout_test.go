package html

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

// The methods of these tests, and the search they are in.
const (
	leaf  = reporttest.Leaf
	jdk   = reporttest.JDK
	left  = reporttest.Left
	right = reporttest.Right
	main  = reporttest.Main
)

var (
	searched = reporttest.Climb
	calledBy = reporttest.Caller
)

func TestBoxesAreAboveTheirCallees(t *testing.T) {
	c := searched(calledBy(left, 0.7, calledBy(main, 0.8)), calledBy(right, 0.25), calledBy(main, 0.2))
	boxes, levels := boxesOf(&c.Spots[0])
	if levels != 3 || boxes[0].Width != 1 || boxes[0].Caller != nil {
		t.Fatalf("%d levels, %+v", levels, boxes)
	}
	for _, b := range boxes {
		if b.At < 0 || b.At+b.Width > 1+1e-9 {
			t.Errorf("a box extends beyond the drawing: %+v", b)
		}
	}
	if above := boxes[2]; above.Method != main || above.Width > 0.7 {
		t.Errorf("a caller is wider than its callee: %+v", above)
	}
}

func TestLongPathsAreShortened(t *testing.T) {
	var top *rootcause.Caller
	for i := range 60 {
		above := []*rootcause.Caller{top}
		if top == nil {
			above = nil
		}
		top = calledBy(i%5, 1, above...)
	}
	c := searched(top)
	boxes, levels := boxesOf(&c.Spots[0])
	if levels != 1+chainFoot+1+chainHead || len(boxes) != levels || boxes[1+chainFoot].LeftOut != 60-chainFoot-chainHead {
		t.Errorf("%d levels, %d boxes", levels, len(boxes))
	}
}

// briefSearch has hooks for a second in the middle of a minute.
func briefSearch() *rootcause.Climb {
	c := searched()
	c.Took = time.Minute
	c.Batches = []rootcause.Batch{{At: 30 * time.Second, Pause: time.Millisecond, In: true}, {At: 32 * time.Second, Pause: time.Millisecond}}
	c.Hooks = []rootcause.Live{
		{Method: leaf, From: 30100 * time.Millisecond, Until: 30200 * time.Millisecond},
		{Method: left, Level: 1, From: 30200 * time.Millisecond, Until: 31 * time.Second},
		{Method: right, Level: 1, From: 30200 * time.Millisecond, Until: 31 * time.Second},
	}
	return c
}

func TestScaleShortensBreaks(t *testing.T) {
	scale := newScale(briefSearch())
	if breaks := scale.breaks(); len(breaks) != 2 {
		t.Errorf("%+v, want one before and one after", breaks)
	}
	last := -1.0
	for moment := time.Duration(0); moment <= time.Minute; moment += 50 * time.Millisecond {
		at := scale.at(moment)
		if at < last || at > 1+1e-9 {
			t.Fatalf("%v is at %v, before %v", moment, at, last)
		}
		last = at
	}
	if math.Abs(last-1) > 1e-9 || scale.at(0) != 0 {
		t.Errorf("it goes from %v to %v", scale.at(0), last)
	}
	if hook := scale.at(31*time.Second) - scale.at(30200*time.Millisecond); hook < 0.2 {
		t.Errorf("a hook of a second in a minute has %v of the width", hook)
	}
	if ticks := scale.ticks(0.1); len(ticks) < 4 || len(ticks) > 12 {
		t.Errorf("ticks %v", ticks)
	}
	if at := newScale(&rootcause.Climb{}).at(time.Second); at != 1 {
		t.Errorf("a search of no length: %v", at)
	}
}

func TestSimultaneousHooksHaveTheirOwnLanes(t *testing.T) {
	c := briefSearch()
	levels := levelsOf(c, 0, newScale(c), 0.1)
	if len(levels) != 2 || levels[0].Level != 1 || len(levels[0].Lanes) != 2 || len(levels[1].Lanes) != 1 {
		t.Errorf("%+v", levels)
	}
	want := []liveCount{{0, 0}, {30100 * time.Millisecond, 1}, {30200 * time.Millisecond, 2}, {31 * time.Second, 0}}
	if got := liveOver(c); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
