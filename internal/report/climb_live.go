package report

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
)

// A liveRow is a line of a climb that goes on: a hot spot, or a caller above one.
type liveRow struct {
	order  int
	weight float64
	method int
	branch string
	share  climb.Share
	calls  uint64
	own    *climb.Measured
}

var liveColumns = []column{{"SHARE", true}, {"CALLS", true}, {"MEAN", true}, {"P99", true}, {"", false}, {"HOT SPOTS, AND THEIR CALLERS", false}}

// ClimbLines are what fits a terminal of a climb that goes on: its hot spots with the
// ways up that matter most. Hooks that are on have a dot. most bounds the lines.
func ClimbLines(c *climb.Climb, width, most int) []string {
	t := &climbReport{textReport{names: climbNames(c), width: width}, c}
	live := map[int]bool{}
	for _, e := range c.List {
		live[e.Method] = e.State == climb.Watched
	}
	kept := heaviest(liveRows(c), max(0, most-1))
	rows := make([][]string, len(kept))
	for i, one := range kept {
		dot := ""
		if live[one.method] {
			dot = "●"
		}
		figures := climbRow(shareText(one.share.Part, 1), "", "", one.calls, one.own)
		rows[i] = []string{figures[0], figures[3], figures[4], figures[7], dot, ""}
	}
	columns, rows, before := narrow(liveColumns, rows, width, 30, "MEAN", "P99", "CALLS")
	for i, one := range kept {
		branch := treeLine{branches: one.branch}.drawn(max(width-before, 0) / 2)
		rows[i][len(rows[i])-1] = branch + t.namedRow(one.method, "", before+utf8.RuneCountInString(branch))
	}
	lines := tableLines(columns, rows)
	for i, line := range lines {
		if runes := []rune(line); width > 0 && len(runes) > width {
			lines[i] = string(runes[:width-1]) + "…"
		}
	}
	return lines
}

// liveRows are all lines, in the order of reading.
func liveRows(c *climb.Climb) []liveRow {
	const spotWeight = 2 // hot spots come before any caller
	var all []liveRow
	for i := range c.Spots {
		s := &c.Spots[i]
		one := liveRow{order: len(all), weight: spotWeight, method: s.Method, share: s.Share, own: s.Own}
		if s.Own != nil {
			one.calls = s.Own.Calls
		}
		all = append(all, one)
		callers, _ := ascent.RowsOf(s, leastShare)
		for n, row := range callers {
			all = append(all, liveRow{
				order: len(all), weight: s.Share.Part * row.Share.Part, method: row.Method, branch: "  " + branchOf(callers, n),
				share: row.Share, calls: row.Calls, own: row.Own,
			})
		}
	}
	return all
}

// heaviest are so many lines that weigh most, in the order of reading. A caller has
// no more than what is below it, and comes behind it: what is kept stands on what is
// kept.
func heaviest(all []liveRow, most int) []liveRow {
	slices.SortStableFunc(all, func(a, b liveRow) int { return cmp.Compare(b.weight, a.weight) })
	kept := all[:min(len(all), most)]
	slices.SortFunc(kept, func(a, b liveRow) int { return cmp.Compare(a.order, b.order) })
	return kept
}
