package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sonde-jvm/sonde/internal/cct"
)

// none stands where a figure is not known.
const none = "–"

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
	return fmt.Sprintf("%.0f ns", math.Abs(nanos)*sign(nanos))
}

func sign(n float64) float64 {
	if n < 0 && n <= -0.5 { // no "-0"
		return -1
	}
	return 1
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
// clock's own reading is most of what is measured.
const leastTime = 50

// callText is the time of one call.
func callText(nanos float64) string {
	if nanos < leastTime {
		return fmt.Sprintf("< %d ns", leastTime)
	}
	return nanosText(nanos)
}

// costText is a cost of a few nanoseconds.
func costText(nanos float64) string {
	if nanos < 99.95 {
		return fmt.Sprintf("%.1f ns", nanos)
	}
	return nanosText(nanos)
}

// shareText writes a part of a whole.
func shareText(part, whole float64) string {
	if whole <= 0 {
		return none
	}
	switch percent := part / whole * 100; {
	case percent == 0:
		return "0 %"
	case percent < 0.1:
		return "< 0.1 %"
	case percent < 9.95:
		return fmt.Sprintf("%.1f %%", percent)
	default:
		return fmt.Sprintf("%.0f %%", percent)
	}
}

// errorText is how far from a time the truth may be, as a part of it: on the side
// where it may be further.
func errorText(t cct.Time) string {
	off := math.Max(t.High-t.Nanos, t.Nanos-t.Low)
	if off == 0 {
		return "0 %"
	}
	switch percent := off / t.Nanos * 100; {
	case math.IsNaN(percent) || percent >= 999.5:
		return "> 999 %"
	case percent < 0.1:
		return "< 0.1 %"
	case percent < 9.95:
		return fmt.Sprintf("%.1f %%", percent)
	default:
		return fmt.Sprintf("%.0f %%", percent)
	}
}

// grouped writes a number with a comma between thousands.
func grouped[N int | uint64](n N) string {
	digits := strconv.FormatUint(uint64(n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted writes a number with its noun.
func counted[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}
