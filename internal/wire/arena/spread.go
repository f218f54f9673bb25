package arena

import (
	"math"
	"math/bits"
)

// A Spread is how often calls took how long, by buckets that are an eighth of
// their times wide, or one nanosecond. The zero value has counted nothing.
//
// A node counts modulo 2^32. What is beyond that is lost in a Spread that was
// read, but not in the difference of two that were read soon after each other.
type Spread struct {
	counts [layoutSpreadBuckets]uint64
}

// bucketOf is the bucket that counts a time, in nanoseconds.
func bucketOf(nanos uint64) int {
	octave := max(bits.Len64(nanos)-4, 0)
	return min(8*octave+int(nanos>>octave), layoutSpreadBuckets-1)
}

// bucketRange is the least and the greatest time that a bucket counts; the last
// also counts whatever is longer.
func bucketRange(bucket int) (least, greatest uint64) {
	octave := max(bucket/8-1, 0)
	least = uint64(bucket-8*octave) << octave
	return least, least + 1<<octave - 1
}

// Record counts a time, in nanoseconds.
func (s *Spread) Record(nanos uint64) { s.counts[bucketOf(nanos)]++ }

// Add counts what another has counted as well; nil has counted nothing.
func (s *Spread) Add(other *Spread) {
	if other == nil {
		return
	}
	for i, count := range other.counts {
		s.counts[i] += count
	}
}

// Since is what was counted after an earlier reading of the same nodes; nil is one
// before all. Nodes that have come since are in it.
func (s *Spread) Since(earlier *Spread) *Spread {
	since := &Spread{}
	for i, count := range s.counts {
		if earlier != nil {
			count = uint64(uint32(count - earlier.counts[i]))
		}
		since.counts[i] = count
	}
	return since
}

// Count is how many calls were counted.
func (s *Spread) Count() (count uint64) {
	for _, n := range s.counts {
		count += n
	}
	return count
}

// Below is how many calls took less than a time, in nanoseconds, that is a power of
// two: buckets begin there. Of other times the bucket they lie in is left out.
func (s *Spread) Below(nanos uint64) (count uint64) {
	for _, n := range s.counts[:bucketOf(nanos)] {
		count += n
	}
	return count
}

// Quantile is a time, in nanoseconds, that a share q of the calls did not exceed:
// that of the call in place q·Count, rounded up, of all in order. It is the middle
// of a bucket, so up to a sixteenth off. It is 0 where nothing was counted.
func (s *Spread) Quantile(q float64) float64 {
	count := s.Count()
	place := min(uint64(max(math.Ceil(q*float64(count)), 1)), count)
	for i, n := range s.counts {
		if n > 0 && n >= place {
			least, greatest := bucketRange(i)
			return float64(least+greatest) / 2
		}
		place -= n
	}
	return 0
}

// spread reads the distribution that a node refers to.
func (w *walk) spread(ref uint32) *Spread {
	if ref == 0 {
		return nil
	}
	counts := w.meet(ref, spreadSize) + spreadCounts
	s := &Spread{}
	for i := range s.counts {
		s.counts[i] = uint64(w.u32(counts + 4*uint64(i)))
	}
	return s
}
