package arena

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// TestBucketsAdjoin walks all of them: each begins where the one before ends, and
// holds its own bounds.
func TestBucketsAdjoin(t *testing.T) {
	next := uint64(0)
	for bucket := range layoutSpreadBuckets {
		least, greatest := bucketRange(bucket)
		if least != next || greatest < least || bucketOf(least) != bucket || bucketOf(greatest) != bucket {
			t.Fatalf("bucket %d is of %d to %d, and %d comes next", bucket, least, greatest, next)
		}
		if width := greatest - least + 1; width > 1 && 8*width > least {
			t.Errorf("bucket %d, of %d to %d, is too wide", bucket, least, greatest)
		}
		next = greatest + 1
	}
	if next != 1<<40 {
		t.Errorf("the last ends before %d", next)
	}
	for _, nanos := range []uint64{1 << 40, 1 << 50, math.MaxInt64} {
		if got := bucketOf(nanos); got != layoutSpreadBuckets-1 {
			t.Errorf("%d ns is counted in bucket %d", nanos, got)
		}
	}
}

// hookBucket is how SondeHooksSpread finds a bucket.
func hookBucket(nanos uint64) int {
	octave := 0
	for nanos >= 256 {
		nanos >>= 4
		octave += 4
	}
	for nanos >= 16 {
		nanos >>= 1
		octave++
	}
	return min(8*octave+int(nanos), layoutSpreadBuckets-1)
}

func TestQuantilesAreThoseOfTheTimes(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, count := range []int{1, 2, 3, 10, 1000, 20_000} {
		var parts [3]Spread
		var times []uint64
		for range count {
			nanos := uint64(math.Exp(random.Float64() * 27)) // up to nine minutes
			if bucketOf(nanos) != hookBucket(nanos) {
				t.Fatalf("%d ns is counted in bucket %d, and in %d by hooks", nanos, bucketOf(nanos), hookBucket(nanos))
			}
			parts[random.Intn(3)].Record(nanos)
			times = append(times, nanos)
		}
		slices.Sort(times)
		var all Spread
		for i := range parts {
			all.Add(&parts[i])
		}
		all.Add(nil)
		if all.Count() != uint64(count) {
			t.Errorf("%d of %d calls", all.Count(), count)
		}
		for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
			want := float64(times[max(int(math.Ceil(q*float64(count))), 1)-1])
			if got := all.Quantile(q); math.Abs(got-want) > want/16 {
				t.Errorf("%v of %d: %v, not %v", q, count, got, want)
			}
		}
	}
	if got := new(Spread).Quantile(0.5); got != 0 {
		t.Errorf("nothing has the median %v", got)
	}
}

func TestWhatWasCountedSince(t *testing.T) {
	var before, after Spread
	const wrapping = 100
	before.counts[wrapping] = 1<<32 - 2 // and three more, of a node that counts modulo 2^32
	after.counts[wrapping] = 1
	after.Record(5)
	since := after.Since(&before)
	if since.Count() != 4 || since.counts[wrapping] != 3 || since.Quantile(0) != 5 {
		t.Errorf("%d calls, %d of them in the bucket", since.Count(), since.counts[wrapping])
	}
	if got := after.Since(nil).Count(); got != after.Count() {
		t.Errorf("%d calls since ever, of %d", got, after.Count())
	}
}

func TestWhatTookLess(t *testing.T) {
	var s Spread
	for _, nanos := range []uint64{0, 1, 1023, 1024, 1025, 1 << 39, 1 << 41} {
		s.Record(nanos)
	}
	for limit, want := range map[uint64]uint64{0: 0, 1: 1, 2: 2, 1 << 10: 3, 1 << 11: 5, 1 << 39: 5} {
		if got := s.Below(limit); got != want {
			t.Errorf("%d calls took less than %d ns, not %d", got, limit, want)
		}
	}
}
