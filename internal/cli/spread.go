package cli

import (
	"math"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A spread tells how far chance may have led a sampled mean astray. What was
// measured between two looks is a batch: how batches differ among each other
// says it, also where slow calls come together. What timing itself adds to the
// calls that are timed is in all batches alike, and is not told by it.
//
//	m = ΣN / ΣT      nanoseconds and timed calls of all batches
//	variance of m ≈ B / (B-1) · Σ (N - m·T)² / (ΣT)²
type spread struct {
	nanos, timed float64 // at the last look
	batches      float64
	nn, nt, tt   float64 // ΣN², ΣN·T, ΣT²
	sumN, sumT   float64
}

// add takes a method's totals at a look.
func (s *spread) add(totals *arena.Totals) {
	n, t := float64(totals.Nanos)-s.nanos, float64(totals.Timed)-s.timed
	s.nanos, s.timed = float64(totals.Nanos), float64(totals.Timed)
	if t == 0 && n == 0 {
		return
	}
	s.batches++
	s.sumN, s.sumT = s.sumN+n, s.sumT+t
	s.nn, s.nt, s.tt = s.nn+n*n, s.nt+n*t, s.tt+t*t
}

// leastBatches is from how many on the interval holds as often as it says: with
// eight of one call each it held in 56 of 100 cases, with fifteen in 78.
const leastBatches = 30

// error is the half of the interval that chance does not leave in nineteen of
// twenty cases, as a share of the mean; negative where too little is known.
func (s *spread) error() float64 {
	if s == nil || s.batches < leastBatches || s.sumN <= 0 || s.sumT <= 0 {
		return -1
	}
	mean := s.sumN / s.sumT
	squares := max(0, s.nn-2*mean*s.nt+mean*mean*s.tt)
	deviation := math.Sqrt(s.batches/(s.batches-1)*squares) / s.sumT
	return 2 * deviation / mean
}
