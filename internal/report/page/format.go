package page

import (
	"math"
	"strconv"
	"time"
)

// The scripts write figures by the same rules (assets/format.js); testdata/figures.json
// holds both to them.

// belowClock is the mean in nanoseconds under which a time cannot be told from what
// the clock itself does to the program.
const belowClock = 50

// space joins a figure and its unit on one line.
const space = "\u00a0"

// nanos writes a time with three digits that count.
func nanos(ns float64) string {
	size := math.Abs(ns)
	switch {
	case math.IsInf(size, 0) || math.IsNaN(size):
		return "∞"
	case size < 0.05:
		return "0" + space + "ns"
	case size < 999.5:
		return digits(ns) + space + "ns"
	case size < 999.5e3:
		return digits(ns/1e3) + space + "µs"
	case size < 999.5e6:
		return digits(ns/1e6) + space + "ms"
	case size < 59.95e9:
		return digits(ns/1e9) + space + "s"
	}
	seconds := math.Round(ns / 1e9)
	if seconds < 3600 {
		minutes := math.Floor(seconds / 60)
		return fixed(minutes, 0) + space + "min" + space + fixed(seconds-60*minutes, 0) + space + "s"
	}
	minutes := math.Round(seconds / 60)
	hours := math.Floor(minutes / 60)
	return fixed(hours, 0) + space + "h" + space + fixed(minutes-60*hours, 0) + space + "min"
}

func duration(d time.Duration) string { return nanos(float64(d)) }

// mean writes a time per call; under belowClock it says no more than that.
func mean(ns float64) string {
	if ns < belowClock {
		return "<" + space + strconv.Itoa(belowClock) + space + "ns"
	}
	return nanos(ns)
}

// digits writes a figure below 1000 with as many decimals as leave three digits.
func digits(x float64) string {
	size := math.Abs(x)
	switch {
	case size < 9.995:
		return fixed(x, 2)
	case size < 99.95:
		return fixed(x, 1)
	}
	return fixed(x, 0)
}

func fixed(x float64, decimals int) string {
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// share writes a part of a whole.
func share(part float64) string {
	percent := 100 * part
	switch {
	case percent <= 0:
		return "0" + space + "%"
	case percent < 0.1:
		return "<" + space + "0.1" + space + "%"
	case percent < 9.95:
		return fixed(percent, 1) + space + "%"
	}
	return fixed(percent, 0) + space + "%"
}
