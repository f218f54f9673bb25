package format

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Column of a table has a title. Numbers are aligned to the right.
type Column struct {
	Title     string
	Right     bool
	KeepStart bool // of the last column: a text that does not fit is cut at its end
}

// Columns returns columns with titles. A title after ">" is that of a column of numbers.
func Columns(titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		columns[i].Title, columns[i].Right = strings.CutPrefix(title, ">")
	}
	return columns
}

// WriteTable writes a table. The last column is cut at its beginning to fit a terminal,
// because the end of a class name says most, after expendable columns; a width of 0 cuts nothing.
func WriteTable(w io.Writer, columns []Column, rows [][]string, width int, expendable ...string) {
	columns, rows = FitTable(columns, rows, expendable, width)
	for _, line := range TableLines(columns, rows, width) {
		_, _ = fmt.Fprintln(w, line)
	}
}

// TableLines returns the lines that WriteTable writes, the titles first.
func TableLines(columns []Column, rows [][]string, width int) []string {
	last := len(columns) - 1
	widths := columnWidths(columns, rows)
	used := SpaceBefore(columns, rows)
	titles := make([]string, len(columns))
	for i := range titles {
		titles[i] = columns[i].Title
	}
	var lines []string
	for _, row := range append([][]string{titles}, rows...) {
		var line strings.Builder
		for i, n := range widths {
			gap := strings.Repeat(" ", n-utf8.RuneCountInString(row[i]))
			if columns[i].Right {
				line.WriteString(gap + row[i] + "  ")
			} else {
				line.WriteString(row[i] + gap + "  ")
			}
		}
		if columns[last].KeepStart && width > 0 {
			line.WriteString(Cut(row[last], max(width-used, leastName)))
		} else {
			line.WriteString(KeepEnd(row[last], width, used))
		}
		lines = append(lines, line.String())
	}
	return lines
}

// A Row is a row of a table that a terminal scrolls and filters.
type Row struct {
	Text   string `json:"text"`
	Name   string `json:"name,omitempty"`   // of what it is about, if that is not only a method
	Method string `json:"method,omitempty"` // class and name of the method it is about
	Depth  int    `json:"depth,omitempty"`  // number of its ancestors in a tree
	// Category is that of the calls it is about, such as db. Terminals colour it.
	Category string `json:"category,omitempty"`
}

// TableRows returns the lines that WriteTable writes. describe adds to a row what it is about.
func TableRows(columns []Column, cells [][]string, width int, describe func(i int, row *Row)) (titles string, rows []Row) {
	lines := TableLines(columns, cells, width)
	rows = make([]Row, len(lines)-1)
	for i := range rows {
		rows[i].Text = lines[i+1]
		describe(i, &rows[i])
	}
	return lines[0], rows
}

// columnWidths returns the widths of all columns but the last.
func columnWidths(columns []Column, rows [][]string) []int {
	widths := make([]int, len(columns)-1)
	for i := range widths {
		widths[i] = utf8.RuneCountInString(columns[i].Title)
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// SpaceBefore returns the width of the columns before the last.
func SpaceBefore(columns []Column, rows [][]string) (space int) {
	for _, n := range columnWidths(columns, rows) {
		space += n + 2
	}
	return space
}

// leastName is the least width of the last column.
const leastName = 12

// KeepEnd cuts the beginning of a text that does not fit into the rest of a terminal's
// width. It keeps a few characters in any case.
func KeepEnd(text string, width, used int) string {
	runes := []rune(text)
	room := max(width-used, leastName)
	if width == 0 || len(runes) <= room {
		return text
	}
	return "…" + string(runes[len(runes)-room+1:])
}

// FitTable removes columns, in the order of expendable, until the last column has room for
// a name. A width of 0 removes none.
func FitTable(columns []Column, rows [][]string, expendable []string, width int) ([]Column, [][]string) {
	return FitTableTo(columns, rows, expendable, width, 20)
}

// FitTableTo is FitTable for a last column that needs more or less room.
func FitTableTo(columns []Column, rows [][]string, expendable []string, width, room int) ([]Column, [][]string) {
	for _, title := range expendable {
		if width == 0 || SpaceBefore(columns, rows)+room <= width {
			break
		}
		columns, rows = WithoutColumn(columns, rows, title)
	}
	return columns, rows
}

// WithoutColumn removes a column, if the table has it.
func WithoutColumn(columns []Column, rows [][]string, title string) ([]Column, [][]string) {
	at := slices.IndexFunc(columns, func(c Column) bool { return c.Title == title })
	if at < 0 {
		return columns, rows
	}
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = slices.Delete(slices.Clone(row), at, at+1)
	}
	return slices.Delete(slices.Clone(columns), at, at+1), rows
}

// WithoutEmpty removes columns, but not the last, in which no row has a value.
func WithoutEmpty(columns []Column, rows [][]string) ([]Column, [][]string) {
	isEmpty := func(at int) bool {
		return !slices.ContainsFunc(rows, func(row []string) bool { return row[at] != "" && row[at] != "-" })
	}
	kept, cells := []Column(nil), make([][]string, len(rows))
	for at := range columns {
		if at < len(columns)-1 && isEmpty(at) {
			continue
		}
		kept = append(kept, columns[at])
		for i := range rows {
			cells[i] = append(cells[i], rows[i][at])
		}
	}
	return kept, cells
}

// A Group is the elements of a list with the same key.
type Group[K comparable, T any] struct {
	Key  K
	List []T
}

// GroupBy groups a list by key, in the order in which keys first occur.
func GroupBy[K comparable, T any](list []T, key func(T) K) (groups []Group[K, T]) {
	at := map[K]int{}
	for _, one := range list {
		k := key(one)
		i, known := at[k]
		if !known {
			i, at[k] = len(groups), len(groups)
			groups = append(groups, Group[K, T]{Key: k})
		}
		groups[i].List = append(groups[i].List, one)
	}
	return groups
}
