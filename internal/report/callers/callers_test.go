package callers

import (
	"math"
	"reflect"
	"testing"

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
	sample = reporttest.Climb
	caller = reporttest.Caller
)

func TestCauseIsOfTheProgram(t *testing.T) {
	by := caller(left, 0.7, caller(main, 0.7))
	c := sample(caller(leaf, 1, caller(jdk, 1, by, caller(right, 0.29), caller(main, 0.01))))
	cause := CauseOf(c, &c.Spots[0])
	if cause.By != by || !reflect.DeepEqual(cause.Path, []int{leaf, leaf, jdk, left}) {
		t.Errorf("neither recursion nor the JDK causes anything: %+v", cause)
	}
	if cause.End != by.Above[0] {
		t.Errorf("the main call path ends in %+v", cause.End)
	}
	if s := cause.Split; s == nil || s.Callee != jdk || len(s.Callers) != 2 {
		t.Errorf("two callers matter: %+v", s)
	}
}

// TestCauseHasHalfOfTheTime: a method that calls the hot spot by many ways causes it, not the
// heaviest of the ways; libraries cause nothing.
func TestCauseHasHalfOfTheTime(t *testing.T) {
	ways := func(parts ...float64) (callers []*rootcause.Caller) {
		for i, part := range parts {
			callers = append(callers, caller([]int{left, right, jdk}[i], part, caller(main, part)))
		}
		return callers
	}
	for name, tt := range map[string]struct {
		callers []*rootcause.Caller
		own     []string
		by      int
		part    float64
	}{
		"most by one way":              {ways(0.6, 0.4), []string{"app"}, left, 0.6},
		"no way has half":              {ways(0.4, 0.35, 0.25), []string{"app"}, main, 1},
		"half by two ways":             {ways(0.45, 0.3), []string{"app"}, main, 0.75},
		"only little is known":         {ways(0.2, 0.1), []string{"app"}, main, 0.3},
		"the nearer is a library":      {ways(0.6, 0.4), []string{"app.Main"}, -1, 0},
		"nothing is own":               {ways(0.6, 0.4), []string{"other"}, -1, 0},
		"own only beside the main way": {[]*rootcause.Caller{caller(jdk, 0.9), caller(left, 0.1)}, []string{"app"}, left, 0.1},
	} {
		c := sample(tt.callers...)
		c.Own.Names = tt.own
		cause := CauseOf(c, &c.Spots[0])
		switch {
		case tt.by < 0 && cause.By != nil:
			t.Errorf("%s: %+v, want none", name, cause.By)
		case tt.by >= 0 && (cause.By == nil || cause.By.Method != tt.by || math.Abs(cause.Share.Part-tt.part) > 1e-9 || cause.Path[len(cause.Path)-1] != tt.by):
			t.Errorf("%s: %+v with %g by %v, want %d with %g", name, cause.By, cause.Share.Part, cause.Path, tt.by, tt.part)
		}
	}
}

func TestUnknownCause(t *testing.T) {
	c := sample()
	if cause := CauseOf(c, &c.Spots[0]); cause.By != nil || cause.End != nil || cause.Split != nil {
		t.Errorf("no caller: %+v", cause)
	}
	c = sample(caller(jdk, 1))
	if cause := CauseOf(c, &c.Spots[0]); cause.By != nil || cause.End == nil || len(cause.Path) != 2 {
		t.Errorf("only the JDK: %+v", cause)
	}
}

func TestOfProgram(t *testing.T) {
	for class, want := range map[string]bool{"java/lang/A": false, "com/sun/A": false, "sun/A": false, "javax/A": false, "jdk/A": false, "com/sunny/A": true, "javac/A": true, "A": true} {
		if OfProgram(class) != want {
			t.Errorf("%s: want %v", class, want)
		}
	}
}

func TestRows(t *testing.T) {
	c := sample(caller(left, 0.7, caller(leaf, 0.7, caller(main, 0.7))), caller(right, 0.3), caller(main, 0.0001))
	rows, less := RowsOf(&c.Spots[0], 0.001)
	type shape struct {
		method, below int
		again, last   bool
	}
	var got []shape
	for _, r := range rows {
		got = append(got, shape{r.Method, r.Below, r.Again, r.Last})
	}
	want := []shape{{left, -1, false, false}, {leaf, 0, true, true}, {main, 1, false, true}, {right, -1, false, true}}
	if less != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d left out, %+v", less, got)
	}
}

// TestPathsAddUp includes callers that account for less than their callee.
func TestPathsAddUp(t *testing.T) {
	c := sample(caller(left, 0.7, caller(main, 0.5)), caller(right, 0.2))
	var sum float64
	paths := Paths(&c.Spots[0])
	for _, path := range paths {
		sum += path.Part
	}
	if len(paths) != 4 || math.Abs(sum-1) > 1e-9 || !reflect.DeepEqual(paths[2].Methods, []int{leaf, left, main}) {
		t.Errorf("%v add up to %v", paths, sum)
	}
}
