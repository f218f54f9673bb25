package text

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/callers"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

const (
	// mostBranches is how many callers are named where a call path splits.
	mostBranches = 5
	// mostOwners is how many own methods are written.
	mostOwners = 10
	// mostListed is how many methods of the caller list are written.
	mostListed = 40
	// mostOnPath is how many methods of the path to a cause are named, and mostOwn of the own
	// methods above it.
	mostOnPath = 7
	mostOwn    = 25
	// mostLeft is how many methods are named that got no hook for one reason.
	mostLeft = 3
	// leastOutside is the part of the samples without a Java method from which on it is written.
	leastOutside = 0.01
	// wideShare is the width from which on the interval of a share is written.
	wideShare = 0.03
)

// WriteRootCause writes the result of a root-cause search. A width of 0 allows lines of
// any length.
func WriteRootCause(w io.Writer, c *rootcause.Climb, width int) error {
	r := &rootCauseReport{printer{bufio.NewWriter(w), width}, c, cct.Names(c.Methods)}
	r.header()
	r.owners()
	r.causes()
	for i := range c.Spots {
		r.callers(i)
	}
	r.hooks()
	r.batches()
	r.list()
	r.cost()
	return r.Flush()
}

type rootCauseReport struct {
	printer
	found *rootcause.Climb
	names []string
}

func (r *rootCauseReport) brief(method int) string { return brief(r.names[method]) }

func (r *rootCauseReport) header() {
	c := r.found
	r.say("%s", format.Printable(c.Target.String()))
	when := ""
	if !c.Began.IsZero() {
		when = ", from " + c.Began.Format("2006-01-02 15:04:05 MST")
	}
	r.say("searched for %s%s", format.Duration(c.Took), when)
	r.say("%s among %s in %s (%s)", format.Count(len(c.Spots), "hot spot", "hot spots"),
		format.Count(c.Sampled.Samples, "sample of running threads", "samples of running threads"), format.Duration(c.Sampled.Over), format.Printable(c.Sampled.By))
	if c.Sampled.Outside >= leastOutside {
		r.say("besides, %s of all samples have no Java method on the stack: GC, compilers and native threads, which sonde hot shows", shareText(c.Sampled.Outside, 1))
	}
	r.say("%s", format.Printable(c.Own.String()))
	if c.Sampled.Biased {
		r.say("biased: threads were sampled at safepoints only, so the hot method may be a neighbour of the one named")
	}
}

// owners lists the own methods nearest to where the program ran.
func (r *rootCauseReport) owners() {
	if len(r.found.Owners) == 0 {
		return
	}
	r.heading("Own methods, with the time in them and in the libraries that they call")
	t := &table{columns: format.Columns(">SHARE", ">95 %", "METHOD", "MOST OF IT IN")}
	for _, o := range r.found.Owners[:min(len(r.found.Owners), mostOwners)] {
		name, in := "(no own method on the stack)", r.brief(o.In)
		if o.Method >= 0 {
			name = r.names[o.Method]
		}
		if o.In == o.Method {
			in = "itself"
		}
		t.rows = append(t.rows, []string{shareText(o.Share.Part, 1), rangeText(o.Share), name, fmt.Sprintf("%s %s", in, shareText(o.InPart, 1))})
	}
	r.fitTable(t, cutEnd, "95 %")
	if more := len(r.found.Owners) - mostOwners; more > 0 {
		r.line("… and %s; the page and the JSON have them all", format.Count(more, "more method", "more methods"))
	}
}

// causes describes each hot spot and its cause.
func (r *rootCauseReport) causes() {
	if len(r.found.Spots) == 0 {
		r.line("\nno hot spot")
		return
	}
	r.heading("Hot spots and their causes")
	above := ""
	for i := range r.found.Spots {
		s := &r.found.Spots[i]
		facts := ""
		if list := callers.Facts(s); len(list) > 0 {
			facts = " (" + strings.Join(list, ", ") + ")"
		}
		r.say("#%d %s %s%s", i+1, rangedShare(s.Share), r.names[s.Method], facts)
		for _, sentence := range r.causeOf(s) {
			r.say("  %s", sentence)
		}
		switch {
		case s.Above == "" || s.Above == above:
		case r.found.Cost.Hooked == 0:
			r.say("  No method got a hook: %s", format.Printable(s.Above))
		default:
			r.say("  The search began with the callers: %s", format.Printable(s.Above))
		}
		above = s.Above
	}
}

// causeOf returns sentences that describe the cause of a hot spot.
func (r *rootCauseReport) causeOf(s *rootcause.Spot) []string {
	cause := callers.CauseOf(r.found, s)
	var texts []string
	switch {
	case cause.By != nil:
		texts = append(texts, fmt.Sprintf("Cause: %s spends %s of it through %s", r.names[cause.By.Method], rangedShare(cause.Share), r.path(cause.Path, mostOnPath)))
	case cause.End != nil && r.found.Own.Has(r.found.Methods[s.Method].Class):
		texts = append(texts, fmt.Sprintf("Cause: the method itself; no other method of the own packages calls it: %s", r.path(cause.Path, mostOnPath)))
	case cause.End != nil:
		texts = append(texts, fmt.Sprintf("Cause: no method of the own packages is on its call paths: %s", r.path(cause.Path, mostOnPath)))
	default:
		texts = append(texts, "Cause: unknown, no caller was found")
	}
	if len(cause.Above) > 0 {
		above := make([]int, len(cause.Above))
		for i, caller := range cause.Above {
			above[i] = caller.Method
		}
		texts = append(texts, "It is called by: "+r.path(above, mostOwn))
	}
	if split := cause.Split; split != nil {
		branches := make([]string, 0, len(split.Callers))
		for i, caller := range split.Callers {
			if i == mostBranches {
				branches = append(branches, fmt.Sprintf("and %d more", len(split.Callers)-i))
				break
			}
			branches = append(branches, fmt.Sprintf("%s %s", r.names[caller.Method], shareText(caller.Share.Part, 1)))
		}
		texts = append(texts, fmt.Sprintf("Several callers of %s matter: %s", r.brief(split.Callee), strings.Join(branches, ", ")))
	}
	if cause.End != nil && cause.End != cause.By {
		reason := ""
		if cause.End.Reason != "" {
			reason = ": " + format.Printable(cause.End.Reason)
		}
		texts = append(texts, fmt.Sprintf("The main call path ends in %s%s", r.names[cause.End.Method], reason))
	}
	return texts
}

// path returns a call path up, in short names. The middle of a path that is longer than most is
// left out.
func (r *rootCauseReport) path(methods []int, most int) string {
	kept := most / 2
	briefs := make([]string, 0, len(methods))
	for i, method := range methods {
		if len(methods) > most && i == kept {
			briefs = append(briefs, "…")
		}
		if len(methods) <= most || i < kept || i >= len(methods)-kept {
			briefs = append(briefs, r.brief(method))
		}
	}
	return strings.Join(briefs, " < ")
}

// rangeText returns the interval of a share, if it is wide.
func rangeText(s rootcause.Share) string {
	if s.High-s.Low < wideShare {
		return ""
	}
	return fmt.Sprintf("%.0f–%.0f %%", s.Low*100, s.High*100)
}

func rangedShare(s rootcause.Share) string {
	text := shareText(s.Part, 1)
	if between := rangeText(s); between != "" {
		text += " (" + between + ")"
	}
	return text
}

var callerColumns = format.Columns(">SHARE", ">95 %", "BY", ">CALLS", ">MEAN", ">P50", ">P90", ">P99", ">MAX", "METHOD, AND ITS CALLERS")

// callers writes a hot spot and the tree of its callers. Of a straight path through libraries
// it writes the first method.
func (r *rootCauseReport) callers(spot int) {
	s := &r.found.Spots[spot]
	r.heading(fmt.Sprintf("#%d  Callers of %s", spot+1, r.names[s.Method]))
	rows, left := callers.RowsOf(s, leastShare)
	calls := uint64(0)
	if s.Own != nil {
		calls = s.Own.Calls
	}
	t := &table{columns: callerColumns, rows: [][]string{callerCells("100 %", "", "", calls, s.Own)}}
	if calls > 0 {
		t.rows[0][3] = format.AtLeast(r.found.Methods[s.Method].LowerBound, t.rows[0][3])
	}
	type line struct{ row, folded int }
	var lines []line
	for i := 0; i < len(rows); i++ {
		row := rows[i]
		lines = append(lines, line{row: i})
		t.rows = append(t.rows, callerCells(shareText(row.Share.Part, 1), rangeText(row.Share), string(row.By), row.Calls, row.Own))
		if n := r.straight(rows, i); n >= leastFolded {
			lines = append(lines, line{row: i + 1, folded: n})
			t.rows = append(t.rows, make([]string, len(callerColumns)))
			i += n
		}
	}
	t.dropIfAll("95 %", "")
	before := t.narrow(r.width, 40, "P50", "MAX", "P90", "MEAN", "95 %", "BY", "P99")
	mark := ""
	if r.found.Methods[s.Method].Native {
		mark = "  [native]"
	}
	t.setLast(0, fitted(r.names[s.Method], mark, before, r.width))
	for i, line := range lines {
		name, marks := r.names[rows[line.row].Method], callerMarks(r.found, rows[line.row])
		if line.folded > 0 {
			name, marks = fmt.Sprintf("⋯ %d methods of libraries", line.folded), ""
		}
		t.setTree(i+1, branchOf(rows, line.row), name, marks, before, r.width)
	}
	r.table(t)
	if left > 0 {
		r.line("… and %s below %g %%", format.Count(left, "caller", "callers"), leastShare*100)
	}
}

// leastFolded is how many methods in a row are left out at least.
const leastFolded = 3

// straight returns how many rows follow that are methods of libraries, without a split, hook or
// end, so that they need not be shown.
func (r *rootCauseReport) straight(rows []callers.Row, i int) (n int) {
	isOnly := func(at int) bool { return at < len(rows) && rows[at].Last && rows[at].Below == at-1 }
	isLibrary := func(at int) bool {
		return rows[at].Own == nil && !r.found.Own.Has(r.found.Methods[rows[at].Method].Class)
	}
	if !isLibrary(i) {
		return 0
	}
	for at := i + 1; isOnly(at) && isLibrary(at) && isOnly(at+1); at++ {
		n++
	}
	return n
}

func callerCells(share, between, by string, calls uint64, own *rootcause.Measured) []string {
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

// branchOf draws the branches that lead to a row. A path without a split is drawn straight
// up at the same depth: paths are long, and the splits are what matters.
func branchOf(list []callers.Row, i int) string {
	branch := ""
	for at := i; at >= 0; at = list[at].Below {
		alone := list[at].Last && list[at].Below == at-1
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

// callerMarks returns what qualifies the numbers of a caller.
func callerMarks(c *rootcause.Climb, row callers.Row) string {
	list := row.Marks(c)
	if row.Top && row.Reason != "" { // why others have no hook is said once, below the caller list
		list = append(list, format.Printable(row.Reason))
	}
	return bracketed(list, ", ")
}

// hooks lists which hooks were on, when and for how long.
func (r *rootCauseReport) hooks() {
	if len(r.found.Hooks) == 0 {
		return
	}
	r.heading("Hooks that were on")
	t := &table{columns: format.Columns(">FROM", ">UNTIL", ">FOR", ">LEVEL", ">CALLS", ">CALLERS", ">HOT SPOT", "METHOD")}
	for _, h := range r.found.Hooks {
		until, lasted := "now", r.found.Took-h.From
		if h.Until > 0 {
			until, lasted = format.Duration(h.Until), h.Until-h.From
		}
		t.rows = append(t.rows, []string{
			format.Duration(h.From), until, format.Duration(lasted), format.Grouped(h.Level), format.Grouped(h.Calls), format.Grouped(h.Drawn),
			"#" + format.Grouped(h.Spot+1), r.names[h.Method],
		})
	}
	r.fitTable(t, shorten, "UNTIL", "CALLERS", "HOT SPOT")
}

// fitTable writes a table whose last column is shortened to fit.
func (r *rootCauseReport) fitTable(t *table, shorten func(string, int) string, expendable ...string) {
	before := t.narrow(r.width, 30, expendable...)
	for i, row := range t.rows {
		if r.width > 0 {
			t.setLast(i, shorten(row[len(row)-1], r.width-before))
		}
	}
	r.table(t)
}

// batches lists the redefinitions and the cost of each.
func (r *rootCauseReport) batches() {
	if len(r.found.Batches) == 0 {
		return
	}
	r.heading("Redefinitions")
	t := &table{columns: format.Columns(">AT", "HOOKS", ">CLASSES", ">PAUSE", ">COMPILED", "WHY")}
	for _, b := range r.found.Batches {
		way := "out"
		if b.In {
			way = "in"
		}
		t.rows = append(t.rows, []string{
			format.Duration(b.At), way, format.Grouped(b.Classes), format.Duration(b.Pause), format.Duration(b.Compile), format.Printable(b.Why),
		})
	}
	r.fitTable(t, cutEnd, "COMPILED")
}

// list writes the caller list by the number of calls.
func (r *rootCauseReport) list() {
	if len(r.found.List) == 0 {
		return
	}
	r.heading("Caller list")
	sorted := slices.Clone(r.found.List)
	slices.SortStableFunc(sorted, func(a, b rootcause.Entry) int { return cmp.Compare(b.Hits, a.Hits) })
	t := &table{columns: format.Columns("STATE", ">HITS", ">CALLERS", ">CALLEES", "METHOD")}
	for _, e := range sorted[:min(len(sorted), mostListed)] {
		t.rows = append(t.rows, []string{
			string(e.State), format.Grouped(e.Hits), format.Grouped(len(e.Callers)), format.Grouped(len(e.Callees)), r.names[e.Method],
		})
	}
	r.fitTable(t, shorten, "CALLEES", "CALLERS")
	if more := len(sorted) - mostListed; more > 0 {
		r.line("… and %s; the page and the JSON have them all", format.Count(more, "more method", "more methods"))
	}
	r.leftAlone()
}

// leftAlone names methods without a hook by reason.
func (r *rootCauseReport) leftAlone() {
	left := slices.DeleteFunc(slices.Clone(r.found.List), func(e rootcause.Entry) bool { return e.State != rootcause.Left })
	for _, g := range format.GroupBy(left, func(e rootcause.Entry) string { return e.Reason }) {
		entries := g.List
		named := make([]string, 0, mostLeft+1)
		for _, e := range entries[:min(len(entries), mostLeft)] {
			named = append(named, r.brief(e.Method))
		}
		if more := len(entries) - mostLeft; more > 0 {
			named = append(named, fmt.Sprintf("and %s more", format.Grouped(more)))
		}
		r.say("no hook, because %s: %s", format.Printable(g.Key), strings.Join(named, ", "))
	}
}

// cost describes what the search cost the program.
func (r *rootCauseReport) cost() {
	c := r.found.Cost
	r.heading("Cost")
	if c.Hooked > 0 {
		r.say("  hooks in %s, switched on in turn: at most %s at once (the limit was %s); executed %s in total",
			format.Count(c.Hooked, "method", "methods"), format.Grouped(c.MostLive), format.Grouped(c.LiveLimit), format.Count(c.Executed, "time", "times"))
		r.say("  while on, they took %s", cpuText(c.Steady, c.Budget))
	} else {
		r.say("  no hook was installed")
	}
	if n := len(r.found.Batches); n > 0 {
		if c.Cached > 0 {
			r.say("  classes were woven %s, and found in the cache %s", format.Count(c.Woven, "time", "times"), format.Count(c.Cached, "time", "times"))
		}
		r.say("  %s: the program paused for %s and spent %s in its compilers; no class was redefined more than %s",
			format.Count(n, "redefinition", "redefinitions"), format.Duration(c.Pause), format.Duration(c.Compile), format.Count(c.Redefined, "time", "times"))
	}
	for _, note := range r.found.Notes {
		r.say("  note: %s", format.Printable(note))
	}
}

// A liveRow is a line of a search in progress: a hot spot, or a caller.
type liveRow struct {
	order  int
	weight float64
	method int
	branch string
	depth  int
	share  rootcause.Share
	calls  uint64
	own    *rootcause.Measured
}

var liveColumns = format.Columns(">SHARE", ">CALLS", ">MEAN", ">P99", "", "HOT SPOTS, AND THEIR CALLERS")

// RootCauseRows returns at most most rows for a search in progress: the hot spots with
// the callers that have the largest shares. A dot marks hooks that are on.
func RootCauseRows(c *rootcause.Climb, width, most int) (titles string, rows []format.Row) {
	names := cct.Names(c.Methods)
	live := map[int]bool{}
	for _, e := range c.List {
		live[e.Method] = e.State == rootcause.Watched
	}
	kept := heaviest(liveRows(c), most)
	t := &table{columns: liveColumns}
	for _, one := range kept {
		dot := ""
		if live[one.method] {
			dot = "●"
		}
		cells := callerCells(shareText(one.share.Part, 1), "", "", one.calls, one.own)
		t.rows = append(t.rows, []string{cells[0], cells[3], cells[4], cells[7], dot, ""})
	}
	before := t.narrow(width, 30, "MEAN", "P99", "CALLS")
	for i, one := range kept {
		t.setTree(i, one.branch, names[one.method], "", before, width)
	}
	return format.TableRows(t.columns, t.rows, 0, func(i int, row *format.Row) {
		row.Method, row.Depth = methodOf(c.Methods[kept[i].method], names[kept[i].method]), kept[i].depth
	})
}

// liveRows returns all lines in the order in which they are shown.
func liveRows(c *rootcause.Climb) []liveRow {
	const spotWeight = 2 // more than any caller has
	var all []liveRow
	for i := range c.Spots {
		s := &c.Spots[i]
		one := liveRow{order: len(all), weight: spotWeight, method: s.Method, share: s.Share, own: s.Own}
		if s.Own != nil {
			one.calls = s.Own.Calls
		}
		all = append(all, one)
		rows, _ := callers.RowsOf(s, leastShare)
		for n, row := range rows {
			depth := 0
			for at := n; at >= 0; at = rows[at].Below {
				depth++
			}
			all = append(all, liveRow{
				order: len(all), weight: s.Share.Part * row.Share.Part, method: row.Method, branch: "  " + branchOf(rows, n), depth: depth,
				share: row.Share, calls: row.Calls, own: row.Own,
			})
		}
	}
	return all
}

// heaviest returns the lines with the largest weights in their order. A caller weighs no
// more than its callee and comes after it, so no caller is kept without its callee.
func heaviest(all []liveRow, most int) []liveRow {
	slices.SortStableFunc(all, func(a, b liveRow) int { return cmp.Compare(b.weight, a.weight) })
	kept := all[:min(len(all), most)]
	slices.SortFunc(kept, func(a, b liveRow) int { return cmp.Compare(a.order, b.order) })
	return kept
}
