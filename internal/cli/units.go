package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

// What package figure has, as this package calls it.

func nanosText(nanos float64) string { return format.Nanos(nanos) }

func durationText(d time.Duration) string { return format.Duration(d) }

// callText is the time of one call.
func callText(nanos float64) string { return format.Call(nanos) }

func grouped(n int) string { return format.Grouped(n) }

func count(n int, one, many string) string { return format.Count(n, one, many) }

func printable(text string) string { return format.Printable(text) }

func cut(line string, width int) string { return format.Cut(line, width) }

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
