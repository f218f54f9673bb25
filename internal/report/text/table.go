package text

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A printer writes the lines of a report.
type printer struct {
	*bufio.Writer     // keeps the first error until Flush
	width         int // of the terminal; 0 is unlimited
}

func (p *printer) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format+"\n", args...)
}

// say writes a sentence on as many lines as it needs.
func (p *printer) say(sentence string, args ...any) {
	for _, line := range format.Wrap(fmt.Sprintf(sentence, args...), p.width) {
		p.line("%s", line)
	}
}

// heading starts a section of the report.
func (p *printer) heading(text string) { p.line("\n%s\n", text) }

func (p *printer) table(t *table) {
	for _, line := range t.lines() {
		p.line("%s", line)
	}
}

// A table has rows of cells. All columns but the last are aligned.
type table struct {
	columns []format.Column
	rows    [][]string
}

// lines returns the titles and the rows.
func (t *table) lines() []string {
	lines := format.TableLines(t.columns, t.rows, 0)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// narrow drops expendable columns in the order given until the last column has the
// room it needs in a terminal of a width, and returns where the last column begins.
func (t *table) narrow(width, room int, expendable ...string) int {
	t.columns, t.rows = format.FitTableTo(t.columns, t.rows, expendable, width, room)
	return format.SpaceBefore(t.columns, t.rows)
}

// dropIfAll removes a column in which every cell has one of the given texts.
func (t *table) dropIfAll(title string, texts ...string) {
	at := slices.IndexFunc(t.columns, func(c format.Column) bool { return c.Title == title })
	if !slices.ContainsFunc(t.rows, func(row []string) bool { return !slices.Contains(texts, row[at]) }) {
		t.columns, t.rows = format.WithoutColumn(t.columns, t.rows, title)
	}
}

func (t *table) setLast(row int, text string) { t.rows[row][len(t.columns)-1] = text }

// setTree sets the last cell of a row to a name with the branches that lead to it.
func (t *table) setTree(row int, branches, name, marks string, used, width int) {
	branches = fitBranches(branches, max(width-used, 0)/2)
	t.setLast(row, branches+fitted(name, marks, used+utf8.RuneCountInString(branches), width))
}

// fitted returns a name and marks in the rest of a line whose first columns are used. The
// name is shortened before the marks are cut.
func fitted(name, marks string, used, width int) string {
	const leastName = 24
	if width == 0 {
		return name + marks
	}
	room := width - used
	name = shorten(name, max(room-utf8.RuneCountInString(marks), min(room, leastName)))
	return cutEnd(name+marks, room)
}

// leastColumns is the least to which a text is cut.
const leastColumns = 12

// shorten makes a name fit into columns: packages are cut to their first letter, the
// outermost first. If that is not enough, the beginning is cut off.
func shorten(name string, room int) string {
	if utf8.RuneCountInString(name) <= room {
		return name
	}
	head, tail := splitParameters(name)
	parts := strings.Split(head, ".")
	for i := 0; i < len(parts)-2 && utf8.RuneCountInString(head+tail) > room; i++ {
		_, size := utf8.DecodeRuneInString(parts[i])
		parts[i] = parts[i][:size]
		head = strings.Join(parts, ".")
	}
	return cutStart(head+tail, max(room, leastColumns))
}

// brief returns a method's name without its package.
func brief(name string) string {
	head, tail := splitParameters(name)
	parts := strings.Split(head, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".") + tail
}

func splitParameters(name string) (head, parameters string) {
	if i := strings.IndexByte(name, '('); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// cutStart cuts the beginning of a text that is too long.
func cutStart(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return "…" + string(runes[len(runes)-max(0, width-1):])
}

func cutEnd(text string, room int) string { return format.Cut(text, max(room, leastColumns)) }

// none stands for an unknown value.
const none = "–"

// offText stands for the calls of a method whose hook was off: none were counted, which
// does not mean that there were none.
const offText = "off"

// On describes how long a hook was on that was not on for the whole window.
func On(on, window time.Duration) string {
	if on == 0 {
		return offText
	}
	return fmt.Sprintf("on for %s of %s", format.Duration(on), format.Duration(window))
}

// costText returns a cost that may be below a nanosecond.
func costText(nanos float64) string {
	if nanos < 99.95 {
		return fmt.Sprintf("%.1f ns", nanos)
	}
	return format.Nanos(nanos)
}

// shareText returns a part of a whole in percent.
func shareText(part, whole float64) string {
	if whole <= 0 {
		return none
	}
	if part == 0 {
		return "0 %"
	}
	return percentText(part / whole * 100)
}

// errorText returns the larger error of a time in percent of it. Above 100 %, nothing is known
// but the order of magnitude, at best.
func errorText(t cct.Time) string {
	off := t.Uncertainty()
	if off == 0 {
		return "0 %"
	}
	if !(off <= t.Nanos) { // also if one of them is not a number
		return "unknown"
	}
	return percentText(off / t.Nanos * 100)
}

func percentText(percent float64) string {
	switch {
	case percent < 0.1:
		return "< 0.1 %"
	case percent < 9.95:
		return fmt.Sprintf("%.1f %%", percent)
	}
	return fmt.Sprintf("%.0f %%", percent)
}
