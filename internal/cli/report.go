package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
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
	flags.VarP(number(&c.top, usualReportTop, 0, 0), "top", "n", "show at most `N` rows of a table; 0 shows all, the default with --json")
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
	return c.writeResult(c.json, r.describe(c.top), func(out io.Writer) {
		r.writeHead(out)
		r.writeTables(out, c.top, c.outWidth())
		r.writeFoot(out)
		writeRecords(out, results.AddRecords(r.results.Records), c.outWidth())
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
class loader cannot see the hooks, or weaving failed. What templates of your own (sonde
template) have recorded comes last.`

const reportExamples = `  sonde report /var/log/shop.arena --pack shop.pack
  sonde report 4711
  sonde report 4711 --sort mean --top 10
  sonde report shop.arena --json | jq '.methods[] | select(.calls > 1000) | .method'`

func fileRemedy(err error, name string) error {
	switch {
	case !errors.Is(err, arena.ErrNotArena) && !errors.Is(err, process.ErrNotPlain):
		return err
	case isPack(name):
		return fmt.Errorf("%s is a pack, not its measurements: name the arena of the program that was started with it, or its process number", name)
	case slices.Contains([]string{".json", ".html", ".jfr"}, strings.ToLower(filepath.Ext(name))):
		return fmt.Errorf("%s is not an arena: sonde report reads the arenas of packs; sonde convert and sonde hot read results from files", name)
	}
	return fmt.Errorf("%w; name the file that was given with arena=, or /tmp/sonde-PID-….arena; an arena of another version can be read only by the Sonde that made the pack", err)
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
		return fmt.Errorf("%w; the arena was removed although process %d is still running: restart the program with arena=FILE in a directory that is not cleaned automatically", err, pid)
	case errors.Is(err, arena.ErrNotArena):
		return fmt.Errorf("%w; only the Sonde that made the pack can read this arena", err)
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
	for _, g := range format.GroupBy(methods, func(m results.Row) key { return key{m.Probe, m.Context} }) {
		if g.Key.probe == "" {
			continue
		}
		first := &g.List[0]
		row := results.Row{Name: first.Probe, Probe: first.Probe, Methods: len(g.List), InContext: true, Within: first.Within, Label: first.Label, Context: first.Context}
		for i := range g.List {
			row.Add(&g.List[i].Totals)
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
		account := document.NewAccount(&r.account)
		line("classes", "%s", accountText(account))
		if named := unwovenText(account, mostNamed); named != "" {
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
		return fmt.Sprintf("%d%s, is running", r.JVM.PID, inBrackets(r.JVM.Main))
	case results.Out:
		return fmt.Sprintf("%d%s, is running; the hooks were removed", r.JVM.PID, inBrackets(r.JVM.Main))
	}
	return fmt.Sprintf("%d, has exited", owner.Target)
}

// accountText counts the classes of a pack that were woven and that were not.
func accountText(a *document.Account) string {
	text := format.Grouped(int(a.Woven)) + " woven"
	for _, not := range []struct {
		count uint32
		why   string
	}{
		{a.Differs, "different from the packed classes"}, {a.Blind, "with a class loader that cannot find the hooks"}, {a.Failed, "could not be woven"},
	} {
		if not.count > 0 {
			text += fmt.Sprintf(", %s %s", format.Grouped(int(not.count)), not.why)
		}
	}
	return text
}

// unwovenText names some of the classes that were not woven; empty if all were.
func unwovenText(a *document.Account, most int) string {
	if len(a.NotWoven) == 0 {
		return ""
	}
	var names []string
	for _, left := range a.NotWoven[:min(most, len(a.NotWoven))] {
		names = append(names, left.Class+" ("+left.Why+")")
	}
	text := "not woven: " + strings.Join(names, ", ")
	if rest := len(a.NotWoven) - len(names) + a.Unnamed(); rest > 0 {
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
		format.WriteTable(out, columns, cells, width, reportExpendable...)
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
		lines = append(lines, "rows marked (unknown): the arena had no room for more combinations of tags or callers, so theirs were not recorded")
	}
	lines = addCount(lines, uint64(len(r.Left)), "class or method", "classes or methods", "got no hook when the pack was made: sonde pack show --left says why")
	return append(lines, r.Notes...)
}

func (r *arenaReport) describe(top int) document.Report {
	owner := r.Owner
	d := document.Report{
		Arena: r.Path, PID: owner.Target, State: string(r.State), Since: owner.Opened.Round(time.Millisecond), Command: owner.Command,
		Pack: r.Pack, Title: r.Title, Calls: r.calls, Threads: r.results.Threads, UnderWay: r.active, Untimed: r.untimed,
		Dropped: r.results.Dropped, ContextsLost: r.results.ContextsLost, Ambiguous: r.results.Ambiguous,
		Methods: []document.ReportMethod{}, LeftAlone: document.NewPackLeft(r.Left, true), Remarks: r.remarks(), Records: results.AddRecords(r.results.Records),
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

const rowsByProbe = "probe"

const usualLiveSort = "calls"

type packLiveCommand struct {
	applyCommand // for --weave
	pack         string
	weave        bool
	once         bool
	stall        time.Duration
	by           string
	sort         string
	top          int
}

func newPackLive(s streams) *cobra.Command {
	c := &packLiveCommand{applyCommand: applyCommand{targetFlags: targetFlags{streams: s, usualBudget: overhead.Usual}, keep: usualKeep}}
	command := &cobra.Command{
		Use:     "live PID",
		Short:   "Show what a pack in a running JVM measures, or replace it",
		Long:    packLiveLong,
		Example: packLiveExamples,
		Args:    exactly("PID"),
		RunE:    checkAndRun(c),
	}
	flags := command.Flags()
	c.flags = flags
	flags.StringVar(&c.pack, "pack", "", "`FILE` of the pack, if the path that the JVM reports cannot be read")
	flags.BoolVar(&c.once, "once", false, "show everything since the program began, and end")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", "length of each reporting interval")
	flags.VarP(span(&c.duration, 0, 0, 0), "duration", "d", "end after this time; 0 continues until Ctrl-C")
	flags.Var(span(&c.stall, time.Second, positive, 0), "stall", "report calls that run for longer than this as stalled")
	flags.Var(oneOf(&c.by, rowsByProbe, rowsByProbe, byMethod), "by", "one row per probe or per method")
	flags.StringVar(&c.sort, "sort", usualLiveSort, "calls, errors, mean, p99, running or name; with --once as in sonde report, by default total")
	flags.VarP(number(&c.top, 0, 0, 0), "top", "n", "show at most `N` rows; 0 shows all")
	flags.BoolVar(&c.json, "json", false, "write JSON: an object per interval, or one with --once")
	flags.BoolVar(&c.weave, "weave", false, "remove the pack, and apply its probes with this command instead")
	flags.StringVarP(&c.file, probesFlag, "f", "", "with --weave: `FILE` of probes in place of the pack's own")
	flags.BoolVar(&c.yes, "yes", false, "with --weave: do not ask before changes")
	flags.BoolVar(&c.force, "force", false, "with --weave: "+forceUsage)
	flags.BoolVar(&c.listLeft, "left", false, "with --weave: list everything that gets no hook, with the reason")
	c.cache.register(flags)
	return command
}

// Flags of one mode only.
var (
	liveFlags  = []string{"duration", "interval", "stall", "by"} // not with --once
	lookFlags  = []string{"once", "stall", "by", "sort", "top"}
	weaveFlags = []string{probesFlag, "yes", "force", "left", "cache", "cache-share", "cache-trust", "no-cache"}
)

func (c *packLiveCommand) check(args []string, isSet func(flag string) bool) (err error) {
	c.paced = isSet("interval")
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if err := c.checkWay(isSet); err != nil {
		return err
	}
	switch {
	case c.once && results.Orders[c.sort] == nil:
		return usage("--sort %q: must be one of %s with --once", c.sort, strings.Join(slices.Sorted(maps.Keys(results.Orders)), ", "))
	case !c.once && monitorOrders[c.sort] == nil:
		return usage("--sort %q: must be one of %s", c.sort, strings.Join(monitorOrderNames(), ", "))
	}
	if c.file != "" {
		c.title = c.file
		c.set, _, err = readProbes(c.streams, c.file)
	}
	return err
}

// checkWay refuses flags of another mode: live, --once or --weave.
func (c *packLiveCommand) checkWay(isSet func(flag string) bool) error {
	of, other := weaveFlags, "needs --weave"
	if c.weave {
		of, other = lookFlags, "cannot be used with --weave"
	}
	if at := slices.IndexFunc(of, isSet); at >= 0 {
		return usage("--%s %s", of[at], other)
	}
	if !c.once {
		return nil
	}
	if at := slices.IndexFunc(liveFlags, isSet); at >= 0 {
		return usage("--%s cannot be used with --once, which shows everything since the program began", liveFlags[at])
	}
	if !isSet("sort") {
		c.sort = usualReportSort
	}
	return nil
}

func (c *packLiveCommand) run(ctx context.Context) error {
	jvm, err := inspect(c.pid)
	if err != nil {
		return err
	}
	h, err := results.OfJVM(jvm, c.pack)
	if err != nil {
		return insideRemedy(err, c.pid, c.pack)
	}
	defer h.Close()
	switch {
	case c.weave:
		return c.takeOver(ctx, h)
	case c.once:
		r := &reportCommand{streams: c.streams, sort: c.sort, top: c.top, json: c.json}
		return r.write(h)
	}
	return c.show(ctx, h)
}

const packLiveLong = `Show what a pack in a running JVM measures, live. The program was started with
-javaagent:sonde-agent.jar=pack=FILE (sonde env prints this option), so that its classes
were woven as they loaded, without a Sonde. Sonde finds the arena that the agent writes
by the notice that the agent has left. The JVM is not asked, and nothing is changed. The
table is that of sonde monitor, with a row per probe, or with --by method per method,
and the same keys. The first interval starts now; --once shows everything since the
program began, as sonde report does.

Classes that the pack could not weave are reported at the beginning: classes with other
bytes than those that were packed, and classes of a class loader that cannot find the
hooks.

--weave replaces the pack with this command: it removes the pack, as sonde undo does, and
applies the probes of the pack, or the file of -f, as sonde apply does, also to classes that
differ from the pack. The measurements of the pack stay in its arena: sonde report shows
them. When the command ends, the JVM has no hooks; the pack is active again when the
program is restarted.`

const packLiveExamples = `  sonde pack live 4711
  sonde pack live 4711 --by method --sort p99 --duration 1m
  sonde pack live 4711 --once --sort mean
  sonde pack live 4711 --json | jq '.total.callsPerSecond'
  sonde pack live 4711 --weave --duration 10m
  sonde pack live 4711 --weave -f more.yaml`

// takeOver removes the pack and makes this Sonde hold the JVM. All checks come before the
// first change.
func (c *packLiveCommand) takeOver(ctx context.Context, h *results.Reader) error {
	if c.set == nil {
		if h.Set == nil {
			return fmt.Errorf("the pack with the probes cannot be read%s: name it with --pack, or a file of probes with -f", inBrackets(strings.Join(h.Notes, "; ")))
		}
		c.set, c.title = h.Set, h.Pack
	}
	writeChanges(c.err, probeset.Diff(nil, c.set), c.width)
	if !c.yes && !confirm(ctx, c.streams, fmt.Sprintf("remove the pack from process %d, and apply this?", c.pid), false) {
		return errors.New("not confirmed; nothing was changed")
	}
	c.yes = true
	if err := c.evictPack(ctx, h); err != nil {
		return err
	}
	if err := c.hold(ctx, h.JVM); err != nil {
		return fmt.Errorf("the pack was removed from process %d, and nothing is measured now: %w", c.pid, err)
	}
	return nil
}

func (c *packLiveCommand) evictPack(ctx context.Context, h *results.Reader) error {
	occupants, unreachable, err := session.Owners(ctx, h.JVM, true)
	if err != nil {
		return err
	}
	for _, o := range occupants {
		defer o.Close()
	}
	at := slices.IndexFunc(occupants, func(o *session.Owner) bool { return o.Pack != "" })
	if at < 0 {
		for _, u := range unreachable {
			err = errors.Join(err, u)
		}
		return errors.Join(err, fmt.Errorf("the agent that uses the pack in process %d could not be reached; sonde status %d shows its state", c.pid, c.pid))
	}
	if hint := stoppedHint(c.pid); hint != "" {
		_, _ = fmt.Fprintf(c.err, "note: process %d cannot restore its classes%s\n", c.pid, hint)
	}
	start := time.Now()
	if err := evict(ctx, occupants[at]); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(c.err, "removed the pack from process %d in %s; sonde report %s shows its measurements\n", c.pid, format.Duration(time.Since(start)), format.Printable(shellWord(h.Path)))
	return nil
}

type packLiveRun struct {
	*packLiveCommand
	results *results.Reader
	table   liveTable
	before  []results.Record // recorded before the first interval
}

func (c *packLiveCommand) show(ctx context.Context, h *results.Reader) error {
	defer ignoreBrokenPipe()()
	r := newPackLiveRun(c, h)
	r.table.begin(monitor.Start(h.Now()))
	if err := r.table.read(); err != nil {
		return err
	}
	r.table.first = r.table.last               // earlier calls are not shown
	if found, err := h.Results(); err == nil { // the end reports errors
		r.before = found.Records
	}
	r.reportClasses()
	var s waitLoop
	s.endAfter(c.duration, time.Now())
	const lookEvery = 300 * time.Millisecond
	s.addTask(lookEvery, r.hasEnded)
	return r.finish(r.table.watch(ctx, &s, nil))
}

func newPackLiveRun(c *packLiveCommand, h *results.Reader) *packLiveRun {
	r := &packLiveRun{packLiveCommand: c, results: h}
	by := byPattern
	if c.by == byMethod || h.Set == nil { // then no probe has a name
		by = byMethod
	}
	sample := sampleOf(h)
	r.table = liveTable{
		streams: c.streams, screen: newScreen(c.streams), pid: c.pid, main: h.JVM.Main, interval: c.interval, sample: sample, times: func() string { return timesText(sample) },
		top: c.top, json: c.json, view: monitorView{sort: c.sort, by: by, hideIdle: true}, options: monitor.Options{Stall: c.stall},
		source: h, rows: r.watched, patternsOf: probeOf, costs: r.accountLine, describe: r.describe, records: r.records,
	}
	return r
}

// sampleOf returns the largest sampling period of the probes.
func sampleOf(h *results.Reader) uint32 {
	sample := uint32(1)
	if h.Set != nil {
		for _, p := range h.Set.Probes {
			sample = max(sample, p.Sample)
		}
	}
	return sample
}

func (r *packLiveRun) reportClasses() {
	say := r.table.screen.say
	say("reading the arena of process %d; %s", r.pid, format.Printable(r.accountLine(nil)))
	if account, has, err := r.results.Account(); has && err == nil && len(account.Left) > 0 {
		say("%s: sonde pack live %d --weave weaves them if possible", format.Printable(unwovenText(document.NewAccount(&account), mostNamed)), r.pid)
	}
	for _, note := range r.results.Notes {
		r.table.screen.note(note)
	}
}

// accountLine counts the classes of the pack by what happened to them.
func (r *packLiveRun) accountLine(*monitorTable) string {
	name := r.results.JVM.Pack.Path
	account, has, err := r.results.Account()
	if err != nil || !has {
		return "pack " + name
	}
	return "classes of pack " + name + ": " + accountText(document.NewAccount(&account))
}

func (r *packLiveRun) watched() []results.Row {
	found, err := r.results.Results()
	if err != nil {
		return nil // the end reports it
	}
	for i := range found.Rows {
		found.Rows[i].ID = found.Rows[i].Number
	}
	return found.Rows
}

func probeOf(row *results.Row) []string {
	if row.Probe == "" {
		return nil
	}
	return []string{row.Probe}
}

// hasEnded reports whether the JVM has exited or the pack was taken out.
func (r *packLiveRun) hasEnded() ending {
	switch {
	case r.results.IsStopped():
		r.table.screen.say("note: the pack was removed from process %d", r.pid)
		return endedUndone
	case !process.Local.Same(r.results.JVM):
		r.table.screen.say("note: process %d has exited", r.pid)
		return endedExited
	}
	return notEnded
}

func (r *packLiveRun) finish(ended ending) error {
	failure := r.table.writeRest(ended)
	whole := r.table.look(r.table.first)
	whole.final, whole.ended = true, ended
	r.table.screen.clear()
	err := r.writeResult(r.json, r.table.document(whole), func(out io.Writer) { r.table.writeWhole(out, whole, nil, r.outWidth()) })
	return errors.Join(err, failure)
}

// records returns what templates have recorded since the first interval began.
func (r *packLiveRun) records() []results.Recorded {
	found, err := r.results.Results()
	if err != nil {
		return nil // the end reports it
	}
	return slices.DeleteFunc(results.AddRecords(results.RecordsSince(r.before, found.Records)), func(one results.Recorded) bool { return one.Count == 0 })
}

func (r *packLiveRun) describe(d *document.Monitor, _ *monitorTable) {
	d.Main, d.Pack, d.Arena, d.Remarks, d.Records = r.table.main, r.results.JVM.Pack.Path, r.results.Path, r.results.Notes, r.records()
	if account, has, err := r.results.Account(); has && err == nil {
		d.Classes = document.NewAccount(&account)
	}
}
