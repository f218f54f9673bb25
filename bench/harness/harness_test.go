package harness

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var origin = time.Unix(1000, 0)

func second(n float64) time.Time { return origin.Add(time.Duration(n * float64(time.Second))) }

// tracked is a program that does so many operations in each second of processor time,
// and a twin that does 100.
func tracked(perSecond ...float64) Track {
	all := Track{{At: origin}}
	for _, n := range perSecond {
		for range 5 {
			last := all[len(all)-1]
			all = append(all, Reading{
				last.At.Add(Every), Progress{Done: last.Touched.Done + n/5, CPU: last.Touched.CPU + Every}, Progress{Done: last.Twin.Done + 20, CPU: last.Twin.CPU + Every},
			})
		}
	}
	return all
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestSharesAreOfWindows(t *testing.T) {
	shares := tracked(100, 100, 50, 50).Shares(Span{second(0), second(4)})
	if len(shares) != 2 || !near(shares[0], 1) || !near(shares[1], 0.5) {
		t.Errorf("%v", shares)
	}
}

func TestLostIsTimeThatBroughtNothing(t *testing.T) {
	if lost := tracked(100, 0, 50, 100).Lost(Span{second(0), second(4)}, 1); !near(lost.Seconds(), 1.5) {
		t.Errorf("lost %v, want 1.5 s", lost)
	}
}

func TestWithoutTakesSpansOut(t *testing.T) {
	cut := Union([]Span{{second(2), second(3)}, {second(2.5), second(4)}, {second(9), second(12)}})
	want := []Span{{second(0), second(2)}, {second(4), second(9)}}
	if got := (Span{second(0), second(10)}).Without(cut); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestQuantilesLieBetweenTheirNeighbours(t *testing.T) {
	if s := SpreadOf([]float64{4, 1, 3, 2, 5}); s != (Spread{3, 2, 4}) {
		t.Errorf("%+v", s)
	}
	if q := Quantile([]float64{1, 2}, 0.25); q != 1.25 {
		t.Errorf("a quarter of the way from 1 to 2 is %v", q)
	}
	if q := Median(nil); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %v", q)
	}
}

func TestAMeanKnowsHowWellItIsKnown(t *testing.T) {
	average, within := Mean([]float64{1, 2, 3})
	if average != 2 || math.Abs(within-4.303/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%v within %v", average, within)
	}
	if _, within := Mean([]float64{1}); !math.IsInf(within, 1) {
		t.Errorf("one value is known within %v", within)
	}
	if average, _ := Mean(nil); !math.IsNaN(average) {
		t.Errorf("the mean of nothing is %v", average)
	}
	for freedom, want := range map[int]float64{1: 12.706, 10: 2.228, 11: 2.201, 30: 2.042, 1000: 1.962} {
		if have := student(freedom); math.Abs(have-want) > 0.03 {
			t.Errorf("student(%d) is %v, not %v", freedom, have, want)
		}
	}
}

func TestReport(t *testing.T) {
	r := &Report{}
	table := r.Table("JDK", "ns", "verdict")
	table.Row("17", SpreadOf([]float64{1, 2, 3}).Text("%.1f"), Judge(true))
	table.Row("25")
	r.Note("a note of %d words", 5)
	r.Bar(Met, "the first")
	r.Bar(Unclear, "the second")
	var out strings.Builder
	r.print(&out)
	for _, want := range []string{"JDK  ns                verdict\n17   2.0 (1.5 to 2.5)  met\n25", "a note of 5 words\n", "the second: unclear\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if r.allMet() || r.Count(Met) != 1 {
		t.Errorf("%d of two bars are met; all: %v; want one", r.Count(Met), r.allMet())
	}
}
