package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type reportCommand struct {
	streams
	pack string
	sort string
	top  int
	json bool
}

const (
	usualReportTop  = 30
	usualReportSort = "total"
)

func newReport(s streams) *cobra.Command {
	c := &reportCommand{streams: s}
	command := &cobra.Command{
		Use:     "report ARENA|PID",
		Short:   "Show what a pack has measured, also after the JVM has exited",
		Long:    reportLong,
		Example: reportExamples,
		Args:    exactly("ARENA|PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.json && !cmd.Flags().Changed("top") {
				c.top = 0
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.pack, "pack", "", "`FILE` of the pack that the program was started with, for the names of probes and tags")
	flags.Var(oneOf(&c.sort, usualReportSort, slices.Sorted(maps.Keys(results.Orders))...), "sort", "calls, total, self, mean, max, threw or name")
	flags.Var(number(&c.top, usualReportTop, 0, 0), "top", "show so many rows of a table; 0 for all, the default with --json")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

// run reports an arena, which is named by its file or its process.
func (c *reportCommand) run(ctx context.Context, of string) error {
	h, err := c.find(ctx, of)
	if err != nil {
		return err
	}
	defer h.Close()
	return c.write(h)
}

func (c *reportCommand) find(ctx context.Context, of string) (*results.Reader, error) {
	if strings.Trim(of, "0123456789") != "" { // a file whose name is a number is ./4711
		h, err := results.Open(ctx, of, c.pack)
		return h, fileRemedy(err, of)
	}
	pid, err := strconv.Atoi(of)
	if err != nil || pid <= 0 {
		return nil, usage("%q is neither a process number nor the path of an arena", of)
	}
	h, err := results.OfProcess(ctx, pid, c.pack)
	return h, insideRemedy(err, pid, c.pack)
}

func (c *reportCommand) write(h *results.Reader) error {
	r, err := newReported(h, c.sort)
	if err != nil {
		return err
	}
	if c.json {
		return document.Write(c.out, r.describe(c.top))
	}
	return c.print(func(out io.Writer) {
		r.writeHead(out)
		r.writeTables(out, c.top, c.outWidth())
		r.writeFoot(out)
	})
}

const reportLong = `Show what the agent of a pack has measured, in a JVM that runs or has exited. All
measurements are in the arena, a file that the agent writes: by default
/tmp/sonde-PID-….arena, or the file that arena=FILE in the option of the agent names.
The JVM is not asked, and nothing is changed. Arenas of sonde count and other commands
can be read, too.

For a process number, the arena is found by the notice of the agent, or if the process
has exited, among the arenas in /tmp. The pack has the names of probes and tags: a
running JVM reports its path; otherwise name it with --pack.

CALLS    number of calls, all of them; classes that were never loaded have none
TOTAL    time of all calls; for a method that calls itself, of the outermost calls
SELF     the same without calls of other methods with hooks
MEAN     mean time of the timed calls that have ended
P99      time that 99 of 100 calls did not exceed, accurate to 6 %
MAX      the longest call
THREW    calls that ended with an exception
RUNNING  calls that have begun and not ended

Times include the cost of the clock. Times marked with ~ are those of the timed calls;
their total is scaled up to all calls. SELF of a probe adds up that of its methods. Calls
that were running when the JVM exited, or when the hooks were removed, are counted, but
their time is unknown. The line about classes counts the classes of the pack: woven ones,
and classes that were not woven because their bytes are not those that were packed, their
class loader cannot see the hooks, or weaving failed.`

const reportExamples = `  sonde report /var/log/shop.arena --pack shop.pack
  sonde report 4711
  sonde report 4711 --sort mean --top 10
  sonde report shop.arena --json | jq '.methods[] | select(.calls > 1000) | .method'`

// fileRemedy adds a remedy to the error of reading a file as an arena.
func fileRemedy(err error, name string) error {
	switch {
	case !errors.Is(err, arena.ErrNotArena) && !errors.Is(err, process.ErrNotPlain):
		return err
	case isPack(name):
		return fmt.Errorf("%s is a pack, not its measurements: name the arena of the program that was started with it, or its process number", name)
	}
	return fmt.Errorf("%w; name the file of arena=, or /tmp/sonde-PID-….arena; an arena of another version can be read by the Sonde that made the pack", err)
}

// isPack reports whether a file is a pack, of whichever version and state.
func isPack(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false // opening it could block
	}
	_, err = pack.Open(name)
	return err == nil || errors.Is(err, pack.ErrDamaged) || errors.Is(err, pack.ErrVersion)
}

// insideRemedy adds a remedy to the error of reading the arena of a JVM. Errors about a
// pack that was named have one.
func insideRemedy(err error, pid int, packPath string) error {
	var of *fs.PathError
	switch {
	case errors.Is(err, results.ErrNoArena), errors.As(err, &of) && packPath != "" && of.Path == packPath:
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run sonde as the user of process %d, or as root", err, pid)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; it was removed while process %d is running: restart the program, with arena=FILE in a directory that nobody cleans up", err, pid)
	case errors.Is(err, arena.ErrNotArena):
		return fmt.Errorf("%w; the Sonde that made the pack can read it", err)
	}
	return err
}

type arenaReport struct {
	*results.Reader
	results *results.Results
	account arena.Account
	packed  bool // there is an account
	methods []results.Row
	probes  []results.Row // empty if they are unknown

	calls, untimed, undecided, active uint64
}

func newReported(h *results.Reader, sort string) (r *arenaReport, err error) {
	r = &arenaReport{Reader: h}
	if r.account, r.packed, err = h.Account(); err != nil {
		return nil, err
	}
	if r.results, err = h.Results(); err != nil {
		return nil, err
	}
	for _, row := range r.results.Rows {
		if row.Class == "" && row.Name == "" {
			row.Name = "(no name)"
		}
		row.Context = contextText(row.Within, row.Label)
		r.calls += row.Calls
		r.untimed += row.Untimed
		r.undecided += row.Undecided
		r.active += row.Active
		r.methods = append(r.methods, row)
	}
	r.probes = probeRows(r.methods)
	for _, rows := range [][]results.Row{r.methods, r.probes} {
		results.SortRows(rows, sort)
	}
	return r, nil
}

// probeRows adds up the rows of each probe with the same label and sequence.
func probeRows(methods []results.Row) (rows []results.Row) {
	type key struct{ probe, context string }
	for _, g := range groupBy(methods, func(m results.Row) key { return key{m.Probe, m.Context} }) {
		if g.key.probe == "" {
			continue
		}
		first := &g.list[0]
		row := results.Row{Name: first.Probe, Probe: first.Probe, Methods: len(g.list), InContext: true, Within: first.Within, Label: first.Label, Context: first.Context}
		for i := range g.list {
			row.Add(&g.list[i].Totals)
		}
		row.Timing = results.TimingOf(row)
		rows = append(rows, row)
	}
	return rows
}

// called returns the rows with calls that are known or may be missing.
func called(rows []results.Row) []results.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r results.Row) bool { return !r.IsCalled() })
}

var reportColumns = format.Columns(">CALLS", ">TOTAL", ">SELF", ">MEAN", ">P99", ">MAX", ">THREW", ">RUNNING", "PROBE", "METHOD")

var probeColumns = format.Columns(">CALLS", ">SELF", ">MEAN", ">P99", ">MAX", ">THREW", ">RUNNING", ">METHODS", "PROBE")

// reportExpendable are the columns that a narrow terminal drops, in this order.
var reportExpendable = []string{"RUNNING", "THREW", "SELF", "MAX", "P99", "TOTAL"}

func (r *arenaReport) writeHead(out io.Writer) {
	line := fields(out, 9)
	used, limit := r.Room()
	line("arena", "%s, %s of %s used", r.Path, format.Size(used), format.Size(limit))
	owner := r.Owner
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

func (r *arenaReport) processText() string {
	owner := r.Owner
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

func (r *arenaReport) writeTables(out io.Writer, top, width int) {
	write := func(columns []format.Column, all []results.Row, texts func([]results.Row) [][]string) {
		rows, hidden := topOf(all, top)
		if len(rows) == 0 {
			return
		}
		columns, cells := format.WithoutEmpty(columns, texts(rows))
		columns, cells = format.FitTable(columns, cells, reportExpendable, width)
		format.WriteTable(out, columns, cells, width)
		if hidden > 0 {
			_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", format.Count(hidden, "row more", "rows more"))
		}
		_, _ = fmt.Fprintln(out)
	}
	write(probeColumns, r.probes, probeTexts)
	write(reportColumns, called(r.methods), r.methodTexts)
}

func timeTexts(r *results.Row) (total, self, mean, p99, longest string) {
	total, self = totalTexts(r)
	mean, p99, longest = "-", "-", "-"
	if r.Timed > 0 {
		mean, longest = about(r)+format.Call(r.Mean()), about(r)+format.Call(float64(r.Max))
	}
	if tail := r.P99(); tail >= 0 {
		p99 = about(r) + format.Call(tail)
	}
	return total, self, mean, p99, longest
}

func (r *arenaReport) methodTexts(rows []results.Row) (texts [][]string) {
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
		texts = append(texts, []string{
			callsText(row.Calls, row.LowerBound), self, mean, p99, longest, format.Grouped(int(row.Threw)), format.OrDash(groupedOrNone(row.Active)), format.Grouped(row.Methods), format.Printable(row.Probe + inContext(row.Context)),
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

func (r *arenaReport) writeFoot(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s by %s\n", format.Count(int(r.calls), "call", "calls"), format.Count(r.results.Threads, "thread", "threads"))
	for _, line := range r.remarks() {
		_, _ = fmt.Fprintln(out, format.Printable(line))
	}
}

func (r *arenaReport) remarks() (lines []string) {
	if r.State != results.Measuring {
		when := "when the JVM exited"
		if r.State == results.Out || r.IsStopped() {
			when = "when the hooks were removed"
		}
		lines = addCount(lines, r.active, "call was", "calls were", "running "+when+", with unknown time")
	}
	lines = addCount(lines, uint64(len(r.methods)-len(called(r.methods))), "method was", "methods were", "not called")
	if hasLowerBound(r.methods) {
		lines = append(lines, lowerBoundNote)
	}
	lines = append(lines, arenaNotes(r.untimed, r.results.Dropped)...)
	lines = addCount(lines, r.undecided, "call is", "calls are", "not counted: the condition could not be evaluated")
	lines = append(lines, contextNotes(r.results.ContextsLost, r.results.Ambiguous)...)
	if slices.ContainsFunc(r.methods, func(row results.Row) bool { return row.Label.Unknown }) {
		lines = append(lines, "rows marked (unknown): the agent ran out of label slots, so their tags or callers were not recorded")
	}
	lines = addCount(lines, uint64(len(r.Left)), "class or method was", "classes or methods were", "left alone when the pack was made: sonde pack show --left says why")
	return append(lines, r.Notes...)
}

func (r *arenaReport) describe(top int) document.Report {
	owner := r.Owner
	d := document.Report{
		Arena: r.Path, PID: owner.Target, State: string(r.State), Since: owner.Opened.Round(time.Millisecond), Command: owner.Command,
		Pack: r.Pack, Title: r.Title, Calls: r.calls, Threads: r.results.Threads, UnderWay: r.active, Untimed: r.untimed,
		Dropped: r.results.Dropped, ContextsLost: r.results.ContextsLost, Ambiguous: r.results.Ambiguous,
		Methods: []document.ReportMethod{}, LeftAlone: document.NewPackLeft(r.Left, true), Remarks: r.remarks(),
	}
	d.ArenaUsed, d.ArenaRoom = r.Room()
	if r.JVM != nil {
		d.PID, d.Main = r.JVM.PID, r.JVM.Main
	}
	if r.packed {
		d.Classes = document.NewAccount(&r.account)
	}
	probes, _ := topOf(r.probes, top)
	methods, _ := topOf(r.methods, top)
	for _, row := range probes {
		d.Probes = append(d.Probes, document.NewReportProbe(&row))
	}
	for _, row := range methods {
		d.Methods = append(d.Methods, document.NewReportMethod(&row))
	}
	return d
}
