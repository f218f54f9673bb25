package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

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
	slices.SortStableFunc(sorted, func(a, b climb.Entry) int { return cmp.Compare(b.Hits, a.Hits) })
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
		if e.State != climb.Left {
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
