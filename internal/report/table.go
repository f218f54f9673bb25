package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A column of a table has a title, and figures to the right.
type column struct {
	title string
	right bool
}

// tableLines aligns all columns but the last, which stands as it is. Titles come
// first.
func tableLines(columns []column, rows [][]string) []string {
	titles := make([]string, len(columns))
	for i := range columns {
		titles[i] = columns[i].title
	}
	widths := columnWidths(columns, rows)
	lines := make([]string, 0, len(rows)+1)
	for _, row := range slices.Concat([][]string{titles}, rows) {
		var line strings.Builder
		for i, width := range widths {
			gap := strings.Repeat(" ", width-utf8.RuneCountInString(row[i]))
			if columns[i].right {
				line.WriteString(gap + row[i] + "  ")
			} else {
				line.WriteString(row[i] + gap + "  ")
			}
		}
		lines = append(lines, strings.TrimRight(line.String()+row[len(widths)], " "))
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

// narrow leaves out columns, those named first before others, until what is before
// the last column leaves room for it in a width; 0 is any.
func narrow(columns []column, rows [][]string, width, room int, expendable ...string) ([]column, [][]string, int) {
	for width > 0 && spaceBefore(columns, rows)+room > width && len(expendable) > 0 {
		columns, rows = without(columns, rows, expendable[0])
		expendable = expendable[1:]
	}
	return columns, rows, spaceBefore(columns, rows)
}

// without leaves a column out, if it is there.
func without(columns []column, rows [][]string, title string) ([]column, [][]string) {
	at := slices.IndexFunc(columns, func(c column) bool { return c.title == title })
	if at < 0 {
		return columns, rows
	}
	fewer := make([][]string, len(rows))
	for i, row := range rows {
		fewer[i] = slices.Delete(slices.Clone(row), at, at+1)
	}
	return slices.Delete(slices.Clone(columns), at, at+1), fewer
}

// withoutZeros leaves a column out that has nothing to say.
func withoutZeros(columns []column, rows [][]string, title string) ([]column, [][]string) {
	at := slices.IndexFunc(columns, func(c column) bool { return c.title == title })
	if slices.ContainsFunc(rows, func(row []string) bool { return row[at] != "0" }) {
		return columns, rows
	}
	return without(columns, rows, title)
}

// spaceBefore is what the columns before the last take.
func spaceBefore(columns []column, rows [][]string) (space int) {
	for _, n := range columnWidths(columns, rows) {
		space += n + 2
	}
	return space
}
