package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A column of a table has a title, and numbers to the right.
type column struct {
	title string
	right bool
}

// writeTable aligns columns; the last is cut at its beginning to fit a terminal
// of a width, as a class's own name comes at its end.
func writeTable(w io.Writer, columns []column, rows [][]string, width int) {
	for _, line := range tableLines(columns, rows, width) {
		_, _ = fmt.Fprintln(w, line)
	}
}

func tableLines(columns []column, rows [][]string, width int) []string {
	last := len(columns) - 1
	widths := columnWidths(columns, rows)
	used := spaceBefore(columns, rows)
	titles := make([]string, len(columns))
	for i := range titles {
		titles[i] = columns[i].title
	}
	var lines []string
	for _, row := range append([][]string{titles}, rows...) {
		var line strings.Builder
		for i, n := range widths {
			gap := strings.Repeat(" ", n-utf8.RuneCountInString(row[i]))
			if columns[i].right {
				line.WriteString(gap + row[i] + "  ")
			} else {
				line.WriteString(row[i] + gap + "  ")
			}
		}
		line.WriteString(keepEnd(row[last], width, used))
		lines = append(lines, line.String())
	}
	return lines
}

// columnWidths are those of all columns but the last.
func columnWidths(columns []column, rows [][]string) []int {
	widths := make([]int, len(columns)-1)
	for i := range widths {
		widths[i] = utf8.RuneCountInString(columns[i].title)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// spaceBefore is what the columns before the last take.
func spaceBefore(columns []column, rows [][]string) (space int) {
	for _, n := range columnWidths(columns, rows) {
		space += n + 2
	}
	return space
}

// keepEnd cuts the beginning of a text that does not fit behind what is used of
// a terminal's width, unless too little would stay to be of use.
func keepEnd(text string, width, used int) string {
	const least = 12
	runes := []rune(text)
	room := max(width-used, least)
	if width == 0 || len(runes) <= room {
		return text
	}
	return "…" + string(runes[len(runes)-room+1:])
}

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
