package main

import (
	"fmt"
	"math"
	"time"
)

// nanosText writes a time with three digits.
func nanosText(nanos float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		// What would be rounded up to the next unit is written in it.
		if math.Abs(nanos) >= unit.size*0.9995 {
			return threeDigits(nanos/unit.size) + " " + unit.name
		}
	}
	return fmt.Sprintf("%.0f ns", nanos)
}

func durationText(d time.Duration) string { return nanosText(float64(d)) }

func threeDigits(n float64) string {
	switch size := math.Abs(n); {
	case size >= 99.95:
		return fmt.Sprintf("%.0f", n)
	case size >= 9.995:
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.2f", n)
}

// leastTime is what a time of one call must have to mean something: below it the
// hooks themselves are most of what is measured.
const leastTime = 50

// callText is the time of one call.
func callText(nanos float64) string {
	if nanos < leastTime {
		return fmt.Sprintf("< %d ns", leastTime)
	}
	return nanosText(nanos)
}

// rateText writes how often something happens a second.
func rateText(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 10:
		return fmt.Sprintf("%.1f", rate)
	}
	return grouped(int(math.Round(rate)))
}
