package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// WriteClimbText writes a climb for people. width is the terminal's, 0 where lines
// may be of any length.
func WriteClimbText(w io.Writer, c *rootcause.Climb, width int) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	t := &climbReport{textReport{Writer: out, names: climbNames(c), width: width}, c}
	t.header()
	t.causes()
	for i := range c.Spots {
		t.spot(i)
	}
	t.hooked()
	t.batches()
	t.list()
	t.cost()
	return out.Flush()
}

// A climbReport is one being written.
type climbReport struct {
	textReport
	climb *rootcause.Climb
}

func climbNames(c *rootcause.Climb) []string {
	methods := make([]cct.Method, len(c.Methods))
	for i, m := range c.Methods {
		methods[i] = cct.Method(m)
	}
	return names(methods)
}

// brief is a method's name without its package.
func (t *climbReport) brief(method int) string { return briefName(t.names[method]) }

func briefName(name string) string {
	head, tail := name, ""
	if i := strings.IndexByte(name, '('); i >= 0 {
		head, tail = name[:i], name[i:]
	}
	parts := strings.Split(head, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".") + tail
}

func (t *climbReport) header() {
	c := t.climb
	t.say("%s", format.Printable(title(cct.Target(c.Target))))
	when := ""
	if !c.Began.IsZero() {
		when = ", from " + c.Began.Format("2006-01-02 15:04:05 MST")
	}
	t.say("walked for %s%s", format.Duration(c.Took), when)
	t.say("%s among %s in %s (%s)", format.Count(len(c.Spots), "hot spot", "hot spots"),
		format.Count(c.Sampled.Samples, "sample of running threads", "samples of running threads"), format.Duration(c.Sampled.Over), format.Printable(c.Sampled.By))
	if c.Sampled.Biased {
		t.say("biased: threads were asked where they may be stopped, so the hot method may be a neighbour of the one named")
	}
}

// causes says of each hot spot what matters first.
func (t *climbReport) causes() {
	if len(t.climb.Spots) == 0 {
		t.line("\nno hot spot")
		return
	}
	t.heading("Where the time goes, and who causes it")
	for i := range t.climb.Spots {
		s := &t.climb.Spots[i]
		t.say("#%d  %s  %s%s", i+1, rangedShare(s.Share), t.names[s.Method], spotMarks(s))
		for _, sentence := range t.causeOf(s) {
			t.say("  %s", sentence)
		}
	}
}

// spotMarks are what is known of a hot spot beside its share.
func spotMarks(s *rootcause.Spot) string {
	var marks []string
	if s.Kind != "" {
		marks = append(marks, format.Printable(s.Kind))
	}
	if s.Line > 0 {
		marks = append(marks, fmt.Sprintf("line %d", s.Line))
	}
	if s.From > 0 {
		marks = append(marks, "hot since "+format.Duration(s.From))
	}
	if s.Until > 0 {
		marks = append(marks, "cooled at "+format.Duration(s.Until))
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, ", ") + ")"
}

// causeOf are the sentences on who causes a hot spot.
func (t *climbReport) causeOf(s *rootcause.Spot) []string {
	cause := ascent.CauseOf(t.climb, s)
	var said []string
	switch {
	case cause.By != nil:
		said = append(said, fmt.Sprintf("Cause: %s spends %s of it through %s", t.names[cause.By.Method], rangedShare(cause.By.Share), t.way(cause.Way)))
	case cause.End != nil:
		said = append(said, fmt.Sprintf("Cause: no method of the program was found on the way up, which is %s", t.way(cause.Way)))
	default:
		said = append(said, "Cause: not known, as no caller was found")
	}
	if d := cause.Divides; d != nil {
		ways := make([]string, 0, len(d.Ways))
		for i, way := range d.Ways {
			if i == mostWays {
				ways = append(ways, fmt.Sprintf("and %d more", len(d.Ways)-i))
				break
			}
			ways = append(ways, fmt.Sprintf("%s %s", t.names[way.Method], shareText(way.Share.Part, 1)))
		}
		said = append(said, fmt.Sprintf("The way divides above %s: %s", t.brief(d.Above), strings.Join(ways, ", ")))
	}
	if cause.End != nil && cause.End != cause.By {
		said = append(said, fmt.Sprintf("The main way ends in %s%s", t.names[cause.End.Method], ending(cause.End)))
	}
	if s.Above != "" {
		said = append(said, "The climb began one level up: "+format.Printable(s.Above))
	}
	return said
}

// mostWays is how many ways of a division are named.
const mostWays = 5

// ending says why a way ends, where that is known.
func ending(c *rootcause.Caller) string {
	if c.Reason == "" {
		return ""
	}
	return ": " + format.Printable(c.Reason)
}

// way is a way up in short names; of a long one the middle is left out.
func (t *climbReport) way(methods []int) string {
	const most, kept = 7, 3
	briefs := make([]string, 0, len(methods))
	for i, method := range methods {
		if len(methods) > most && i == kept {
			briefs = append(briefs, "…")
		}
		if len(methods) <= most || i < kept || i >= len(methods)-kept {
			briefs = append(briefs, t.brief(method))
		}
	}
	return strings.Join(briefs, " < ")
}

// wideShare is from which width on the interval of a share is written.
const wideShare = 0.03

// rangeText is the interval of a share, where it is wide.
func rangeText(s rootcause.Share) string {
	if s.High-s.Low < wideShare {
		return ""
	}
	return fmt.Sprintf("%.0f–%.0f %%", s.Low*100, s.High*100)
}

// rangedShare is a share with its interval where that is wide.
func rangedShare(s rootcause.Share) string {
	text := shareText(s.Part, 1)
	if between := rangeText(s); between != "" {
		text += " (" + between + ")"
	}
	return text
}

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
func (t *climbReport) treeLines(s *rootcause.Spot, list []ascent.Row) []string {
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

func climbRow(share, between, by string, calls uint64, own *rootcause.Measured) []string {
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
func callerMarks(c *rootcause.Climb, row ascent.Row) string {
	var list []string
	if row.Again {
		list = append(list, "recursion")
	}
	if c.Methods[row.Method].Native {
		list = append(list, "native")
	}
	switch {
	case row.State == rootcause.Watched:
		list = append(list, "live")
	case row.State == rootcause.Left:
		list = append(list, "no hook")
	case row.Own == nil && row.State != rootcause.Done && row.State != "":
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

// hooked says which hooks were on, when and for how long.
func (t *climbReport) hooked() {
	if len(t.climb.Hooks) == 0 {
		return
	}
	t.heading("What was hooked when")
	columns := []column{{"FROM", true}, {"UNTIL", true}, {"FOR", true}, {"LEVEL", true}, {"CALLS", true}, {"CALLERS", true}, {"HOT SPOT", true}, {"METHOD", false}}
	var rows [][]string
	for _, h := range t.climb.Hooks {
		until, lasted := "now", t.climb.Took-h.From
		if h.Until > 0 {
			until, lasted = format.Duration(h.Until), h.Until-h.From
		}
		rows = append(rows, []string{
			format.Duration(h.From), until, format.Duration(lasted), format.Grouped(h.Level), format.Grouped(h.Calls), format.Grouped(h.Drawn), "#" + format.Grouped(h.Spot+1), t.names[h.Method],
		})
	}
	t.table(columns, rows, "UNTIL", "CALLERS", "HOT SPOT")
}

// table writes rows whose last column is a name.
func (t *climbReport) table(columns []column, rows [][]string, expendable ...string) {
	columns, rows, before := narrow(columns, rows, t.width, 30, expendable...)
	for i := range rows {
		last := len(rows[i]) - 1
		if t.width > 0 {
			rows[i][last] = shorten(rows[i][last], t.width-before)
		}
	}
	for _, line := range tableLines(columns, rows) {
		t.line("%s", line)
	}
}

// batches says which redefinitions there were, and what each cost.
func (t *climbReport) batches() {
	if len(t.climb.Batches) == 0 {
		return
	}
	t.heading("Redefinitions")
	columns := []column{{"AT", true}, {"HOOKS", false}, {"CLASSES", true}, {"PAUSE", true}, {"COMPILED", true}, {"WHY", false}}
	var rows [][]string
	for _, b := range t.climb.Batches {
		way := "out"
		if b.In {
			way = "in"
		}
		why := format.Printable(b.Why)
		rows = append(rows, []string{format.Duration(b.At), way, format.Grouped(b.Classes), format.Duration(b.Pause), format.Duration(b.Compile), why})
	}
	columns, rows, before := narrow(columns, rows, t.width, 30, "COMPILED")
	for i := range rows {
		last := len(rows[i]) - 1
		if t.width > 0 {
			rows[i][last] = cutEnd(rows[i][last], t.width-before)
		}
	}
	for _, line := range tableLines(columns, rows) {
		t.line("%s", line)
	}
}

// mostListed is how many lines of the caller list are written; the page and the JSON
// have them all.
const mostListed = 40

// list writes the caller list, those with most hits first.
func (t *climbReport) list() {
	if len(t.climb.List) == 0 {
		return
	}
	t.heading("Caller list")
	sorted := slices.Clone(t.climb.List)
	slices.SortStableFunc(sorted, func(a, b rootcause.Entry) int { return cmp.Compare(b.Hits, a.Hits) })
	columns := []column{{"STATE", false}, {"HITS", true}, {"CALLERS", true}, {"CALLEES", true}, {"METHOD", false}}
	var rows [][]string
	for _, e := range sorted[:min(len(sorted), mostListed)] {
		rows = append(rows, []string{string(e.State), format.Grouped(e.Hits), format.Grouped(len(e.Callers)), format.Grouped(len(e.Callees)), t.names[e.Method]})
	}
	t.table(columns, rows, "CALLEES", "CALLERS")
	if more := len(sorted) - mostListed; more > 0 {
		t.line("… and %s; the page and the JSON have them all", format.Count(more, "method more", "methods more"))
	}
	t.leftWithoutHook()
}

// mostLeft is how many methods are named that were left alone for one reason.
const mostLeft = 3

// leftWithoutHook names what has no hook by its reason.
func (t *climbReport) leftWithoutHook() {
	named := map[string][]int{}
	var reasons []string
	for _, e := range t.climb.List {
		if e.State != rootcause.Left {
			continue
		}
		if named[e.Reason] == nil {
			reasons = append(reasons, e.Reason)
		}
		named[e.Reason] = append(named[e.Reason], e.Method)
	}
	for _, reason := range reasons {
		methods := named[reason]
		named := make([]string, 0, mostLeft+1)
		for _, method := range methods[:min(len(methods), mostLeft)] {
			named = append(named, t.brief(method))
		}
		if more := len(methods) - mostLeft; more > 0 {
			named = append(named, fmt.Sprintf("and %s more", format.Grouped(more)))
		}
		t.say("left alone, as %s: %s", format.Printable(reason), strings.Join(named, ", "))
	}
}

// cost says what the walk took of the program.
func (t *climbReport) cost() {
	c := t.climb.Cost
	t.heading("What it cost")
	if c.Hooked > 0 {
		t.say("  hooks in %s, on in turn: never more than %s at once (allowed were %s); executed %s in all",
			format.Count(c.Hooked, "method", "methods"), format.Grouped(c.MostLive), format.Grouped(c.LiveLimit), format.Count(c.Executed, "time", "times"))
		text := fmt.Sprintf("  while on they took %s of the program's processor time", shareText(c.Steady, 1))
		if c.Budget > 0 {
			text += fmt.Sprintf("; allowed were %s", shareText(c.Budget, 1))
		}
		t.say("%s", text)
	} else {
		t.say("  no hook was put in")
	}
	if n := len(t.climb.Batches); n > 0 {
		if c.Cached > 0 {
			t.say("  classes were woven %s, and found woven in the cache %s", format.Count(c.Woven, "time", "times"), format.Count(c.Cached, "time", "times"))
		}
		t.say("  %s: the program stood still for %s, its compilers worked %s; no class was redefined more than %s",
			format.Count(n, "redefinition", "redefinitions"), format.Duration(c.Pause), format.Duration(c.Compile), format.Count(c.Redefined, "time", "times"))
	}
	for _, note := range t.climb.Notes {
		t.say("  note: %s", format.Printable(note))
	}
}

// A liveRow is a line of a climb that goes on: a hot spot, or a caller above one.
type liveRow struct {
	order  int
	weight float64
	method int
	branch string
	share  rootcause.Share
	calls  uint64
	own    *rootcause.Measured
}

var liveColumns = []column{{"SHARE", true}, {"CALLS", true}, {"MEAN", true}, {"P99", true}, {"", false}, {"HOT SPOTS, AND THEIR CALLERS", false}}

// ClimbLines are what fits a terminal of a climb that goes on: its hot spots with the
// ways up that matter most. Hooks that are on have a dot. most bounds the lines.
func ClimbLines(c *rootcause.Climb, width, most int) []string {
	t := &climbReport{textReport{names: climbNames(c), width: width}, c}
	live := map[int]bool{}
	for _, e := range c.List {
		live[e.Method] = e.State == rootcause.Watched
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
func liveRows(c *rootcause.Climb) []liveRow {
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
