package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

var treeColumns = []column{
	{"TOTAL", true}, {"±", true}, {"", true}, {"SELF", true}, {"MEAN", true}, {"CALLS", true}, {"THREW", true}, {"METHOD", false},
}

// A treeLine is a node with the branches that lead to it.
type treeLine struct {
	node     *cct.Node
	branches string
}

// A pruned is what a report leaves out for being too little.
type pruned struct {
	lines int
	time  float64
	calls uint64
}

func (t *textReport) tree() {
	top := t.profile.Merged
	if len(top.Children) == 0 {
		t.line("\nno call of the root")
		return
	}
	t.heading("The tree")
	limit := limits(top)
	lines, left := limit.lines(top, nil, "")
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = t.treeRow(l.node, top.Total.Nanos)
	}
	columns, rows := withoutZeros(treeColumns, rows, "THREW")
	columns, rows, before := narrow(columns, rows, t.width, 30, "THREW", "MEAN", "±", "SELF")
	for i, l := range lines {
		branches := l.drawn(max(t.width-before, 0) / 2)
		rows[i][len(rows[i])-1] = branches + t.named(l, before+utf8.RuneCountInString(branches))
	}
	for _, line := range tableLines(columns, rows) {
		t.line("%s", line)
	}
	t.leftOut(left, "node", "nodes", top.Total.Nanos)
}

// drawn are the branches that lead to a node; where they would leave its name no
// room, its depth stands in their place.
func (l treeLine) drawn(room int) string {
	const usual = 200 // columns, where any number would do
	if room == 0 {
		room = usual
	}
	columns := utf8.RuneCountInString(l.branches)
	if columns <= room {
		return l.branches
	}
	return fmt.Sprintf("⋯ %d deep: ", columns/2)
}

// named is a node's name and marks behind what is used of the width.
func (t *textReport) named(l treeLine, used int) string {
	return t.fit(t.names[l.node.Method], t.marks(l.node), used)
}

// fit is a name and its marks behind what is used of the width. A short form of the
// name comes before the marks, which a narrow terminal cuts.
func (t *textReport) fit(name, mark string, used int) string {
	const leastName = 24
	if t.width == 0 {
		return name + mark
	}
	room := t.width - used
	name = shorten(name, max(room-utf8.RuneCountInString(mark), min(room, leastName)))
	return cutEnd(name+mark, room)
}

func (t *textReport) leftOut(left pruned, one, many string, whole float64) {
	if left.lines > 0 {
		t.line("… and %s below %g %%: %s and %s together", format.Count(left.lines, one, many), leastShare*100,
			format.Nanos(left.time)+" ("+shareText(left.time, whole)+")", format.Count(left.calls, "call", "calls"))
	}
}

// treeRow is a node's figures; the name is put in when its room is known.
func (t *textReport) treeRow(n *cct.Node, whole float64) []string {
	total, wrong, share, self, mean := none, none, none, none, none
	if n.Total.Nanos > 0 || n.Known() {
		about := ""
		if isEstimate(n) {
			about = "~"
		}
		total, mean = about+format.Nanos(n.Total.Nanos), about+format.Call(n.Mean().Nanos)
		wrong, share = errorText(n.Total), shareText(n.Total.Nanos, whole)
	}
	if n.Known() {
		self = format.Nanos(n.Self.Nanos)
		if n.Estimated() {
			self = "~" + self
		}
	}
	calls := format.AtLeast(t.profile.Methods[n.Method].LowerBound, format.Grouped(n.Calls))
	return []string{total, wrong, share, self, mean, calls, format.Grouped(n.Threw), ""}
}

// isEstimate tells whether any time below a node is an estimate.
func isEstimate(n *cct.Node) bool {
	if n.Estimated() {
		return true
	}
	for _, c := range n.Children {
		if isEstimate(c) {
			return true
		}
	}
	return false
}

// marks are what a reader must know of a node before believing its figures.
func (t *textReport) marks(n *cct.Node) string {
	var list []string
	if on, is := t.partly[n.Method]; is {
		list = append(list, onText(on, t.profile.Took))
	}
	if t.profile.Methods[n.Method].Native {
		list = append(list, "native")
	}
	if n.Running > 0 {
		list = append(list, format.Grouped(n.Running)+" running")
	}
	if n.Late {
		list = append(list, "first calls not counted")
	}
	if n.Missed > 0 {
		list = append(list, format.Grouped(n.Missed)+" without callees")
	}
	if n.Lost > 0 {
		list = append(list, format.Duration(n.Lost)+" lost to Sonde")
	}
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("  [%s]", strings.Join(list, ", "))
}

// A limit is what a node must have to be written: time, or calls where no time is
// known.
type limit struct{ time, calls float64 }

func limits(top *cct.Node) limit {
	var calls uint64
	var walk func(n *cct.Node)
	walk = func(n *cct.Node) {
		calls += n.Calls
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(top)
	return limit{leastShare * top.Total.Nanos, leastShare * float64(calls)}
}

func (l limit) reached(n *cct.Node) bool {
	if n.Total.Nanos > 0 || n.Known() {
		return n.Total.Nanos >= l.time
	}
	return float64(n.Calls) >= l.calls
}

// lines are the nodes below one that reach the limit, and what does not.
func (l limit) lines(n *cct.Node, lines []treeLine, branches string) ([]treeLine, pruned) {
	var left pruned
	shown := make([]*cct.Node, 0, len(n.Children))
	for _, c := range n.Children {
		if l.reached(c) {
			shown = append(shown, c)
		} else {
			left.add(c)
		}
	}
	for i, c := range shown {
		own, below := "├ ", "│ "
		if i == len(shown)-1 {
			own, below = "└ ", "  "
		}
		if n.Method < 0 { // roots stand at the margin
			own, below = "", ""
		}
		lines = append(lines, treeLine{c, branches + own})
		var more pruned
		lines, more = l.lines(c, lines, branches+below)
		left.lines += more.lines
		left.time += more.time
		left.calls += more.calls
	}
	return lines, left
}

// add takes a node and all below it.
func (p *pruned) add(n *cct.Node) {
	p.lines++
	p.time += n.Self.Nanos
	p.calls += n.Calls
	for _, c := range n.Children {
		p.add(c)
	}
}
