package format

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// OneLine writes an error on one line, without characters that could control a terminal:
// files and programs of other users may be quoted in it.
func OneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return Printable(strings.ReplaceAll(strings.Join(lines, "; "), "\t", " "))
}

// OrDash writes "-" for an empty text.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Rate writes how often something happens a second.
func Rate(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 10:
		return fmt.Sprintf("%.1f", rate)
	}
	return Grouped(int(math.Round(rate)))
}

// Percent writes a part of 1 as a percentage, precise for small parts.
func Percent(part float64) string {
	percent := part * 100
	switch {
	case percent == 0:
		return "0 %"
	case percent < 0.01:
		return "< 0.01 %"
	case percent < 10:
		return fmt.Sprintf("%.2f %%", percent)
	}
	return fmt.Sprintf("%.0f %%", percent)
}

// ShortDuration writes the two largest units of a duration.
func ShortDuration(d time.Duration) string {
	seconds := int64(max(0, d) / time.Second)
	minutes, hours, days := seconds/60, seconds/3600, seconds/86400
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%02dh", days, hours%24)
	case hours > 0:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	case minutes > 0:
		return fmt.Sprintf("%dm%02ds", minutes, seconds%60)
	}
	return fmt.Sprintf("%ds", seconds)
}

// Size writes a number of bytes, with at least three digits if there are as many.
func Size(size int64) string {
	const mega, giga = 1 << 20, 1 << 30
	switch {
	case size == 0:
		return "-"
	case size < mega:
		return fmt.Sprintf("%dK", max(1, size>>10))
	case size < giga:
		return fmt.Sprintf("%dM", size/mega)
	case size < 100*giga:
		return fmt.Sprintf("%.1fG", float64(size)/giga)
	}
	return fmt.Sprintf("%dG", size/giga)
}
