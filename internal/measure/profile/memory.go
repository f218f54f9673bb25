package profile

import (
	"math/rand/v2"
	"runtime"
	"time"
)

const (
	lineWords = 16      // of a cache line, in 32-bit words
	lines     = 1 << 20 // 64 MiB, more than caches hold
	hops      = 4000
	tries     = 9
)

// memoryLatency is about how many nanoseconds a load from memory takes here that no
// cache has and nothing overlaps. Calls that wait for memory one after the other,
// because the clock is read in between, may take that much less where it is not.
func memoryLatency() float64 {
	next := make([]uint32, lines*lineWords)
	order := rand.Perm(lines)
	for i, line := range order {
		next[line*lineWords] = uint32(order[(i+1)%lines] * lineWords)
	}
	// From the lines that were written first, and so are longest out of all caches.
	at := uint32(order[0] * lineWords)
	var times []float64
	for range tries {
		began := time.Now()
		for range hops {
			at = next[at]
		}
		times = append(times, float64(time.Since(began))/hops)
	}
	runtime.KeepAlive(at) // the walk is not done for nothing
	return span(times).Median
}
