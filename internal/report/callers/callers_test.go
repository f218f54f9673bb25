package callers

import (
	"math"
	"reflect"
	"testing"

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
