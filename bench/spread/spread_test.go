package spread

import (
	"math"
	"testing"
)

func TestQuantilesLieBetweenTheirNeighbours(t *testing.T) {
	if s := Of([]float64{4, 1, 3, 2, 5}); s != (Spread{3, 2, 4}) {
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
