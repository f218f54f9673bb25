package twin

import (
	"math"
	"slices"
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
				last.At.Add(Every), Progress{last.Touched.Done + n/5, last.Touched.CPU + Every}, Progress{last.Twin.Done + 20, last.Twin.CPU + Every},
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
