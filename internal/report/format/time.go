package format

import (
	"math"
	"strconv"
	"time"
)

// Nanos writes a time, given in nanoseconds, with three digits that count.
func Nanos(nanos float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		// What would be rounded up to the next unit is written in it.
		if math.Abs(nanos) >= unit.size*0.9995 {
			return ThreeDigits(nanos/unit.size) + " " + unit.name
		}
	}
	if math.Abs(nanos) <= 0.5 {
		nanos = 0 // not -0
	}
	return fixed(nanos, 0) + " ns"
}

// Duration writes a time with three digits that count.
func Duration(d time.Duration) string { return Nanos(float64(d)) }

// LeastCall is how many nanoseconds the time of one call must have to mean something:
// below it the hooks and the clock are most of what is measured.
const LeastCall = 50

// Call writes the time of one call, given in nanoseconds.
func Call(nanos float64) string {
	if nanos < LeastCall {
		return "< " + strconv.Itoa(LeastCall) + " ns"
	}
	return Nanos(nanos)
}

// ThreeDigits writes a number below 1000 with as many decimals as leave three digits.
func ThreeDigits(n float64) string {
	switch size := math.Abs(n); {
	case size >= 99.95:
		return fixed(n, 0)
	case size >= 9.995:
		return fixed(n, 1)
	}
	return fixed(n, 2)
}

func fixed(n float64, decimals int) string { return strconv.FormatFloat(n, 'f', decimals, 64) }
