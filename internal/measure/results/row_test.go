package results

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestUncertaintyHoldsTheMean samples a program whose times are far from even, many
// times over: the interval holds the truth about as often as it says, also with
// the least that it is told for.
func TestUncertaintyHoldsTheMean(t *testing.T) {
	const truth, times = 0.9*100 + 0.1*1000, 2000
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []struct{ batches, calls int }{{leastBatches, 1}, {leastBatches, 30}, {100, 5}} {
		held := 0
		for range times {
			s, totals := &Uncertainty{}, arena.Totals{}
			for range size.batches {
				for range size.calls {
					totals.Timed++
					totals.Nanos += 100
					if random.IntN(10) == 0 {
						totals.Nanos += 900
					}
				}
				s.Add(&totals)
			}
			mean := float64(totals.Nanos) / float64(totals.Timed)
			if math.Abs(mean-truth) <= s.Error()*mean {
				held++
			}
		}
		if share := float64(held) / times; share < 0.92 || share > 0.98 {
			t.Errorf("%d batches of %d calls: held in %.1f %% of cases", size.batches, size.calls, 100*share)
		}
	}
}

func TestUncertaintyOfTooLittle(t *testing.T) {
	s, totals := &Uncertainty{}, arena.Totals{}
	for range leastBatches - 1 {
		totals.Timed, totals.Nanos = totals.Timed+1, totals.Nanos+10
		s.Add(&totals)
	}
	s.Add(&totals) // nothing new is no batch
	if got := s.Error(); got >= 0 {
		t.Errorf("%v", got)
	}
	totals.Timed, totals.Nanos = totals.Timed+1, totals.Nanos+10
	s.Add(&totals)
	if got := s.Error(); got != 0 {
		t.Errorf("%v of times that are all the same", got)
	}
	if got := (*Uncertainty)(nil).Error(); got >= 0 {
		t.Errorf("%v", got)
	}
}

func TestParseRow(t *testing.T) {
	if r := ParseRow("a.b.C.<init>(La/B;)V"); r.Class != "a.b.C" || r.Name != "<init>" || r.Descriptor != "(La/B;)V" {
		t.Errorf("%+v", r)
	}
	if r := ParseRow("odd"); r.Name != "odd" {
		t.Errorf("%+v", r)
	}
}
