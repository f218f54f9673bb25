package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type countCommand struct {
	targetFlags
	timing   results.Timing
	period   uint32
	sort     string
	top      int
	interval time.Duration
	paced    bool // --interval was given
	duration time.Duration
	calls    uint64
	json     bool
	contexts contextFlags
	wanted   *probeset.Set // of contexts; nil if none is used
}

const countLong = `Count and time the calls of methods in a running JVM. The methods that match get
hooks, also in classes that load later. When the command ends, by Ctrl-C, --duration
or --calls, it removes all hooks and prints the result. If Sonde is killed, the agent
removes the hooks by itself.

CALLS    number of calls, all of them. ≥ marks methods that HotSpot may replace by an
         intrinsic (Math.max): calls from compiled code are then not counted
CALLS/S  calls per second since the last table; in the final table, over the whole time
TOTAL    time of all calls, including running calls so far; for a method that calls
         itself, time of the outermost calls
SELF     TOTAL of calls that have ended, without the calls of other hooked methods
         (exact timing only)
MEAN     mean time of a call that has ended; below 50 ns it is mostly the hook's own time
THREW    calls that ended with an exception
RUNNING  calls that are running now (exact timing only)

Timing
  exact    every call is timed, with two clock readings
  sampled  every call is counted; one in N (--sample 1/N), chosen at random, is timed. Times
           are estimates, marked with ~; ±8 % is half of the 95 % confidence interval
  none     calls are only counted, which costs least
Times include the cost of the hooks. Sonde measures this cost in the JVM and prints it.

A method that cannot get a hook is reported with the reason. Some JDKs lose parts of a
class when it is changed (sonde doctor lists these bugs). Sonde works around this; where
it cannot, the class gets no hooks, unless --force is given.

` + contextLong + `

On a terminal, the table is updated in place:
Keys  c, t, s, m, n  sort by calls, total, self, mean, name
      arrows         select a row, Enter profiles or traces its method
      /              filter    p  pause    ?  help    q  quit, as Ctrl-C

With --json, one object is written at the end. With --json and --interval, one object
is written per interval, each on its own line; the last one has "final":true.`

func newCount(s streams) *cobra.Command {
	c := &countCommand{targetFlags: targetFlags{streams: s}}
	command := &cobra.Command{
		Use:   "count PID PATTERN...",
		Short: "Count and time the calls of methods in a running JVM",
		Long:  countLong,
		Example: `  sonde count 4711 'com.acme.**'
  sonde count 4711 'com.acme.**' '!**.get*' --sort self --top 20 --duration 30s
  sonde count 4711 com.acme.Order.pay --calls 1000 --json
  sonde count 4711 'org.h2.**' --sample 1/128
  sonde count 4711 'java.sql.Statement.execute*' '@com.acme.Timed' '** calls java.net.Socket.connect'
  sonde count 4711 com.acme.Pay.charge --within 'com.acme.Web.handle >> com.acme.Order.*'
  sonde count 4711 com.acme.Pay.charge --when '$1.customer.tier == "gold" && $2 > 100'
  sonde count 4711 com.acme.Pay.charge --tag 'tier=$1.tier at com.acme.Web.handle' --by-tag tier`,
		Args: atLeast("PID", "PATTERN"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.Var(oneOf(&c.timing, results.Exact, "exact", "sampled", "none"), "timing", "exact, sampled or none")
	flags.Var(oneIn(&c.period, 64), "sample", "with --timing sampled, which it implies: time one call in N, chosen at random")
	formerPeriod(command, &c.period)
	flags.Var(oneOf(&c.sort, "total", countOrders...), "sort", "calls, total, self, mean or name")
	flags.VarP(number(&c.top, 0, 0, 0), "top", "n", "show at most `N` methods; 0 shows all")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", intervalUsage)
	flags.VarP(span(&c.duration, 0, 0, 0), "duration", "d", "end after this time; 0 continues until Ctrl-C")
	flags.Uint64Var(&c.calls, "calls", 0, "end after `N` calls in total, or a few more: the count is read every 20 ms")
	flags.BoolVar(&c.json, "json", false, "write JSON")
	c.contexts.register(command)
	c.targetFlags.register(flags)
	c.registerYes(flags)
	c.settle.register(flags)
	c.registerBudget(flags)
	return command
}

func (c *countCommand) check(args []string, given func(string) bool) error {
	c.paced = given("interval")
	if err := c.parse(args); err != nil {
		return err
	}
	if isSampled := given("sample") || given("period"); isSampled && !given("timing") {
		c.timing = results.Sampled
	} else if isSampled && c.timing != results.Sampled {
		return usage("--sample needs --timing sampled")
	}
	if c.period == 1 && c.timing == results.Sampled {
		c.timing = results.Exact
	}
	if c.contexts.isUsed() {
		var err error
		if c.wanted, err = c.probes(); err != nil {
			return err
		}
	}
	if c.timing == results.Untimed && (c.sort == "total" || c.sort == "self" || c.sort == "mean") {
		c.sort = "calls"
	}
	return nil
}

// probes returns the set that measures what the command asks for.
func (c *countCommand) probes() (*probeset.Set, error) {
	set, err := c.contexts.set(c.methods)
	if err != nil {
		return nil, err
	}
	switch p := &set.Probes[0]; c.timing {
	case results.Untimed:
		p.Level = probeset.Count
	case results.Sampled:
		p.Sample = c.period
	}
	return set, nil
}

var countOrders = []string{"calls", "mean", "name", "self", "total"}

var countKeys = map[rune]string{'c': "calls", 'm': "mean", 'n': "name", 's': "self", 't': "total"}

const intervalUsage = "time between two tables, or with --json between two objects"

const (
	mostPeriod    = 1 << 20
	leastInterval = 50 * time.Millisecond
	// callsEvery is how often a command with --calls compares the number of calls.
	callsEvery = 20 * time.Millisecond
)

func (c *countCommand) flags() (flags arena.Flags, period uint32) {
	switch c.timing {
	case results.Sampled:
		return arena.On | arena.Flat | arena.Sampled, c.period
	case results.Untimed:
		return arena.On | arena.Flat, 0
	}
	return arena.On | arena.Flat | arena.Timed, 0
}

// commandLine is the command as other commands show it that find the JVM in use.
func commandLine(name string, patterns []string) string {
	const most = 200
	words := []string{"sonde", name}
	for _, pattern := range patterns {
		words = append(words, shellWord(pattern))
	}
	line := []rune(format.Printable(strings.Join(words, " ")))
	if len(line) > most {
		line = append(line[:most-1], '…')
	}
	return string(line)
}

type countRun struct {
	*countCommand
	liveSession

	errors  map[uint32]*results.Uncertainty // of sampled times, by method
	shownAt time.Time                       // the last look
	shown   map[uint32]uint64
}

func (c *countCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
	r := &countRun{countCommand: c, liveSession: liveSession{target: &c.targetFlags, screen: newScreen(c.streams), applied: appliedSet{set: c.wanted}, typed: c.probes}}
	flags, period := c.flags()
	if err := r.enter(ctx, "count", flags, period); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	ended := r.watch(ctx)
	look, err := r.look() // before the hooks go out
	if err != nil {
		_, leaving := r.leave(ctx, ended)
		return errors.Join(err, leaving)
	}
	look.Final, look.Ended = true, string(ended)
	r.cost.Measure(context.WithoutCancel(ctx))
	r.screen.clear()
	farewell, failure := r.leave(ctx, ended)
	look.farewell = farewell
	return errors.Join(r.write(look), failure)
}

// watch shows what happens until the end, and returns why that came.
func (r *countRun) watch(ctx context.Context) ending {
	s := waitLoop{done: r.session.Done(), why: r.endedBy, screen: r.screen}
	s.press = func(key rune) { r.sort = cmp.Or(countKeys[key], r.sort) }
	s.endAfter(r.duration, r.began)
	s.endAtCalls(r.calls, func() uint64 {
		found, err := r.read()
		if err != nil {
			return 0 // the end reports it
		}
		return found.Calls
	})
	if r.timing == results.Sampled {
		const batchEvery = 100 * time.Millisecond
		s.addTask(batchEvery, func() ending {
			r.takeBatch()
			return notEnded
		})
	}
	s.addTask(r.interval, func() ending { return afterWrite(r.show(ctx)) })
	return s.wait(ctx)
}

// takeBatch adds the times since the last batch to the uncertainty of each method.
func (r *countRun) takeBatch() {
	found, err := r.read()
	if err != nil {
		return // the end reports it
	}
	if r.errors == nil {
		r.errors = make(map[uint32]*results.Uncertainty)
	}
	for i := range found.rows {
		row := &found.rows[i]
		if r.errors[row.ID] == nil {
			r.errors[row.ID] = &results.Uncertainty{}
		}
		r.errors[row.ID].Add(&row.Totals)
	}
}

func (r *countRun) write(look *countLook) error {
	r.reportLate(r.leftAlone())
	look.overall()
	r.keepResult(r.describe(look), func(out io.Writer) { r.writeText(out, look, 0) })
	err := r.writeResult(r.json, r.describe(look), func(out io.Writer) { r.writeText(out, look, r.outWidth()) })
	if err == nil {
		r.reportFarewell(look.farewell)
	}
	return err
}

// read reads what was measured, without rates.
func (r *countRun) read() (*countLook, error) {
	found, rows, err := r.readRows()
	if err != nil {
		return nil, err
	}
	look := &countLook{rows: rows, elapsed: time.Since(r.began), losses: append(losses(found), r.applied.conditionNote()...)}
	look.Count = document.Count{
		PID: r.pid, JDK: r.session.JDK().String(), Main: r.session.JVM().Main, Patterns: r.patterns, Timing: string(r.timing),
		Began: r.began.Round(time.Millisecond), Seconds: look.elapsed.Seconds(), Threads: found.Threads, Dropped: found.Dropped,
	}
	for i := range rows {
		rows[i].Timing = r.timing
		if rows[i].Thinned && r.timing == results.Exact {
			rows[i].Timing = results.Sampled
		}
		look.Calls += rows[i].Calls
		look.Untimed += rows[i].Totals.Untimed
	}
	return look, nil
}

type countLook struct {
	document.Count
	elapsed  time.Duration // since the hooks went on
	rows     []results.Row // all methods with hooks, sorted
	rate     float64
	losses   []string          // what is missing in results by context
	farewell *session.Farewell // nil if the hooks were out already
}

// look reads what was measured, with rates since the last look.
func (r *countRun) look() (*countLook, error) {
	look, err := r.read()
	if err != nil {
		return nil, err
	}
	now := r.began.Add(look.elapsed)
	since := look.elapsed.Seconds()
	if !r.shownAt.IsZero() {
		since = now.Sub(r.shownAt).Seconds()
	}
	before, seen := r.shown, make(map[uint32]uint64, len(look.rows))
	var fresh uint64
	for i := range look.rows {
		row := &look.rows[i]
		row.Uncertainty = r.errors[row.ID]
		seen[row.ID] = row.Calls
		row.PerSecond = float64(row.Calls-min(row.Calls, before[row.ID])) / since
		fresh += row.Calls - min(row.Calls, before[row.ID])
	}
	look.rate = float64(fresh) / since
	r.shownAt, r.shown = now, seen
	results.SortRows(look.rows, r.sort)
	return look, nil
}

// overall replaces rates by those of the whole time.
func (l *countLook) overall() {
	for i := range l.rows {
		l.rows[i].PerSecond = float64(l.rows[i].Calls) / l.elapsed.Seconds()
	}
	l.rate = float64(l.Calls) / l.elapsed.Seconds()
}

// show draws the table on a terminal; elsewhere it writes one per interval.
func (r *countRun) show(ctx context.Context) error {
	if r.screen.silent && !r.paced || r.json && !r.paced {
		return nil
	}
	r.cost.Refresh(ctx, r.began)
	look, err := r.look()
	if err != nil {
		return nil //nolint:nilerr // the end reports it
	}
	switch {
	case r.json:
		return document.Write(r.out, r.describe(look))
	case r.screen.silent:
		return r.print(func(out io.Writer) {
			r.writeText(out, look, 0)
			_, _ = fmt.Fprintln(out)
		})
	}
	r.screen.show(func(width int) service.Frame { return r.frame(look, width) })
	return nil
}

func (r *countRun) frame(look *countLook, width int) service.Frame {
	results.SortRows(look.rows, r.sort) // a key may have changed the order
	rows, hidden := calledRows(look.rows, cmp.Or(r.top, mostRows))
	overloads := overloadsOf(look.rows)
	columns, texts := format.FitTable(countColumns, rowTexts(rows, overloads), expendable, width)
	frame := service.Frame{
		PID: r.pid, Lines: []string{r.headline(look), r.costText(look)}, Foot: moreLine(hidden), Sort: r.sort, Keys: "[c]alls [t]otal [s]elf [m]ean [n]ame",
	}
	frame.Titles, frame.Rows = format.TableRows(columns, texts, width, func(i int, row *format.Row) {
		row.Name, row.Method = rowName(&rows[i], overloads), rows[i].Class+"."+rows[i].Name
	})
	return frame
}

// calledRows returns the first rows with calls, and how many more there are; top is 0 for all.
func calledRows(rows []results.Row, top int) (shown []results.Row, hidden int) {
	return topOf(slices.DeleteFunc(slices.Clone(rows), func(r results.Row) bool { return r.Calls == 0 }), top)
}

func (r *countRun) headline(look *countLook) string {
	times := withEstimates("exact times", look.thinned())
	switch r.timing {
	case results.Sampled:
		times = fmt.Sprintf("one call in %d timed", r.period)
	case results.Untimed:
		times = "no times"
	}
	calls := format.AtLeast(hasLowerBound(look.rows), format.Count(int(look.Calls), "call", "calls"))
	return fmt.Sprintf("%s: %s, %s/s, %s, %s", format.Duration(look.elapsed), calls,
		format.Rate(look.rate), format.Count(look.Threads, "thread", "threads"), times)
}

func (r *countRun) costText(look *countLook) string {
	cost := r.cost.Cost()
	if cost == nil {
		return "the cost of the hooks is unknown"
	}
	text := fmt.Sprintf("hooks cost about %s per call (%s to %s in %d runs), %s of one processor so far",
		format.Nanos(cost.Median), format.Nanos(cost.Low), format.Nanos(cost.High), cost.Runs, format.Percent(look.share(cost)))
	switch r.timing {
	case results.Exact:
		text += "; times include this"
	case results.Sampled:
		text += "; times include the cost of hooks in callees"
	}
	return text
}

// thinned returns the number of methods of which fewer calls are timed, to keep the budget.
func (l *countLook) thinned() (methods int) {
	for i := range l.rows {
		if l.rows[i].Thinned {
			methods++
		}
	}
	return methods
}

// share returns the part of one processor that hooks have used.
func (l *countLook) share(cost *session.HookCost) float64 {
	var calls, timed uint64
	for i := range l.rows {
		row := &l.rows[i]
		calls += row.Calls
		if row.Thinned {
			timed += row.Timed
		} else {
			timed += row.Calls // each has the full cost of a hook
		}
	}
	return hookNanos(calls, timed, cost) / float64(l.elapsed)
}

func (r *countRun) writeText(out io.Writer, look *countLook, width int) {
	writeDisturbed(out, r.disturbed())
	rows, hidden := calledRows(look.rows, r.top)
	if len(rows) > 0 {
		format.WriteTable(out, countColumns, rowTexts(rows, overloadsOf(look.rows)), width, expendable...)
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprintln(out, r.headline(look))
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", format.Count(hidden, "method is", "methods are"))
	}
	writeLines(out, idleLines(look.rows, r.contexts.when != ""))
	if hasLowerBound(look.rows) {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	untimed := look.Untimed
	if r.timing == results.Untimed {
		untimed = 0 // as asked for
	}
	writeLines(out, arenaNotes(untimed, look.Dropped))
	writeLines(out, look.losses)
	_, _ = fmt.Fprintln(out, r.costText(look))
	writeDisturbance(out, r.disturbance)
}

func (v *liveSession) describeHooks() *document.Hooks {
	var unmatched []string
	if v.applied.isUsed() {
		unmatched = v.applied.unmatched()
	}
	hooks := document.NewHooks(v.session, v.installation, batchCosts(v.installation.Batches), unmatched)
	hooks.Settling = v.recovery
	return hooks
}

func (r *countRun) describe(look *countLook) document.Count {
	d := look.Count
	d.Methods = []document.Method{}
	if r.timing == results.Sampled {
		d.Period = r.period
	}
	rows, _ := topOf(look.rows, r.top)
	for i := range rows {
		d.Methods = append(d.Methods, document.NewMethod(&rows[i]))
	}
	if cost := r.cost.Cost(); cost != nil {
		d.HookCost = document.NewHookCost(cost, look.share(cost))
	}
	if look.Final {
		d.Hooks, d.LeftAlone, d.Leaving, d.Remarks = r.describeHooks(), document.NewLeft(r.leftAlone()), document.NewLeaving(look.farewell), r.remarksWith(look.losses)
		d.Hooks.Methods, d.Disturbed, d.Disturbance = len(look.rows), r.disturbed(), r.disturbance
	}
	return d
}
