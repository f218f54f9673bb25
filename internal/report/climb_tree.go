package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var climbColumns = []column{
	{"SHARE", true}, {"95 %", true}, {"BY", false}, {"CALLS", true}, {"MEAN", true}, {"P50", true}, {"P90", true}, {"P99", true}, {"MAX", true},
	{"METHOD, AND ITS CALLERS", false},
}

// spot writes the callers of a hot spot, upward.
func (t *climbReport) spot(i int) {
	s := &t.climb.Spots[i]
	t.heading(fmt.Sprintf("#%d  Up from %s", i+1, t.names[s.Method]))
	rows, left := ascent.RowsOf(s, leastShare)
	for _, line := range t.treeLines(s, rows) {
		t.line("%s", line)
	}
	if left > 0 {
		t.line("… and %s below %g %%", format.Count(left, "caller", "callers"), leastShare*100)
	}
}

// treeLines are a hot spot and its callers as a table with its titles.
func (t *climbReport) treeLines(s *climb.Spot, list []ascent.Row) []string {
	own := uint64(0)
	if s.Own != nil {
		own = s.Own.Calls
	}
	rows := [][]string{climbRow("100 %", "", "", own, s.Own)}
	branches, marks := []string{""}, []string{""}
	if t.climb.Methods[s.Method].Native {
		marks[0] = "  [native]"
	}
	for i, row := range list {
		rows = append(rows, climbRow(shareText(row.Share.Part, 1), rangeText(row.Share), string(row.By), row.Calls, row.Own))
		branches = append(branches, branchOf(list, i))
		marks = append(marks, callerMarks(t.climb, row))
	}
	columns, rows := withoutBlanks(climbColumns, rows, "95 %")
	columns, rows, before := narrow(columns, rows, t.width, 40, "P50", "MAX", "P90", "MEAN", "95 %", "BY", "P99")
	for i := range rows {
		method := s.Method
		if i > 0 {
			method = list[i-1].Method
		}
		branch := treeLine{branches: branches[i]}.drawn(max(t.width-before, 0) / 2)
		rows[i][len(rows[i])-1] = branch + t.namedRow(method, marks[i], before+utf8.RuneCountInString(branch))
	}
	return tableLines(columns, rows)
}

func climbRow(share, between, by string, calls uint64, own *climb.Measured) []string {
	row := []string{share, between, by, none, none, none, none, none, none, ""}
	if calls > 0 {
		row[3] = format.Grouped(calls)
	}
	if own != nil && own.Timed > 0 {
		for i, d := range []time.Duration{own.Mean, own.P50, own.P90, own.P99, own.Max} {
			row[4+i] = format.Call(float64(d))
		}
	}
	return row
}

// withoutBlanks leaves a column out in which nothing stands.
func withoutBlanks(columns []column, rows [][]string, title string) ([]column, [][]string) {
	at := slices.IndexFunc(columns, func(c column) bool { return c.title == title })
	if slices.ContainsFunc(rows, func(row []string) bool { return row[at] != "" }) {
		return columns, rows
	}
	return without(columns, rows, title)
}

// namedRow is a name and its marks behind what is used of the width.
func (t *climbReport) namedRow(method int, mark string, used int) string {
	const leastName = 24
	name := t.names[method]
	if t.width == 0 {
		return name + mark
	}
	room := t.width - used
	return cutEnd(shorten(name, max(room-utf8.RuneCountInString(mark), min(room, leastName)))+mark, room)
}

// branchOf draws what leads to a row. A way that does not divide goes straight up,
// at the same depth: ways are long, and it is where they part that matters.
func branchOf(list []ascent.Row, i int) string {
	branch := ""
	for at := i; at >= 0; at = list[at].Below {
		alone := list[at].Last && isFirst(list, at)
		switch {
		case at == i && alone:
			branch = "↑ " + branch
		case at == i && list[at].Last:
			branch = "└ " + branch
		case at == i:
			branch = "├ " + branch
		case alone:
		case list[at].Last:
			branch = "  " + branch
		default:
			branch = "│ " + branch
		}
	}
	return branch
}

// isFirst tells whether a row comes right behind what it calls.
func isFirst(list []ascent.Row, i int) bool { return list[i].Below == i-1 }

// callerMarks are what a reader must know of a caller before believing its figures.
func callerMarks(c *climb.Climb, row ascent.Row) string {
	var list []string
	if row.Again {
		list = append(list, "recursion")
	}
	if c.Methods[row.Method].Native {
		list = append(list, "native")
	}
	switch {
	case row.State == climb.Watched:
		list = append(list, "live")
	case row.State == climb.Left:
		list = append(list, "no hook")
	case row.Own == nil && row.State != climb.Done && row.State != "":
		list = append(list, string(row.State))
	}
	if row.Reason != "" {
		list = append(list, format.Printable(row.Reason))
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("  [%s]", strings.Join(list, ": "))
}
