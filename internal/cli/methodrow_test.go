package cli

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestSpreadHoldsTheMean samples a program whose times are far from even, many
// times over: the interval holds the truth about as often as it says, also with
// the least that it is told for.
func TestSpreadHoldsTheMean(t *testing.T) {
	const truth, times = 0.9*100 + 0.1*1000, 2000
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []struct{ batches, calls int }{{leastBatches, 1}, {leastBatches, 30}, {100, 5}} {
		held := 0
		for range times {
			s, totals := &spread{}, arena.Totals{}
			for range size.batches {
				for range size.calls {
					totals.Timed++
					totals.Nanos += 100
					if random.IntN(10) == 0 {
						totals.Nanos += 900
					}
				}
				s.add(&totals)
			}
			mean := float64(totals.Nanos) / float64(totals.Timed)
			if math.Abs(mean-truth) <= s.error()*mean {
				held++
			}
		}
		if share := float64(held) / times; share < 0.92 || share > 0.98 {
			t.Errorf("%d batches of %d calls: held in %.1f %% of cases", size.batches, size.calls, 100*share)
		}
	}
}

func TestSpreadOfTooLittle(t *testing.T) {
	s, totals := &spread{}, arena.Totals{}
	for range leastBatches - 1 {
		totals.Timed, totals.Nanos = totals.Timed+1, totals.Nanos+10
		s.add(&totals)
	}
	s.add(&totals) // nothing new is no batch
	if got := s.error(); got >= 0 {
		t.Errorf("%v", got)
	}
	totals.Timed, totals.Nanos = totals.Timed+1, totals.Nanos+10
	s.add(&totals)
	if got := s.error(); got != 0 {
		t.Errorf("%v of times that are all the same", got)
	}
	if got := (*spread)(nil).error(); got >= 0 {
		t.Errorf("%v", got)
	}
}
