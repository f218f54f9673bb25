package ascent

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// The methods of these tests.
const (
	leaf = iota
	jdk
	left
	right
	main
)

func sample(callers ...*rootcause.Caller) *rootcause.Climb {
	return &rootcause.Climb{
		Methods: []rootcause.Method{
			leaf: {Class: "app/Leaf", Name: "hot"}, jdk: {Class: "java/util/List", Name: "forEach"},
			left: {Class: "app/Left", Name: "go"}, right: {Class: "app/Right", Name: "go"}, main: {Class: "app/Main", Name: "main"},
		},
		Spots: []rootcause.Spot{{Method: leaf, Callers: callers}},
	}
}

func caller(method int, part float64, above ...*rootcause.Caller) *rootcause.Caller {
	return &rootcause.Caller{Method: method, Share: rootcause.Share{Part: part}, Above: above}
}

func TestCauseIsOfTheProgram(t *testing.T) {
	by := caller(left, 0.7, caller(main, 0.7))
	c := sample(caller(leaf, 1, caller(jdk, 1, by, caller(right, 0.29), caller(main, 0.01))))
	cause := CauseOf(c, &c.Spots[0])
	if cause.By != by || !reflect.DeepEqual(cause.Way, []int{leaf, leaf, jdk, left}) {
		t.Errorf("neither recursion nor the JDK causes anything: %+v", cause)
	}
	if cause.End != by.Above[0] {
		t.Errorf("the main way ends in %+v", cause.End)
	}
	if d := cause.Divides; d == nil || d.Above != jdk || len(d.Ways) != 2 {
		t.Errorf("the way divides in two that matter: %+v", d)
	}
}

func TestCauseThatIsNone(t *testing.T) {
	c := sample()
	if cause := CauseOf(c, &c.Spots[0]); cause.By != nil || cause.End != nil || cause.Divides != nil {
		t.Errorf("no caller: %+v", cause)
	}
	c = sample(caller(jdk, 1))
	if cause := CauseOf(c, &c.Spots[0]); cause.By != nil || cause.End == nil || len(cause.Way) != 2 {
		t.Errorf("only the JDK: %+v", cause)
	}
}

func TestOfProgram(t *testing.T) {
	for class, want := range map[string]bool{"java/lang/A": false, "com/sun/A": false, "sun/A": false, "javax/A": false, "jdk/A": false, "com/sunny/A": true, "javac/A": true, "A": true} {
		if OfProgram(rootcause.Method{Class: class}) != want {
			t.Errorf("%s: want %v", class, want)
		}
	}
}

func TestRows(t *testing.T) {
	c := sample(caller(left, 0.7, caller(leaf, 0.7, caller(main, 0.7))), caller(right, 0.3), caller(main, 0.0001))
	rows, less := RowsOf(&c.Spots[0], 0.001)
	type shape struct {
		method, below, depth int
		again, main, last    bool
	}
	var got []shape
	for _, r := range rows {
		got = append(got, shape{r.Method, r.Below, r.Depth, r.Again, r.Main, r.Last})
	}
	want := []shape{{left, -1, 1, false, true, false}, {leaf, 0, 2, true, true, true}, {main, 1, 3, false, true, true}, {right, -1, 1, false, false, true}}
	if less != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d left out, %+v", less, got)
	}
}

// TestWaysAddUp holds all ways together to the whole, also where callers account
// for less than what is below them.
func TestWaysAddUp(t *testing.T) {
	c := sample(caller(left, 0.7, caller(main, 0.5)), caller(right, 0.2))
	var sum float64
	for _, way := range WaysOf(&c.Spots[0]) {
		sum += way.Part
	}
	ways := WaysOf(&c.Spots[0])
	if len(ways) != 4 || math.Abs(sum-1) > 1e-9 || !reflect.DeepEqual(ways[2].Methods, []int{leaf, left, main}) {
		t.Errorf("%v add up to %v", ways, sum)
	}
}

func TestBoxesLieOnWhatTheyCall(t *testing.T) {
	c := sample(caller(left, 0.7, caller(main, 0.8)), caller(right, 0.25), caller(main, 0.2))
	boxes, levels := BoxesOf(&c.Spots[0])
	if levels != 3 || boxes[0].Width != 1 || boxes[0].Caller != nil {
		t.Fatalf("%d levels, %+v", levels, boxes)
	}
	for _, b := range boxes {
		if b.At < 0 || b.At+b.Width > 1+1e-9 {
			t.Errorf("a box reaches out: %+v", b)
		}
	}
	if above := boxes[2]; above.Method != main || above.Width > 0.7 {
		t.Errorf("a caller is no wider than what it calls: %+v", above)
	}
}

func TestLongWaysAreShortened(t *testing.T) {
	var top *rootcause.Caller
	for i := range 60 {
		above := []*rootcause.Caller{top}
		if top == nil {
			above = nil
		}
		top = caller(i%5, 1, above...)
	}
	c := sample(top)
	boxes, levels := BoxesOf(&c.Spots[0])
	if levels != 1+chainFoot+1+chainHead || len(boxes) != levels || boxes[1+chainFoot].LeftOut != 60-chainFoot-chainHead {
		t.Errorf("%d levels, %d boxes", levels, len(boxes))
	}
}

// walked is a climb of a second in the middle of a minute.
func walked() *rootcause.Climb {
	c := sample()
	c.Took = time.Minute
	c.Batches = []rootcause.Batch{{At: 30 * time.Second, Pause: time.Millisecond, In: true}, {At: 32 * time.Second, Pause: time.Millisecond}}
	c.Hooks = []rootcause.Live{
		{Method: leaf, From: 30100 * time.Millisecond, Until: 30200 * time.Millisecond},
		{Method: left, Level: 1, From: 30200 * time.Millisecond, Until: 31 * time.Second},
		{Method: right, Level: 1, From: 30200 * time.Millisecond, Until: 31 * time.Second},
	}
	return c
}

func TestScaleNarrowsQuietWhiles(t *testing.T) {
	scale := ScaleOf(walked())
	if breaks := scale.Breaks(); len(breaks) != 2 {
		t.Errorf("%+v, want one before and one behind", breaks)
	}
	last := -1.0
	for moment := time.Duration(0); moment <= time.Minute; moment += 50 * time.Millisecond {
		at := scale.At(moment)
		if at < last || at > 1+1e-9 {
			t.Fatalf("%v lies at %v, behind %v", moment, at, last)
		}
		last = at
	}
	if math.Abs(last-1) > 1e-9 || scale.At(0) != 0 {
		t.Errorf("it goes from %v to %v", scale.At(0), last)
	}
	if hook := scale.At(31*time.Second) - scale.At(30200*time.Millisecond); hook < 0.2 {
		t.Errorf("a hook of a second in a minute has %v of the width", hook)
	}
	if ticks := scale.Ticks(0.1); len(ticks) < 4 || len(ticks) > 12 {
		t.Errorf("ticks %v", ticks)
	}
	if at := ScaleOf(&rootcause.Climb{}).At(time.Second); at != 1 {
		t.Errorf("a walk of no length: %v", at)
	}
}

func TestHooksAtOnceHaveLanesOfTheirOwn(t *testing.T) {
	c := walked()
	levels := LevelsOf(c, 0, ScaleOf(c), 0.1)
	if len(levels) != 2 || levels[0].Level != 1 || len(levels[0].Lanes) != 2 || len(levels[1].Lanes) != 1 {
		t.Errorf("%+v", levels)
	}
	want := []Count{{0, 0}, {30100 * time.Millisecond, 1}, {30200 * time.Millisecond, 2}, {31 * time.Second, 0}}
	if got := LiveOver(c); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}
