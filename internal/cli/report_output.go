package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var reportColumns = []column{
	{"CALLS", true}, {"TOTAL", true}, {"SELF", true}, {"MEAN", true}, {"P99", true}, {"MAX", true}, {"THREW", true}, {"RUNNING", true},
	{"PROBE", false}, {"METHOD", false},
}

var probeColumns = []column{
	{"CALLS", true}, {"SELF", true}, {"MEAN", true}, {"P99", true}, {"MAX", true}, {"THREW", true}, {"RUNNING", true}, {"METHODS", true}, {"PROBE", false},
}

// reportExpendable are the columns a narrow terminal goes without, the first to go first.
var reportExpendable = []string{"RUNNING", "THREW", "SELF", "MAX", "P99", "TOTAL"}

// writeHead says what the arena is of.
func (r *reported) writeHead(out io.Writer) {
	line := func(title, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%-9s%s\n", title, printable(fmt.Sprintf(format, args...)))
	}
	used, limit := r.Room()
	line("arena", "%s, %s of %s used", r.Arena, sizeText(used), sizeText(limit))
	owner := r.Owner()
	line("process", "%s", r.processText())
	line("since", "%s (%s ago)", owner.Opened.Local().Format(time.DateTime), shortDuration(time.Since(owner.Opened)))
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
		return fmt.Sprintf("%d%s, runs; the hooks are out", r.JVM.PID, inBrackets(r.JVM.Main))
	}
	return fmt.Sprintf("%d, has ended", owner.Target)
}

// accountText is how many classes of a pack were woven, and how many were not.
func accountText(a *arena.Account) string {
	text := grouped(int(a.Woven)) + " woven"
	for _, not := range []struct {
		count uint32
		why   string
	}{
		{a.Differs, "not as packed"}, {a.Blind, "of loaders that do not see the hooks"}, {a.Failed, "failed"},
	} {
		if not.count > 0 {
			text += fmt.Sprintf(", %s %s", grouped(int(not.count)), not.why)
		}
	}
	return text
}

// unwovenText names some of the classes that were not woven; empty where all were.
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
		text += fmt.Sprintf(" and %s more", grouped(rest))
	}
	return text
}

// writeTables writes what probes and methods did.
func (r *reported) writeTables(out io.Writer, top, width int) {
	write := func(columns []column, all []results.Row, texts func([]results.Row) [][]string) {
		rows := all
		if top > 0 {
			rows = rows[:min(top, len(rows))]
		}
		if len(rows) == 0 {
			return
		}
		columns, cells := withoutEmpty(columns, texts(rows))
		if width > 0 {
			columns, cells = fit(columns, cells, present(reportExpendable, columns), width)
		}
		writeTable(out, columns, cells, width)
		if hidden := len(all) - len(rows); hidden > 0 {
			_, _ = fmt.Fprintf(out, "and %s (--top 0 shows all)\n", count(hidden, "row more", "rows more"))
		}
		_, _ = fmt.Fprintln(out)
	}
	write(probeColumns, r.probes, probeTexts)
	write(reportColumns, called(r.methods), r.methodTexts)
}

// present are the names of columns that there are.
func present(names []string, columns []column) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(columns, func(c column) bool { return c.title == name })
	})
}

// withoutEmpty takes out the columns in which no row has anything.
func withoutEmpty(columns []column, rows [][]string) ([]column, [][]string) {
	isEmpty := func(at int) bool {
		return !slices.ContainsFunc(rows, func(row []string) bool { return row[at] != "" && row[at] != "-" })
	}
	kept, cells := []column(nil), make([][]string, len(rows))
	for at := range columns {
		if at < len(columns)-1 && isEmpty(at) {
			continue
		}
		kept = append(kept, columns[at])
		for i := range rows {
			cells[i] = append(cells[i], rows[i][at])
		}
	}
	return kept, cells
}

// timeTexts are the cells of the times of a row.
func timeTexts(r *results.Row) (total, self, mean, p99, longest string) {
	total, self, mean, p99, longest = "-", "-", "-", "-", "-"
	if r.HasTimes() {
		total = about(r) + nanosText(r.Total())
	}
	if r.HasTimes() && r.Timing == results.Exact {
		self = nanosText(r.SelfTime())
	}
	if r.Timed > 0 {
		mean, longest = about(r)+callText(r.Mean()), about(r)+callText(float64(r.Max))
	}
	if tail := r.P99(); tail >= 0 {
		p99 = about(r) + callText(tail)
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
			callsText(row.Calls, row.LowerBound), total, self, mean, p99, longest, grouped(int(row.Threw)), orDash(groupedOrNone(row.Active)),
			printable(row.Probe), printable(strings.TrimPrefix(name, ".")),
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
			callsText(row.Calls, row.LowerBound), self, mean, p99, longest, grouped(int(row.Threw)), orDash(groupedOrNone(row.Active)), grouped(row.Methods), printable(name),
		})
	}
	return texts
}

func groupedOrNone(n uint64) string {
	if n == 0 {
		return ""
	}
	return grouped(int(n))
}

// writeFoot says how much was seen, and what the tables do not hold.
func (r *reported) writeFoot(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s by %s\n", count(int(r.calls), "call", "calls"), count(r.results.Threads, "thread", "threads"))
	for _, line := range r.remarks() {
		_, _ = fmt.Fprintln(out, printable(line))
	}
}

// hasUnknown tells whether results are told apart by something that is not known.
func (r *reported) hasUnknown() bool {
	return slices.ContainsFunc(r.methods, func(row results.Row) bool { return row.Label.Unknown })
}

// remarks are what a reader should know of the figures, in words.
func (r *reported) remarks() (lines []string) {
	tell := func(n uint64, one, many, what string) {
		if n > 0 {
			lines = append(lines, count(int(n), one, many)+" "+what)
		}
	}
	if r.State != results.Measuring {
		when := "when the JVM ended"
		if r.State == results.Out || r.IsStopped() {
			when = "when the hooks went out"
		}
		tell(r.active, "call was", "calls were", "under way "+when+": how long is not known")
	}
	tell(uint64(len(r.methods)-len(called(r.methods))), "method was", "methods were", "not called")
	if slices.ContainsFunc(r.methods, func(row results.Row) bool { return row.LowerBound }) {
		lines = append(lines, lowerBoundNote)
	}
	tell(r.untimed, "call was", "calls were", "counted without time: the arena had no room")
	tell(r.results.Dropped, "call was", "calls were", "not counted: the arena had no room")
	tell(r.undecided, "call", "calls", "are not counted: the condition could not be told")
	tell(r.results.ContextsLost, "call", "calls", "of sequences and tags found no room: what is below them has no context")
	tell(r.results.Ambiguous, "task was", "tasks were", "handed over again before they began: they have no context")
	if r.hasUnknown() {
		lines = append(lines, "what the tags or callers of (unknown) were the agent had no room to tell")
	}
	tell(uint64(len(r.Left)), "class or method was", "classes or methods were", "left alone when the pack was made: sonde pack show --left tells why")
	return append(lines, r.Notes...)
}

// reportJSON is what `sonde report --json` writes.
type reportJSON struct {
	Arena        string            `json:"arena"`
	PID          int               `json:"pid"`   // as it is seen from here, or where it has ended as it saw itself
	State        string            `json:"state"` // measuring, out, ended
	Main         string            `json:"main,omitempty"`
	Since        time.Time         `json:"since"`
	Command      string            `json:"command,omitempty"`
	Pack         string            `json:"pack,omitempty"`
	Title        string            `json:"title,omitempty"`
	Classes      *accountJSON      `json:"classes,omitempty"`
	Calls        uint64            `json:"calls"`
	Threads      int               `json:"threads"`
	UnderWay     uint64            `json:"underWay"` // calls that have begun and not ended
	Untimed      uint64            `json:"callsWithoutTime"`
	Dropped      uint64            `json:"callsNotCounted"`
	ContextsLost uint64            `json:"contextsLost"`
	Ambiguous    uint64            `json:"ambiguousTasks"`
	ArenaUsed    int64             `json:"arenaUsed"`
	ArenaRoom    int64             `json:"arenaRoom"`
	Probes       []reportProbeJSON `json:"probes,omitempty"`
	Methods      []reportRowJSON   `json:"methods"`
	LeftAlone    []leftJSON        `json:"leftAlone,omitempty"` // when the pack was made
	Remarks      []string          `json:"remarks,omitempty"`
}

// accountJSON is what became of the classes of a pack.
type accountJSON struct {
	Woven    uint32        `json:"woven"`
	Differs  uint32        `json:"differs"`
	Blind    uint32        `json:"blind"`
	Failed   uint32        `json:"failed"`
	NotWoven []unwovenJSON `json:"notWoven,omitempty"` // those there was room to name
}

type unwovenJSON struct {
	Class string `json:"class"`
	Why   string `json:"why"` // differs, blind, failed
}

func describeAccount(a *arena.Account) *accountJSON {
	d := &accountJSON{Woven: a.Woven, Differs: a.Differs, Blind: a.Blind, Failed: a.Failed}
	for _, left := range a.Left {
		d.NotWoven = append(d.NotWoven, unwovenJSON{strings.ReplaceAll(left.Class, "/", "."), string(left.Why)})
	}
	return d
}

// timesJSON are figures of calls. Times are there only where calls were timed, and are of
// those alone: nothing in it is estimated.
type timesJSON struct {
	Calls uint64 `json:"calls"`
	lowerBoundJSON
	Exceptions uint64   `json:"exceptions"`
	Running    uint64   `json:"running"`
	Timing     string   `json:"timing"` // exact, sampled, none
	Timed      uint64   `json:"timed"`
	Undecided  uint64   `json:"undecided,omitempty"`
	TotalNanos *uint64  `json:"totalNanos,omitempty"`
	SelfNanos  *int64   `json:"selfNanos,omitempty"`
	MeanNanos  *float64 `json:"meanNanos,omitempty"`
	P99Nanos   *float64 `json:"p99Nanos,omitempty"`
	MaxNanos   *uint64  `json:"maxNanos,omitempty"`
}

type reportRowJSON struct {
	Class      string `json:"class"`
	Method     string `json:"method"`
	Descriptor string `json:"descriptor"`
	Probe      string `json:"probe,omitempty"`
	timesJSON
	labelJSON
}

type reportProbeJSON struct {
	Probe   string `json:"probe"`
	Methods int    `json:"methods"`
	timesJSON
	labelJSON
}

func describeTimes(r *results.Row) timesJSON {
	d := timesJSON{Calls: r.Calls, Exceptions: r.Threw, Running: r.Active, Timing: string(r.Timing), Timed: r.Timed, Undecided: r.Undecided, lowerBoundJSON: describeLowerBound(r.LowerBound)}
	if r.Timed > 0 {
		mean := r.Mean()
		d.TotalNanos, d.MeanNanos, d.MaxNanos = &r.Nanos, &mean, &r.Max
	}
	if r.Timed > 0 && r.Timing == results.Exact {
		d.SelfNanos = &r.Self
	}
	if tail := r.P99(); tail >= 0 {
		d.P99Nanos = &tail
	}
	return d
}

func (r *reported) describe(top int) reportJSON {
	owner := r.Owner()
	d := reportJSON{
		Arena: r.Arena, PID: owner.Target, State: string(r.State), Since: owner.Opened.Round(time.Millisecond), Command: owner.Command,
		Pack: r.Pack, Title: r.Title, Calls: r.calls, Threads: r.results.Threads, UnderWay: r.active, Untimed: r.untimed,
		Dropped: r.results.Dropped, ContextsLost: r.results.ContextsLost, Ambiguous: r.results.Ambiguous,
		Methods: []reportRowJSON{}, Remarks: r.remarks(),
	}
	d.ArenaUsed, d.ArenaRoom = r.Room()
	if r.JVM != nil {
		d.PID, d.Main = r.JVM.PID, r.JVM.Main
	}
	if r.packed {
		d.Classes = describeAccount(&r.account)
	}
	most := func(rows []results.Row) []results.Row {
		if top > 0 {
			return rows[:min(top, len(rows))]
		}
		return rows
	}
	for _, row := range most(r.probes) {
		d.Probes = append(d.Probes, reportProbeJSON{row.Probe, row.Methods, describeTimes(&row), describeLabel(row.Within, row.Label)})
	}
	for _, row := range most(r.methods) {
		d.Methods = append(d.Methods, reportRowJSON{row.Class, row.Name, row.Descriptor, row.Probe, describeTimes(&row), describeLabel(row.Within, row.Label)})
	}
	for _, left := range r.Left {
		d.LeftAlone = append(d.LeftAlone, leftJSON{strings.ReplaceAll(left.Class, "/", "."), left.Method, left.Reason})
	}
	return d
}
