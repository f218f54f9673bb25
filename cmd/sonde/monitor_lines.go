package main

import (
	"bufio"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/monitor"
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
func (r *monitorRun) texts(i *monitor.Interval, rows []monitor.Row, names map[monitor.Key]string) [][]string {
	about, atLeast := "", ""
	if r.sample > 1 {
		about, atLeast = "~", "≥"
	}
	cells := func(row *monitor.Row, name string) []string {
		texts := []string{grouped(int(row.Calls)), rateText(row.Rate), grouped(int(row.Errors))}
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

func (r *monitorRun) draw() {
	if r.table == nil {
		return
	}
	width, height := r.screen.size()
	r.screen.draw(r.liveLines(r.table, width, height))
}

// liveLines are what fits a terminal.
func (r *monitorRun) liveLines(table *monitorTable, width, height int) []string {
	lines := []string{r.headline(table), r.costText(table), r.view.keyLine(), ""}
	names := keyNames(table.Rows)
	rows := r.view.rows(table.Interval, names)
	stalls := r.stallLines(table.Interval, func(monitor.Stall) bool { return true })
	const around = 4 // titles, total, what is left out, the line of the cursor
	room := max(1, height-len(lines)-len(stalls)-around)
	if r.top > 0 {
		room = min(room, r.top)
	}
	shown := rows[:min(room, len(rows))]
	columns, texts := fit(monitorColumns, r.texts(table.Interval, shown, names), monitorExpendable, width)
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
func (r *monitorRun) stallLines(i *monitor.Interval, isTold func(monitor.Stall) bool) []string {
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
			m, _ := r.method(call.ID)
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
func (r *monitorRun) writeLines(table *monitorTable) error {
	names := keyNames(table.Rows)
	rows := r.view.rows(table.Interval, names)
	if r.top > 0 {
		rows = rows[:min(len(rows), r.top)]
	}
	columns := append([]column{{"TIME", false}}, monitorColumns...)
	texts := r.texts(table.Interval, rows, names)
	for n, cells := range texts {
		for at, cell := range cells[:len(cells)-1] {
			cells[at] = strings.Repeat(" ", max(0, lineWidth-utf8.RuneCountInString(cell))) + cell
		}
		texts[n] = append([]string{table.at.Format(time.TimeOnly)}, cells...)
	}
	lines := tableLines(columns, texts, 0)
	if r.titled {
		lines = lines[1:]
	}
	r.titled = true
	lines = append(lines, r.stallLines(table.Interval, func(s monitor.Stall) bool { return s.IsNew })...)
	out := bufio.NewWriter(r.out) // keeps the first error until Flush
	for _, line := range lines {
		_, _ = fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// headline is what the table is about.
func (r *monitorRun) headline(table *monitorTable) string {
	times := "every call timed"
	if r.sample > 1 {
		times = fmt.Sprintf("one call in %d timed", r.sample)
	}
	text := fmt.Sprintf("process %d", r.pid)
	if r.main != "" {
		text += " (" + printable(r.main) + ")"
	}
	text += fmt.Sprintf(", %s: ", durationText(table.elapsed))
	if !table.final {
		text += fmt.Sprintf("in the last %s ", durationText(table.Length))
	}
	return text + fmt.Sprintf("%s, %s/s, %s, %s", count(int(table.Total.Calls), "call", "calls"), rateText(table.Total.Rate),
		count(table.Threads, "thread", "threads"), times)
}

// costText is what the hooks take of the JVM.
func (r *monitorRun) costText(table *monitorTable) string {
	text := fmt.Sprintf("times are without the clock's own %s", nanosText(r.options.Clock))
	cost := r.cost.get()
	if cost == nil {
		return "what hooks cost is not known; " + text
	}
	share := cost.Median * table.Total.Rate / 1e9
	return fmt.Sprintf("hooks cost about %s a call, %s of one processor; %s", nanosText(cost.Median), percentText(share), text)
}
