package cli

import (
	"bufio"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var (
	monitorColumns = []column{
		{"CALLS", true}, {"CALLS/S", true}, {"ERRORS", true}, {"MEAN", true}, {"P50", true}, {"P90", true}, {"P99", true}, {"MAX", true},
		{"RUNNING", true}, {"STALLED", true}, {"METHOD", false},
	}
	// monitorExpendable are the columns a narrow terminal goes without, the first to
	// go first.
	monitorExpendable = []string{"P90", "MEAN", "MAX", "CALLS", "P50", "RUNNING", "ERRORS"}
)

const (
	// shownStalls is how many stalls a terminal tells.
	shownStalls = 5
	// lineWidth is what a cell of a plain line has at least, so that most lines are
	// below each other.
	lineWidth = 8
)

// texts are the cells of rows, with the total behind where there are several.
func (b *board) texts(i *monitor.Interval, rows []monitor.Row, names map[monitor.Key]string) [][]string {
	about, atLeast := "", ""
	if b.sample > 1 {
		about, atLeast = "~", "≥"
	}
	cells := func(row *monitor.Row, name string) []string {
		texts := []string{callsText(row.Calls, row.LowerBound), format.AtLeast(row.LowerBound, rateText(row.Rate)), grouped(int(row.Errors))}
		for _, time := range []struct {
			nanos float64
			of    uint64
		}{{row.Mean, row.Timed}, {row.P50, row.Placed}, {row.P90, row.Placed}, {row.P99, row.Placed}, {row.Max, row.Timed}} {
			text := "-"
			if time.of > 0 {
				text = about + callText(time.nanos)
			}
			texts = append(texts, text)
		}
		return append(texts, atLeast+grouped(row.Running), atLeast+grouped(row.Stalled), printable(name))
	}
	texts := make([][]string, 0, len(rows)+1)
	for n := range rows {
		texts = append(texts, cells(&rows[n], names[rows[n].Key]))
	}
	if len(i.Rows) != 1 {
		texts = append(texts, cells(&i.Total, "total"))
	}
	return texts
}

func (b *board) draw() {
	if b.table == nil {
		return
	}
	width, height := b.screen.size()
	b.screen.draw(b.liveLines(b.table, width, height))
}

// liveLines are what fits a terminal.
func (b *board) liveLines(table *monitorTable, width, height int) []string {
	lines := []string{b.headline(table), b.costs(table), b.view.keyLine(), ""}
	names := keyNames(table.Rows)
	rows := b.view.rows(table.Interval, names)
	stalls := b.stallLines(table.Interval, func(monitor.Stall) bool { return true })
	const around = 4 // titles, total, what is left out, the line of the cursor
	room := max(1, height-len(lines)-len(stalls)-around)
	if b.top > 0 {
		room = min(room, b.top)
	}
	shown := rows[:min(room, len(rows))]
	columns, texts := fit(monitorColumns, b.texts(table.Interval, shown, names), monitorExpendable, width)
	lines = append(lines, tableLines(columns, texts, width)...)
	if hidden := len(rows) - len(shown); hidden > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", grouped(hidden)))
	}
	lines = append(lines, stalls...)
	for n := range lines {
		lines[n] = cut(lines[n], width)
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// stallLines tell of stalls where a thread is and for how long.
func (b *board) stallLines(i *monitor.Interval, isTold func(monitor.Stall) bool) []string {
	var lines []string
	for _, stall := range i.Stalls {
		if !isTold(stall) || len(lines) == shownStalls {
			continue
		}
		var calls []string
		for n, call := range stall.Calls {
			if n == monitor.EndCalls && stall.Omitted > 0 {
				calls = append(calls, fmt.Sprintf("… %s more", grouped(stall.Omitted)))
			}
			m, _ := b.method(call.ID)
			calls = append(calls, fmt.Sprintf("%s.%s %s", strings.ReplaceAll(m.Class, "/", "."), m.Name, durationText(call.Age)))
		}
		kind := "thread"
		if stall.Virtual {
			kind = "virtual thread"
		}
		lines = append(lines, printable(fmt.Sprintf("stalled: %s %d in %s", kind, stall.Thread, strings.Join(calls, " > "))))
	}
	return lines
}

// writeLines writes a line for each row that has something to tell, and what has
// stalled since the last.
func (b *board) writeLines(table *monitorTable) error {
	names := keyNames(table.Rows)
	rows := b.view.rows(table.Interval, names)
	if b.top > 0 {
		rows = rows[:min(len(rows), b.top)]
	}
	columns := append([]column{{"TIME", false}}, monitorColumns...)
	texts := b.texts(table.Interval, rows, names)
	for n, cells := range texts {
		for at, cell := range cells[:len(cells)-1] {
			cells[at] = strings.Repeat(" ", max(0, lineWidth-utf8.RuneCountInString(cell))) + cell
		}
		texts[n] = append([]string{table.at.Format(time.TimeOnly)}, cells...)
	}
	lines := tableLines(columns, texts, 0)
	if b.titled {
		lines = lines[1:]
	}
	b.titled = true
	lines = append(lines, b.stallLines(table.Interval, func(s monitor.Stall) bool { return s.IsNew })...)
	out := bufio.NewWriter(b.out) // keeps the first error until Flush
	for _, line := range lines {
		_, _ = fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// headline is what the table is about.
func (b *board) headline(table *monitorTable) string {
	text := fmt.Sprintf("process %d", b.pid)
	if b.main != "" {
		text += " (" + printable(b.main) + ")"
	}
	text += fmt.Sprintf(", %s: ", durationText(table.elapsed))
	if !table.final {
		text += fmt.Sprintf("in the last %s ", durationText(table.Length))
	}
	calls := format.AtLeast(table.Total.LowerBound, count(int(table.Total.Calls), "call", "calls"))
	return text + fmt.Sprintf("%s, %s/s, %s, %s", calls, rateText(table.Total.Rate),
		count(table.Threads, "thread", "threads"), b.times)
}
