package cct

import (
	"math"
	"math/rand/v2"
	"testing"
)

// programs give the time of a program's i-th call.
var programs = []struct {
	name string
	time func(r *rand.Rand, i int) float64
}{
	{"constant", func(*rand.Rand, int) float64 { return 1000 }},
	{"uniform", func(r *rand.Rand, _ int) float64 { return 2000 * r.Float64() }},
	{"a tenth ten times slower", func(r *rand.Rand, _ int) float64 {
		if r.IntN(10) == 0 {
			return 10000
		}
		return 1000 + 50*r.NormFloat64()
	}},
	{"exponential", func(r *rand.Rand, _ int) float64 { return 1000 * r.ExpFloat64() }},
	{"lognormal", func(r *rand.Rand, _ int) float64 { return 1000 * math.Exp(0.5*r.NormFloat64()) }},
	{"lognormal, long tail", func(r *rand.Rand, _ int) float64 { return 1000 * math.Exp(r.NormFloat64()) }},
	{"every eighth ten times slower", func(_ *rand.Rand, i int) float64 {
		if i%8 == 0 {
			return 10000
		}
		return 1000
	}},
	{"saw of period 64", func(_ *rand.Rand, i int) float64 { return float64(100 + 50*(i%64)) }},
	{"slow in runs", func(_ *rand.Rand, i int) float64 {
		if i/32%8 == 0 {
			return 10000
		}
		return 1000
	}},
}

// TestIntervalsHold draws calls as hooks do, with random skips between 1 and
// 2k - 1, and counts how often the truth lies within the interval.
func TestIntervalsHold(t *testing.T) {
	const period, runs, wanted = 64, 500, 0.95
	for _, p := range programs {
		for _, draws := range []int{2, 5, 10, 30, 60, 100, 200} {
			random := rand.New(rand.NewPCG(1, uint64(draws)))
			held := 0
			for range runs {
				s, truth := drawCalls(random, p.time, draws*period, period)
				below, above := s.interval()
				estimate := s.mean * s.calls
				if truth >= estimate-below && truth <= estimate+above {
					held++
				}
			}
			if float64(held) < wanted*runs {
				t.Errorf("%s, about %d calls drawn: the interval held in %d of %d runs", p.name, draws, held, runs)
			}
		}
	}
}

// drawCalls runs a program and samples it.
func drawCalls(r *rand.Rand, time func(*rand.Rand, int) float64, calls, period int) (s sample, truth float64) {
	skip := 1 + r.IntN(2*period-1)
	sum, squares := 0.0, 0.0
	for i := range calls {
		took := time(r, i)
		truth += took
		if skip--; skip == 0 {
			skip = 1 + r.IntN(2*period-1)
			s.drawn++
			sum += took
			squares += took * took
		}
	}
	s.calls = float64(calls)
	if s.drawn > 0 {
		s.mean = sum / s.drawn
	}
	if s.drawn > 1 {
		s.variance = math.Max(0, (squares-s.drawn*sq(s.mean))/(s.drawn-1))
	}
	return s, truth
}
