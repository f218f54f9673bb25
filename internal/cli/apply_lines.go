package cli

import (
	"fmt"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var (
	applyColumns = []column{
		{"CALLS", true}, {"CALLS/S", true}, {"MEAN", true}, {"P99", true}, {"THREW", true}, {"UNDECIDED", true}, {"LEVEL", false}, {"PROBE", false}, {"WHERE", false},
	}
	// applyExpendable are the columns a narrow terminal goes without, the first to go
	// first.
	applyExpendable = []string{"LEVEL", "THREW", "MEAN", "CALLS", "UNDECIDED"}
)

// runningTexts are the cells of rows.
func runningTexts(rows []handover.Running) [][]string {
	texts := make([][]string, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		mean, p99, level := "-", "-", row.Level
		if row.Timed > 0 {
			mean = callText(row.MeanNanos)
		}
		if row.P99Nanos > 0 {
			p99 = callText(row.P99Nanos)
		}
		if row.Ended != "" {
			level = "ended"
		}
		where := "everywhere"
		switch {
		case row.Within != "" && row.Label != "":
			where = row.Within + "  " + row.Label
		case row.Within != "" || row.Label != "":
			where = row.Within + row.Label
		}
		calls := callsText(row.Calls, row.LowerBound)
		if row.Level == levelOff && row.Calls == 0 {
			calls = levelOff
		}
		texts = append(texts, []string{
			calls, format.AtLeast(row.LowerBound, rateText(row.PerSecond)), mean, p99, grouped(int(row.Threw)), grouped(int(row.Undecided)),
			orDash(level), row.Name, printable(where),
		})
	}
	return texts
}

// liveLines are what fits a terminal.
func (l *applyLook) liveLines(width, height int) []string {
	lines := append([]string{l.headline()}, l.remarks()...)
	lines = append(lines, "")
	const around = 3 // titles, what is left out, the line of the cursor
	room := max(1, height-len(lines)-around)
	shown := l.rows[:min(room, len(l.rows))]
	columns, texts := fit(applyColumns, runningTexts(shown), applyExpendable, width)
	lines = append(lines, tableLines(columns, texts, width)...)
	if hidden := len(l.rows) - len(shown); hidden > 0 {
		lines = append(lines, fmt.Sprintf("and %s", count(hidden, "row more", "rows more")))
	}
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return lines[:max(0, min(len(lines), height-1))]
}
