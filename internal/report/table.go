package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
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

// names are the methods' names for people, by index: com.acme.Cart.total, with its
// parameters where another method is called the same.
func names(methods []cct.Method) []string {
	often := map[string]int{}
	for _, m := range methods {
		often[m.String()]++
	}
	list := make([]string, len(methods))
	for i, m := range methods {
		list[i] = m.String()
		if often[list[i]] > 1 {
			list[i] += parameters(m.Descriptor)
		}
		list[i] = format.Printable(list[i])
	}
	return list
}

// parameters are a descriptor's, each without its package.
func parameters(text string) string {
	parsed, err := descriptor.ParseMethod(text)
	if err != nil {
		return text
	}
	list := make([]string, 0, parsed.NumParams())
	for _, p := range parsed.Params() {
		human := p.Human()
		list = append(list, human[strings.LastIndexByte(human, '.')+1:])
	}
	return fmt.Sprintf("(%s)", strings.Join(list, ","))
}

// shorten makes a name fit a number of columns: packages are cut to their first
// letter, the outermost first; if that does not do, the beginning goes.
func shorten(name string, room int) string {
	if utf8.RuneCountInString(name) <= room {
		return name
	}
	head, tail := name, ""
	if i := strings.IndexByte(name, '('); i >= 0 {
		head, tail = name[:i], name[i:]
	}
	parts := strings.Split(head, ".")
	for i := 0; i < len(parts)-2 && utf8.RuneCountInString(head+tail) > room; i++ {
		_, size := utf8.DecodeRuneInString(parts[i])
		parts[i] = parts[i][:size]
		head = strings.Join(parts, ".")
	}
	return keepEnd(head+tail, room)
}

// keepEnd cuts the beginning of a text that is too long.
func keepEnd(text string, room int) string {
	const least = 12
	runes := []rune(text)
	room = max(room, least)
	if len(runes) <= room {
		return text
	}
	return "…" + string(runes[len(runes)-room+1:])
}

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
