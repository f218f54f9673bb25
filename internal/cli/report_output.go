package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var reportColumns = format.Columns(">CALLS", ">TOTAL", ">SELF", ">MEAN", ">P99", ">MAX", ">THREW", ">RUNNING", "PROBE", "METHOD")

var probeColumns = format.Columns(">CALLS", ">SELF", ">MEAN", ">P99", ">MAX", ">THREW", ">RUNNING", ">METHODS", "PROBE")

// reportExpendable are the columns that a narrow terminal drops, in this order.
var reportExpendable = []string{"RUNNING", "THREW", "SELF", "MAX", "P99", "TOTAL"}

// writeHead says where the measurements come from.
func (r *reported) writeHead(out io.Writer) {
	line := func(title, text string, args ...any) {
		_, _ = fmt.Fprintf(out, "%-9s%s\n", title, format.Printable(fmt.Sprintf(text, args...)))
	}
	used, limit := r.Room()
	line("arena", "%s, %s of %s used", r.Arena, format.Size(used), format.Size(limit))
	owner := r.Owner()
	line("process", "%s", r.processText())
	line("since", "%s (%s ago)", owner.Opened.Local().Format(time.DateTime), format.ShortDuration(time.Since(owner.Opened)))
	switch {
	case r.Pack != "":
		line("pack", "%s%s", r.Pack, inBrackets(r.Title))
	case owner.Command != "":
		line("by", "%s", owner.Command)
	}
	if r.packed {
		line("classes", "%s", accountText(&r.account))
		if named := unwovenText(&r.account, mostNamed); named != "" {
			line("", "%s", named)
		}
	}
	_, _ = fmt.Fprintln(out)
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func (r *reported) processText() string {
	owner := r.Owner()
	switch r.State {
	case results.Measuring:
		return fmt.Sprintf("%d%s, runs", r.JVM.PID, inBrackets(r.JVM.Main))
	case results.Out:
		return fmt.Sprintf("%d%s, runs; the hooks were removed", r.JVM.PID, inBrackets(r.JVM.Main))
	}
	return fmt.Sprintf("%d, has exited", owner.Target)
}

// accountText counts the classes of a pack that were woven and that were not.
func accountText(a *arena.Account) string {
	text := format.Grouped(int(a.Woven)) + " woven"
	for _, not := range []struct {
		count uint32
		why   string
	}{
		{a.Differs, "not as packed"}, {a.Blind, "of loaders that cannot see the hooks"}, {a.Failed, "failed"},
	} {
		if not.count > 0 {
			text += fmt.Sprintf(", %s %s", format.Grouped(int(not.count)), not.why)
		}
	}
	return text
}

// unwovenText names some of the classes that were not woven; empty if all were.
func unwovenText(a *arena.Account, most int) string {
	if len(a.Left) == 0 {
		return ""
	}
	var names []string
	for _, left := range a.Left[:min(most, len(a.Left))] {
		names = append(names, strings.ReplaceAll(left.Class, "/", ".")+" ("+string(left.Why)+")")
	}
	text := "not woven: " + strings.Join(names, ", ")
	if rest := len(a.Left) - len(names) + a.Unnamed(); rest > 0 {
		text += fmt.Sprintf(" and %s more", format.Grouped(rest))
	}
	return text
}

// writeTables writes the tables of probes and methods.
func (r *reported) writeTables(out io.Writer, top, width int) {
	write := func(columns []format.Column, all []results.Row, texts func([]results.Row) [][]string) {
		rows := all
		if top > 0 {
			rows = rows[:min(top, len(rows))]
		}
		if len(rows) == 0 {
			return
		}
		columns, cells := format.WithoutEmpty(columns, texts(rows))
		columns, cells = format.FitTable(columns, cells, reportExpendable, width)
		format.WriteTable(out, columns, cells, width)
		if hidden := len(all) - len(rows); hidden > 0 {
			_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", format.Count(hidden, "row more", "rows more"))
		}
		_, _ = fmt.Fprintln(out)
	}
	write(probeColumns, r.probes, probeTexts)
	write(reportColumns, called(r.methods), r.methodTexts)
}

// timeTexts are the cells of the times of a row.
func timeTexts(r *results.Row) (total, self, mean, p99, longest string) {
	total, self, mean, p99, longest = "-", "-", "-", "-", "-"
	if r.HasTimes() {
		total = about(r) + format.Nanos(r.Total())
	}
	if r.HasTimes() && r.Timing == results.Exact {
		self = format.Nanos(r.SelfTime())
	}
	if r.Timed > 0 {
		mean, longest = about(r)+format.Call(r.Mean()), about(r)+format.Call(float64(r.Max))
	}
	if tail := r.P99(); tail >= 0 {
		p99 = about(r) + format.Call(tail)
	}
	return total, self, mean, p99, longest
}

func (r *reported) methodTexts(rows []results.Row) (texts [][]string) {
	overloads := overloadsOf(r.methods)
	for i := range rows {
		row := &rows[i]
		total, self, mean, p99, longest := timeTexts(row)
		name := rowName(row, overloads)
		texts = append(texts, []string{
			callsText(row.Calls, row.LowerBound), total, self, mean, p99, longest, format.Grouped(int(row.Threw)), format.OrDash(groupedOrNone(row.Active)),
			format.Printable(row.Probe), format.Printable(strings.TrimPrefix(name, ".")),
		})
	}
	return texts
}

func probeTexts(rows []results.Row) (texts [][]string) {
	for i := range rows {
		row := &rows[i]
		_, self, mean, p99, longest := timeTexts(row)
		name := row.Probe
		if row.Context != "" {
			name += " [" + row.Context + "]"
		}
		texts = append(texts, []string{
			callsText(row.Calls, row.LowerBound), self, mean, p99, longest, format.Grouped(int(row.Threw)), format.OrDash(groupedOrNone(row.Active)), format.Grouped(row.Methods), format.Printable(name),
		})
	}
	return texts
}

func groupedOrNone(n uint64) string {
	if n == 0 {
		return ""
	}
	return format.Grouped(int(n))
}

// writeFoot writes the number of calls, and notes to the tables.
func (r *reported) writeFoot(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s by %s\n", format.Count(int(r.calls), "call", "calls"), format.Count(r.results.Threads, "thread", "threads"))
	for _, line := range r.remarks() {
		_, _ = fmt.Fprintln(out, format.Printable(line))
	}
}

// hasUnknown reports whether results are grouped by unknown tags or callers.
func (r *reported) hasUnknown() bool {
	return slices.ContainsFunc(r.methods, func(row results.Row) bool { return row.Label.Unknown })
}

// remarks returns notes to the tables.
func (r *reported) remarks() (lines []string) {
	tell := func(n uint64, one, many, what string) {
		if n > 0 {
			lines = append(lines, format.Count(int(n), one, many)+" "+what)
		}
	}
	if r.State != results.Measuring {
		when := "when the JVM exited"
		if r.State == results.Out || r.IsStopped() {
			when = "when the hooks were removed"
		}
		tell(r.active, "call was", "calls were", "running "+when+", with unknown time")
	}
	tell(uint64(len(r.methods)-len(called(r.methods))), "method was", "methods were", "not called")
	if slices.ContainsFunc(r.methods, func(row results.Row) bool { return row.LowerBound }) {
		lines = append(lines, lowerBoundNote)
	}
	tell(r.untimed, "call was", "calls were", "counted without a time: the arena had no room")
	tell(r.results.Dropped, "call was", "calls were", "not counted: the arena had no room")
	tell(r.undecided, "call", "calls", "are not counted: the condition could not be evaluated")
	tell(r.results.ContextsLost, "call", "calls", "of sequences and tags found no room in the arena: calls below have no context")
	tell(r.results.Ambiguous, "task was", "tasks were", "handed over twice before starting: their context is unknown")
	if r.hasUnknown() {
		lines = append(lines, "rows marked (unknown): the agent ran out of label slots, so their tags or callers were not recorded")
	}
	tell(uint64(len(r.Left)), "class or method was", "classes or methods were", "left alone when the pack was made: sonde pack show --left says why")
	return append(lines, r.Notes...)
}

func (r *reported) describe(top int) document.Report {
	owner := r.Owner()
	d := document.Report{
		Arena: r.Arena, PID: owner.Target, State: string(r.State), Since: owner.Opened.Round(time.Millisecond), Command: owner.Command,
		Pack: r.Pack, Title: r.Title, Calls: r.calls, Threads: r.results.Threads, UnderWay: r.active, Untimed: r.untimed,
		Dropped: r.results.Dropped, ContextsLost: r.results.ContextsLost, Ambiguous: r.results.Ambiguous,
		Methods: []document.ReportMethod{}, Remarks: r.remarks(),
	}
	d.ArenaUsed, d.ArenaRoom = r.Room()
	if r.JVM != nil {
		d.PID, d.Main = r.JVM.PID, r.JVM.Main
	}
	if r.packed {
		d.Classes = document.NewAccount(&r.account)
	}
	most := func(rows []results.Row) []results.Row {
		if top > 0 {
			return rows[:min(top, len(rows))]
		}
		return rows
	}
	for _, row := range most(r.probes) {
		d.Probes = append(d.Probes, document.NewReportProbe(&row))
	}
	for _, row := range most(r.methods) {
		d.Methods = append(d.Methods, document.NewReportMethod(&row))
	}
	for _, left := range r.Left {
		d.LeftAlone = append(d.LeftAlone, document.Left{Class: strings.ReplaceAll(left.Class, "/", "."), Method: left.Method, Reason: left.Reason})
	}
	return d
}
