package html

import (
	"math"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// Scripts format numbers by the same rules (assets/format.js). testdata/figures.json tests
// both.

// space keeps a number and its unit on one line.
const space = "\u00a0"

// nanos returns a time with three significant digits.
func nanos(ns float64) string {
	size := math.Abs(ns)
	switch {
	case math.IsInf(size, 0) || math.IsNaN(size):
		return "∞"
	case size < 0.05:
		return "0" + space + "ns"
	case size < 999.5:
		return format.ThreeDigits(ns) + space + "ns"
	case size < 999.5e3:
		return format.ThreeDigits(ns/1e3) + space + "µs"
	case size < 999.5e6:
		return format.ThreeDigits(ns/1e6) + space + "ms"
	case size < 59.95e9:
		return format.ThreeDigits(ns/1e9) + space + "s"
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

// signed returns a change of a time.
func signed(ns float64) string {
	if ns > 0 {
		return "+" + nanos(ns)
	}
	return nanos(ns)
}

func duration(d time.Duration) string { return nanos(float64(d)) }

// mean returns a time per call, or "< 50 ns".
func mean(ns float64) string {
	if ns < format.LeastCall {
		return "<" + space + strconv.Itoa(format.LeastCall) + space + "ns"
	}
	return nanos(ns)
}

// within returns the error of a time. Above 100 %, the time is unknown.
func within(t cct.Time) string {
	if off := t.Uncertainty(); off <= t.Nanos {
		return "±" + space + nanos(off)
	}
	return "±" + space + "unknown"
}

func fixed(x float64, decimals int) string {
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// share returns a part of a whole in percent.
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
