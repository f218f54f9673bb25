package report

import (
	"fmt"
	"math"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// none stands where a figure is not known.
const none = "–"

// costText is a cost of a few nanoseconds.
func costText(nanos float64) string {
	if nanos < 99.95 {
		return fmt.Sprintf("%.1f ns", nanos)
	}
	return format.Nanos(nanos)
}

// onText says how long of the window a hook was on that was not on throughout.
func onText(on, window time.Duration) string {
	if on == 0 {
		return offText
	}
	return fmt.Sprintf("on for %s of %s", format.Duration(on), format.Duration(window))
}

// offText stands in place of the calls of a method whose hook was off: none were counted,
// which does not mean that there were none.
const offText = "off"

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
