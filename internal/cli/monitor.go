package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/prometheus"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The values of --by: of sonde monitor, and of sonde calls.
const (
	byPattern = "pattern"
	byMethod  = "method"
	byKey     = "key"
	byCaller  = "caller"
)

type monitorCommand struct {
	targetFlags
	interval   time.Duration
	stall      time.Duration
	duration   time.Duration
	sample     uint32
	by         string
	sort       string
	top        int
	json       bool
	prometheus string
	instance   string
	listen     string
	tokenFile  string
	calls      uint64
	failIf     []string
	bounds     []*probeset.Bound // of failIf
	contexts   contextFlags
	wanted     *probeset.Set // of contexts; nil if none is used
	name       string        // of the command
	rules      *callRules    // of sonde calls; nil otherwise
}

func newMonitor(s streams) *cobra.Command {
	c := &monitorCommand{targetFlags: targetFlags{streams: s, usualBudget: overhead.Usual}, name: "monitor"}
	command := &cobra.Command{
		Use:   "monitor PID METHOD...",
		Short: "Monitor methods of a running JVM: rates, percentiles, errors, stalls",
		Long:  monitorLong,
		Example: `  sonde monitor 4711 com.acme.Order.pay
  sonde monitor 4711 'com.acme.web.**' --by method --sort p99 --interval 5s
  sonde monitor 4711 com.acme.Order.pay com.acme.Pay.charge --stall 500ms --duration 10m
  sonde monitor 4711 com.acme.Order.pay --json | jq '.total.p99Nanos'
  sonde monitor 4711 com.acme.Order.pay --listen 9187 --sample 100
  sonde monitor 4711 com.acme.Order.pay -d 30s --fail-if 'p95 > 200ms' --fail-if 'errors > 1%'
  sonde monitor 4711 com.acme.Pay.charge --within com.acme.Web.handle --when '$2 > 100'
  sonde monitor 4711 com.acme.Pay.charge --tag 'tier=$1.tier at com.acme.Web.handle' --by-tag tier`,
		Args: atLeast("PID", "METHOD"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.Uint64Var(&c.calls, "calls", 0, "end after `N` calls in total, or a few more: the count is read every 20 ms")
	flags.Var(oneIn(&c.sample, 1), "sample", "time one call in N, chosen at random: 1/100")
	flags.Var(oneOf(&c.by, byPattern, byPattern, byMethod), "by", "one row per pattern or per method")
	c.contexts.register(command)
	c.registerMonitor(flags)
	return command
}

// registerMonitor adds the flags that sonde calls has, too.
func (c *monitorCommand) registerMonitor(flags *pflag.FlagSet) {
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", "length of each reporting interval")
	flags.Var(span(&c.stall, time.Second, positive, 0), "stall", "report calls that run for longer than this as stalled")
	flags.VarP(span(&c.duration, 0, 0, 0), "duration", "d", "end after this time; 0 continues until Ctrl-C")
	flags.Var(oneOf(&c.sort, "calls", monitorOrderNames()...), "sort", "calls, time, errors, mean, p99, running or name")
	flags.VarP(number(&c.top, 0, 0, 0), "top", "n", "show at most `N` rows; 0 shows all")
	flags.BoolVar(&c.json, "json", false, "write a JSON object per interval, each on its own line")
	flags.StringVar(&c.prometheus, "prometheus", "", "`FILE` to write for Prometheus after each interval")
	flags.StringVar(&c.listen, "listen", "", "`[ADDRESS:]PORT` at which /metrics is served for Prometheus; the default address is 127.0.0.1")
	flags.StringVar(&c.tokenFile, "token-file", "", "`FILE` to write a token to, which --listen then requires")
	flags.StringArrayVar(&c.failIf, "fail-if", nil, "`CONDITION` on the figures of the whole time, such as 'p95 > 200ms': if it holds, the exit code is 3; may be repeated")
	flags.StringVar(&c.instance, "instance", "", "`NAME` for Prometheus that distinguishes JVMs with the same main class: the label jvm")
	c.targetFlags.register(flags)
	c.registerYes(flags)
	c.settle.register(flags)
	c.registerBudget(flags)
}

func (c *monitorCommand) check(args []string, _ func(string) bool) (err error) {
	if err := c.parse(args); err != nil {
		return err
	}
	if c.contexts.isUsed() {
		if c.wanted, err = c.probes(); err != nil {
			return err
		}
	}
	return c.checkExport()
}

// checkExport checks the flags for Prometheus.
func (c *monitorCommand) checkExport() (err error) {
	if c.listen != "" {
		if c.listen, err = listenAddress(c.listen); err != nil {
			return err
		}
	}
	for _, text := range c.failIf {
		bound, ok := probeset.ParseBound(text)
		if !ok {
			return usage("--fail-if %q: must be %s", text, probeset.WantsBound)
		}
		c.bounds = append(c.bounds, bound)
	}
	if c.tokenFile != "" && c.listen == "" {
		return usage("--token-file needs --listen")
	}
	if c.prometheus != "" {
		return checkWritable(c.prometheus)
	}
	return nil
}

// probes returns the set that measures what the command asks for.
func (c *monitorCommand) probes() (*probeset.Set, error) {
	set, err := c.contexts.set(c.methods)
	if err == nil && c.sample > 1 {
		set.Probes[0].Sample = c.sample
	}
	return set, err
}

func (c *monitorCommand) flags() (flags arena.Flags, period uint32) {
	if c.sample > 1 {
		return arena.On | arena.Flat | arena.Spreads | arena.Sampled, c.sample
	}
	return arena.On | arena.Flat | arena.Spreads | arena.Timed, 0
}

// listenAddress reads the value of --listen. Without an address it is this machine alone.
func listenAddress(text string) (string, error) {
	host, port := "", text
	if _, err := strconv.ParseUint(text, 10, 16); err != nil {
		var problem error
		if host, port, problem = net.SplitHostPort(text); problem != nil {
			return "", usage("--listen %q: must be a port, or an address and a port, such as 9187 or 127.0.0.1:9187", text)
		}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", usage("--listen %q: the port must be a number from 0 to 65535", text)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

const monitorLong = `Monitor methods of a running JVM. The methods that match get hooks, also in classes that
load later, and each interval is reported. When the command ends, by Ctrl-C, --duration or
--calls, it removes all hooks and prints a summary of the whole time. If Sonde is
killed, the agent removes the hooks by itself.

CALLS    calls that began in the interval, all of them. ≥ marks methods that HotSpot may
         replace by an intrinsic: calls from compiled code are then not counted
CALLS/S  the same per second
ERRORS   calls that ended with an exception
MEAN     mean time of a call that ended in the interval; for a method that calls
         itself, of the outermost calls
P50 P90  times that 50, 90 and 99 of 100 calls did not exceed, accurate to 6 %,
P99      computed from the times of all calls, not from averages
MAX      the longest call, accurate to 6 % if an earlier call was longer
RUNNING  threads that are in such a call now
STALLED  threads that have been in such a call for longer than --stall

The cost of reading the clock is measured in the JVM and subtracted from all times;
times below 50 ns are not shown. Calls that often call other hooked methods include
the cost of those hooks. RUNNING and STALLED are read from memory shared with the
JVM, so they are shown even if the JVM hangs; only the outermost of nested calls
counts. Calls that began before the hooks were in place are not seen.

Each pattern has a row; a method counts for every pattern that matches it. With --by
method, each method has a row. The last row, total, counts each call once.

` + contextLong + `

--sample k times one call in k, chosen at random, which costs less. CALLS and ERRORS
are still exact. Times are those of the timed calls, marked with ~. RUNNING and
STALLED count only timed calls, and are marked with ≥.

--fail-if is for scripts: if a condition holds for a row, at the end and for the whole time,
a message names the row and the figure, and the exit code is 3. A condition compares (with
< <= > >=) one of: mean, max, p50 or another percentile with a time; running, the age of the
oldest call that runs, with a time; errors with a number or a part of the calls (1%); calls,
rate (calls a second) or stalled with a number. A condition on times never holds for
methods that were not called; 'calls < 1' holds for them.

On a terminal, the table is updated in place:
Keys  c, t, e, m, 9, r, n  sort by calls, time, errors, mean, P99, running, name
      g                    rows by pattern or by method
      arrows               select a row, Enter profiles or traces its method
      /                    filter    p  pause    ?  help    q  quit, as Ctrl-C
Without a terminal, one line per interval is printed for each row that has calls.

With --json, one object is written per interval, each on its own line. The last one,
with "final":true, covers the whole time; the counts of all others add up to it.

For Prometheus (text format 0.0.4), --prometheus writes a file, replaced in one step,
for the textfile collector of the node exporter; --listen serves /metrics. Both cover
the time since the start and include a histogram of times:
  sonde_calls_total  sonde_call_errors_total  sonde_call_seconds
  sonde_calls_running  sonde_calls_stalled  sonde_call_oldest_seconds
  sonde_calls_lost_total  sonde_monitor_up  sonde_calls_lower_bound (marked with ≥)
Every series has the label main, the main class or jar, and with --instance NAME the label
jvm, so that a program which is restarted continues its series; sonde_jvm_info has the
process number and the JDK. Rows by context also have the labels within, callers and tag_NAME. When the command
ends, the file stays, with sonde_monitor_up at 0. Everybody who can reach the address
of --listen can read method names, figures and tags, unless --token-file requires a token,
as Authorization: Bearer TOKEN (credentials_file in Prometheus). It is new at each start;
only this user can read the file. With --by method, each method has about 35 series.

Exit code: 0 if there is a result, 1 if there is none or on an error, 2 for an invalid command
line, 3 if a condition of --fail-if holds. If no method that matches has got a hook by the end,
there is no result.`

type monitorRun struct {
	*monitorCommand
	liveSession
	table  liveTable
	export *prometheus.Exporter
}

func (c *monitorCommand) run(ctx context.Context) (err error) {
	defer ignoreBrokenPipe()()
	r := newMonitorRun(c)
	if r.export, err = c.newExporter(); err != nil {
		return err
	}
	defer r.export.Close()
	flags, period := c.flags()
	if err := r.enter(ctx, c.name, flags, period); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	if r.rules != nil {
		meter := cost.Watch(r.session.JVM())
		defer meter.Close()
		r.table.collections = meter.Collections
		if r.table.outside, err = watchOutside(ctx, r.pid, r.interval); err != nil {
			r.remark("allocation and waits for locks are not shown: " + format.OneLine(err))
		} else {
			defer func() { _ = r.table.outside.samples.Close(ctx) }() // it has changed nothing
		}
	}
	r.table.begin(monitor.Start(r.session.Now()))
	r.table.main, r.table.source = r.session.JVM().Main, r.session
	if r.applied.isUsed() {
		r.table.source = r.applied
	}
	if r.table.options.Clock, err = r.session.ClockCost(ctx); err != nil && ctx.Err() == nil {
		r.remark("the cost of the clock could not be measured, so times include it: " + format.OneLine(err))
	}
	if address := r.export.Address(); address != "" {
		whom := ""
		if host, _, _ := net.SplitHostPort(address); c.tokenFile == "" && !isLoopback(host) {
			whom = " for everybody who can reach it; --token-file requires a token"
		}
		r.screen.say("serving http://%s/metrics%s", address, whom)
	}
	return r.finish(ctx, r.watch(ctx))
}

func (c *monitorCommand) newExporter() (*prometheus.Exporter, error) {
	var check func(*http.Request) error
	if c.tokenFile != "" {
		token := newToken()
		if err := writeToken(c.tokenFile, token); err != nil {
			return nil, err
		}
		check = func(r *http.Request) error {
			if !service.HasToken(r, token) {
				return service.ErrToken
			}
			return nil
		}
	}
	exporter, err := prometheus.NewExporter(c.prometheus, c.listen, check)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", c.listen, err)
	}
	return exporter, nil
}

func newMonitorRun(c *monitorCommand) *monitorRun {
	r := &monitorRun{monitorCommand: c, liveSession: liveSession{target: &c.targetFlags, screen: newScreen(c.streams), applied: appliedSet{set: c.wanted}, typed: c.probes}}
	r.table = liveTable{
		streams: c.streams, screen: r.screen, pid: c.pid, interval: c.interval, sample: c.sample, times: func() string { return withEstimates(timesText(c.sample), len(r.session.Thinned())) }, top: c.top, json: c.json,
		view: monitorView{sort: c.sort, by: c.by}, options: monitor.Options{Stall: c.stall}, costs: r.costText, describe: r.describeEnd,
		rows: r.rows, rules: c.rules,
	}
	if c.rules == nil {
		r.table.patterns = namesOf(c.set.Includes())
		r.table.patternsOf = func(row *results.Row) []string { return matching(c.set, row) }
	}
	return r
}

func timesText(sample uint32) string {
	if sample > 1 {
		return "one call in " + format.Grouped(int(sample)) + " timed"
	}
	return "every call timed"
}

// finish reads what was measured before the hooks go out, and writes it.
func (r *monitorRun) finish(ctx context.Context, ended ending) error {
	failure := r.table.writeRest(ended)
	whole := r.table.look(r.table.first)
	whole.final, whole.ended = true, ended
	r.cost.Measure(context.WithoutCancel(ctx))
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	whole.farewell, r.table.disturbed, r.table.disturbance = farewell, r.disturbed(), r.disturbance
	r.publish(false)
	if err := errors.Join(r.write(whole), failure, err); err != nil {
		return err
	}
	return r.checkBounds(whole)
}

// checkBounds reports the rows for which a condition of --fail-if holds.
func (r *monitorRun) checkBounds(whole *monitorTable) (failure error) {
	for _, bound := range r.bounds {
		for i := range whole.Rows {
			row := &whole.Rows[i]
			if figure, holds, _ := monitor.Figure(bound, row); holds {
				r.screen.say("sonde: %s", format.Printable(fmt.Sprintf("%s: %s is %s (--fail-if '%v')", whole.names[row.Key], bound.Name(), figure, bound)))
				failure = exitStatus(exitGoal)
			}
		}
	}
	return failure
}

func (r *monitorRun) watch(ctx context.Context) ending {
	s := waitLoop{done: r.session.Done(), why: r.endedBy}
	s.endAfter(r.duration, r.began)
	s.endAtCalls(r.calls, r.table.callsSoFar)
	return r.table.watch(ctx, &s, func() {
		r.cost.Refresh(ctx, r.began)
		r.publish(true)
	})
}

// publish exports everything since the beginning. Its rows are those of the command line,
// even if keys have changed the table.
func (r *monitorRun) publish(isUp bool) {
	if !r.export.IsUsed() {
		return
	}
	b := &r.table
	groups, _ := b.groups(r.by)
	target := prometheus.Target{Main: b.main, Instance: r.instance, PID: r.pid, JDK: r.session.JVM().Version}
	err := r.export.Publish(target, isUp, monitor.Between(b.first, b.last, groups, b.options))
	if err != nil {
		r.remark("--prometheus: " + format.OneLine(err))
	}
}

func (r *monitorRun) write(whole *monitorTable) error {
	r.reportLate(r.leftAlone())
	losses := r.losses()
	r.keepResult(r.table.document(whole), func(out io.Writer) { r.table.writeWhole(out, whole, losses, 0) })
	err := r.writeResult(r.json, r.table.document(whole), func(out io.Writer) { r.table.writeWhole(out, whole, losses, r.outWidth()) })
	if err == nil {
		r.reportFarewell(whole.farewell)
	}
	return err
}

func (b *liveTable) writeWhole(out io.Writer, whole *monitorTable, losses []string, width int) {
	rows, hidden := topOf(b.view.rows(whole), b.top)
	if b.screen.silent {
		_, _ = fmt.Fprintln(out) // below the lines of intervals
	}
	writeDisturbed(out, b.disturbed)
	format.WriteTable(out, b.columns(), b.texts(whole, rows), width, b.expendable()...)
	if b.records != nil {
		writeRecords(out, b.records(), width)
	}
	_, _ = fmt.Fprintf(out, "\n%s\n", b.headline(whole))
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", format.Count(hidden, "row is", "rows are"))
	}
	writeLines(out, text.LockLines(whole.locks, mostLocks))
	writeLines(out, arenaNotes(whole.Total.Untimed, whole.Lost))
	if whole.Total.LowerBound {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	writeLines(out, losses)
	_, _ = fmt.Fprintln(out, b.costs(whole))
	writeDisturbance(out, b.disturbance)
}

func (r *monitorRun) losses() []string {
	if !r.applied.isUsed() {
		return nil
	}
	results, err := r.applied.Results()
	if err != nil {
		return nil // the end has reported it
	}
	return append(losses(results), r.applied.conditionNote()...)
}

func (r *monitorRun) costText(table *monitorTable) string {
	text := fmt.Sprintf("the %s for reading the clock are subtracted from times", format.Nanos(r.table.options.Clock))
	cost := r.cost.Cost()
	if cost == nil {
		return "the cost of the hooks is unknown; " + text
	}
	if r.rules != nil {
		text = "keys of calls cost some hundred more; " + text
	}
	return fmt.Sprintf("hooks cost about %s per call, %s of one processor; %s", format.Nanos(cost.Median), format.Percent(r.share(cost, table)), text)
}

// share returns the part of one processor that the hooks have used in an interval.
func (r *monitorRun) share(cost *session.HookCost, table *monitorTable) float64 {
	timed := table.Total.Calls
	if len(r.session.Thinned()) > 0 {
		timed = min(timed, table.Total.Timed)
	}
	return hookNanos(table.Total.Calls, timed, cost) / float64(max(1, table.Total.Calls)) * table.Total.Rate / 1e9
}

// A liveTable shows what happens in a JVM, interval by interval, as read from an arena.
type liveTable struct {
	streams
	screen *screen
	pid    int
	main   string // the program's main class
	// disturbed says at the end that the program did not run as without Sonde; "" if it did.
	disturbed   string
	disturbance *cost.Disturbance // known at the end
	interval    time.Duration
	sample      uint32        // of this number of calls, one is timed
	times       func() string // says which calls are timed
	top         int
	json        bool
	view        monitorView
	options     monitor.Options
	source      monitor.Source
	rows        func() []results.Row                       // everything that is watched
	costs       func(table *monitorTable) string           // says what hooks cost
	describe    func(d *document.Monitor, t *monitorTable) // adds what is known only at the end
	records     func() []results.Recorded                  // what templates of the user have recorded; nil if there can be none

	rules *callRules // nil unless rows are those of sonde calls
	// collections returns how many collections of garbage have ended, and how long they took; nil unless rows are those of sonde calls.
	collections func() (n int64, took time.Duration, ok bool)
	outside     *outsideWatch // nil unless rows are those of sonde calls, and the kernel samples the JVM
	patterns    []string      // each has a row, even if it matches no loaded method
	patternsOf  func(row *results.Row) []string

	methods     map[uint32]results.Row // by ID, as of the last table
	first, last *monitor.Reading
	titled      bool // the titles of plain lines are written
}

type monitorTable struct {
	*monitor.Interval
	names    map[monitor.Key]string  // of rows, for people
	shares   map[monitor.Key]float64 // of rows, of the time of incoming calls; nil if unknown
	locks    []hotspots.Place        // where threads wait for them
	from, to *monitor.Reading
	elapsed  time.Duration // since the hooks went on
	at       time.Time
	final    bool
	ended    ending
	farewell *session.Farewell // nil where there was nothing to leave any more
}

func (b *liveTable) begin(first *monitor.Reading) {
	b.first, b.last = first, first
	b.readHeap()
}

// readHeap adds to the last reading what is read from outside.
func (b *liveTable) readHeap() {
	if b.outside != nil {
		b.outside.poll()
		b.last.Allocated, b.last.AllocatedAt = b.outside.Bytes, b.outside.At
		if b.first.AllocatedAt.IsZero() { // there was no look yet
			b.first.Allocated, b.first.AllocatedAt = b.last.Allocated, b.last.AllocatedAt
		}
	}
	if b.collections == nil {
		return
	}
	if n, took, ok := b.collections(); ok {
		b.last.GC = &monitor.Collections{Count: n, Time: took}
	}
}

func (b *liveTable) read() error {
	reading, err := monitor.Take(b.source, b.last, b.options.Stall)
	if err != nil {
		return err
	}
	b.last = reading
	b.readHeap()
	return nil
}

// look returns what happened from a reading to the last one.
func (b *liveTable) look(from *monitor.Reading) *monitorTable {
	table := &monitorTable{from: from, to: b.last, elapsed: time.Duration(b.last.At - b.first.At), at: time.Now()}
	if b.outside != nil {
		table.locks = b.outside.places(from == b.first)
	}
	b.group(table)
	return table
}

func (b *liveTable) group(table *monitorTable) {
	groups, names := b.groups(b.view.by)
	if b.rules != nil {
		b.rules.addInside(groups, b.methods)
	}
	table.Interval, table.names = monitor.Between(table.from, table.to, groups, b.options), names
	if b.rules != nil {
		table.shares = takeShares(table.Interval)
	}
}

func (b *liveTable) callsSoFar() (calls uint64) {
	sum, err := b.source.Sum()
	if err != nil {
		return 0 // the end reports it
	}
	for _, totals := range sum.Methods {
		calls += totals.Calls
	}
	return calls
}

// writeRest takes the last reading. Objects of intervals add up to the whole, so the last,
// shorter one is written as well.
func (b *liveTable) writeRest(ended ending) error {
	before := b.last
	if err := b.read(); err != nil || !b.json || ended == endedUnread {
		return err
	}
	return document.Write(b.out, b.document(b.look(before)))
}

// watch shows each interval until the end, and returns why that came. After each reading
// it calls update, which may be nil.
func (b *liveTable) watch(ctx context.Context, s *waitLoop, update func()) ending {
	if !b.json {
		s.screen, s.press = b.screen, b.view.press
	}
	s.addTask(b.interval, func() ending {
		before := b.last
		if err := b.read(); err != nil {
			return notEnded // the end reports it
		}
		if update != nil {
			update()
		}
		return afterWrite(b.show(before))
	})
	return s.wait(ctx)
}

func (b *liveTable) show(before *monitor.Reading) error {
	table := b.look(before)
	switch {
	case b.json:
		return document.Write(b.out, b.document(table))
	case b.screen.silent:
		return b.writeLines(table)
	}
	b.screen.show(func(width int) service.Frame {
		b.group(table) // a key may have changed how
		return b.frame(table, width)
	})
	return nil
}

// groups returns the keys of a table's rows, with their names, and what counts in them.
func (b *liveTable) groups(by string) (*monitor.Groups, map[monitor.Key]string) {
	rows := b.rows()
	groups, names := &monitor.Groups{Of: make(map[uint32][]monitor.Key, len(rows))}, make(map[monitor.Key]string)
	b.methods = make(map[uint32]results.Row, len(rows))
	overloads := overloadsOf(rows)
	for _, row := range rows {
		b.methods[row.ID] = row
		if b.rules != nil {
			if key, name := b.rules.keyOf(&row, by); name != "" {
				names[key], groups.Of[row.ID] = name, []monitor.Key{key}
			}
			continue
		}
		row.Context = contextText(row.Within, row.Label)
		key := contextKey(row.Within, row.Label)
		if by == byMethod {
			key.Method = monitor.Method{Class: row.Class, Name: row.Name, Descriptor: row.Descriptor}
			names[key], groups.Of[row.ID] = rowName(&row, overloads), []monitor.Key{key}
			continue
		}
		for _, pattern := range b.patternsOf(&row) {
			key.Pattern = pattern
			names[key], groups.Of[row.ID] = pattern+inContext(row.Context), append(groups.Of[row.ID], key)
		}
	}
	for key := range names {
		groups.Keys = append(groups.Keys, key)
	}
	for _, pattern := range b.patterns {
		isMet := func(key monitor.Key) bool { return key.Pattern == pattern }
		if by != byMethod && !slices.ContainsFunc(groups.Keys, isMet) {
			key := monitor.Key{Pattern: pattern}
			names[key], groups.Keys = pattern, append(groups.Keys, key)
		}
	}
	slices.SortFunc(groups.Keys, func(x, y monitor.Key) int {
		return cmp.Or(cmp.Compare(slices.Index(b.patterns, x.Pattern), slices.Index(b.patterns, y.Pattern)), compareKeys(x, y))
	})
	return groups, names
}

func compareKeys(a, b monitor.Key) int {
	return cmp.Or(cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Method.Class, b.Method.Class), cmp.Compare(a.Method.Name, b.Method.Name),
		cmp.Compare(a.Method.Descriptor, b.Method.Descriptor), cmp.Compare(a.Within, b.Within), cmp.Compare(a.Tags, b.Tags),
		cmp.Compare(a.Callers, b.Callers))
}

func (r *monitorRun) rows() []results.Row {
	if !r.applied.isUsed() {
		return methodRows(r.session.Methods(), nil)
	}
	found, rows, err := r.readRows()
	if err != nil {
		return nil // the end reports it
	}
	for i := range rows {
		rows[i].Probe = found.Rows[i].Probe
	}
	if !hasSequences(r.applied.set) {
		for i := range rows {
			rows[i].Within = ""
		}
	}
	return rows
}

// namesOf returns the texts of patterns, each once.
func namesOf(patterns []*pattern.Pattern) (names []string) {
	for _, p := range patterns {
		if !slices.Contains(names, p.String()) {
			names = append(names, p.String())
		}
	}
	return names
}

func matching(set *pattern.Set, row *results.Row) []string {
	m := classfile.MethodRef{Class: strings.ReplaceAll(row.Class, ".", "/"), Name: row.Name, Descriptor: row.Descriptor}
	return namesOf(slices.DeleteFunc(slices.Clone(set.Includes()), func(p *pattern.Pattern) bool { return !p.Match(m) }))
}

// contextKey distinguishes a row from others of its method, pattern or probe.
func contextKey(within string, label liveprobes.Label) monitor.Key {
	var tags, callers []string
	for _, tag := range label.Tags {
		tags = append(tags, tag.Name+"="+tag.String())
	}
	for _, caller := range label.Callers {
		name, _, _ := strings.Cut(caller, "(")
		callers = append(callers, strings.ReplaceAll(name, "/", "."))
	}
	if label.Other || label.Unknown {
		callers = append(callers, label.String())
	}
	return monitor.Key{Within: within, Tags: strings.Join(tags, "\n"), Callers: strings.Join(callers, " < ")}
}

// monitorOrders are the orders of --sort: the largest first, names from A to Z.
var monitorOrders = map[string]func(r *monitor.Row) float64{
	"calls":   func(r *monitor.Row) float64 { return float64(r.Calls) },
	"time":    func(r *monitor.Row) float64 { return r.Nanos },
	"errors":  func(r *monitor.Row) float64 { return float64(r.Errors) },
	"mean":    func(r *monitor.Row) float64 { return r.Mean },
	"p99":     func(r *monitor.Row) float64 { return r.P99 },
	"running": func(r *monitor.Row) float64 { return float64(r.Running) },
	"name":    func(*monitor.Row) float64 { return 0 },
}

func monitorOrderNames() []string { return slices.Sorted(maps.Keys(monitorOrders)) }

var monitorKeys = map[rune]string{'c': "calls", 't': "time", 'e': "errors", 'm': "mean", '9': "p99", 'r': "running", 'n': "name"}

// A monitorView says which rows of a table are shown, and how. Keys change it.
type monitorView struct {
	sort, by string
	hideIdle bool // also hides idle patterns
}

func (v *monitorView) press(key rune) {
	v.sort = cmp.Or(monitorKeys[key], v.sort)
	if other := map[string]string{byMethod: byPattern, byPattern: byMethod, byKey: byCaller, byCaller: byKey}; key == 'g' {
		v.by = other[v.by]
	}
}

func (v *monitorView) rows(t *monitorTable) []monitor.Row {
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r monitor.Row) bool {
		isIdle := r.Calls == 0 && r.Timed == 0 && r.Running == 0 && !r.LowerBound
		return isIdle && (v.hideIdle || r.Key.Pattern == "")
	})
	key := monitorOrders[v.sort]
	slices.SortStableFunc(rows, func(a, b monitor.Row) int {
		return cmp.Or(cmp.Compare(a.Key.Direction, b.Key.Direction), cmp.Compare(a.Key.Category, b.Key.Category),
			cmp.Compare(key(&b), key(&a)), cmp.Compare(t.names[a.Key], t.names[b.Key]))
	})
	if v.by == byCaller {
		return underCallers(rows)
	}
	return rows
}

var (
	monitorColumns = format.Columns(">CALLS", ">CALLS/S", ">ERRORS", ">MEAN", ">P50", ">P90", ">P99", ">MAX", ">RUNNING", ">STALLED", "METHOD")
	// monitorExpendable are the columns that a narrow terminal drops, in this order.
	monitorExpendable = []string{"P90", "MEAN", "MAX", "CALLS", "P50", "RUNNING", "ERRORS", "STALLED"}
)

const (
	// shownStalls is how many stalls a terminal shows.
	shownStalls = 5
	// lineWidth is the least width of a cell of plain lines, which aligns most of them.
	lineWidth = 8
)

func (b *liveTable) columns() []format.Column {
	if b.rules != nil {
		return b.rules.columns()
	}
	return monitorColumns
}

func (b *liveTable) expendable() []string {
	if b.rules != nil {
		return callExpendable
	}
	return monitorExpendable
}

// texts returns the cells of rows, followed by the total if there are several.
func (b *liveTable) texts(t *monitorTable, rows []monitor.Row) [][]string {
	if b.rules != nil {
		return b.callTexts(t, rows)
	}
	about, atLeast := "", ""
	if b.sample > 1 {
		about, atLeast = "~", "≥"
	}
	cells := func(row *monitor.Row, name string) []string {
		texts := []string{callsText(row.Calls, row.LowerBound), format.AtLeast(row.LowerBound, format.Rate(row.Rate)), format.Grouped(int(row.Errors))}
		for _, time := range []struct {
			nanos float64
			of    uint64
		}{{row.Mean, row.Timed}, {row.P50, row.Placed}, {row.P90, row.Placed}, {row.P99, row.Placed}, {row.Max, row.Timed}} {
			text := "-"
			if time.of > 0 {
				text = about + format.Call(time.nanos)
			}
			texts = append(texts, text)
		}
		return append(texts, atLeast+format.Grouped(row.Running), atLeast+format.Grouped(row.Stalled), format.Printable(name))
	}
	texts := make([][]string, 0, len(rows)+1)
	for n := range rows {
		texts = append(texts, cells(&rows[n], t.names[rows[n].Key]))
	}
	if len(t.Rows) != 1 {
		texts = append(texts, cells(&t.Total, "total"))
	}
	return texts
}

func (b *liveTable) frame(table *monitorTable, width int) service.Frame {
	shown, hidden := topOf(b.view.rows(table), cmp.Or(b.top, mostRows))
	columns, texts := format.FitTable(b.columns(), b.texts(table, shown), b.expendable(), width)
	frame := service.Frame{
		PID: b.pid, Lines: []string{b.headline(table), b.costs(table)}, Sort: b.view.sort, Keys: "[c]alls [t]ime [e]rrors [m]ean p9[9] [r]unning [n]ame [g]roup",
	}
	if b.records != nil {
		frame.Lines = append(frame.Lines, recordLines(b.records(), width)...)
	}
	frame.Titles, frame.Rows = format.TableRows(columns, texts, width, func(i int, row *format.Row) {
		if i < len(shown) {
			row.Name, row.Method = table.names[shown[i].Key], b.methodOf(table, shown[i].Key)
		}
	})
	for _, total := range frame.Rows[len(shown):] {
		frame.Foot = append(frame.Foot, total.Text)
	}
	frame.Rows = frame.Rows[:len(shown)]
	frame.Foot = slices.Concat(frame.Foot, moreLine(hidden), text.LockLines(table.locks, mostLocks), b.stallLines(table.Interval, func(monitor.Stall) bool { return true }))
	return frame
}

// methodOf returns what a row is about: a method, or a pattern; "" if that is a probe.
func (b *liveTable) methodOf(table *monitorTable, key monitor.Key) string {
	switch {
	case b.rules != nil:
		return b.rules.methodOf(table, b.methods, key, b.view.by)
	case key.Method.Class != "":
		return key.Method.Class + "." + key.Method.Name
	case slices.Contains(b.patterns, key.Pattern):
		return key.Pattern
	}
	return ""
}

func (b *liveTable) stallLines(i *monitor.Interval, isShown func(monitor.Stall) bool) []string {
	var lines []string
	for _, stall := range i.Stalls {
		if !isShown(stall) || len(lines) == shownStalls {
			continue
		}
		var calls []string
		for n, call := range stall.Calls {
			if n == monitor.EndCalls && stall.Omitted > 0 {
				calls = append(calls, fmt.Sprintf("… %s more", format.Grouped(stall.Omitted)))
			}
			m := b.methods[call.ID]
			calls = append(calls, fmt.Sprintf("%s.%s %s", m.Class, m.Name, format.Duration(call.Age)))
		}
		kind := "thread"
		if stall.Virtual {
			kind = "virtual thread"
		}
		lines = append(lines, format.Printable(fmt.Sprintf("stalled: %s %d in %s", kind, stall.Thread, strings.Join(calls, " > "))))
	}
	return lines
}

// writeLines writes a line for each active row, and for threads that have stalled since
// the last interval.
func (b *liveTable) writeLines(table *monitorTable) error {
	rows, _ := topOf(b.view.rows(table), b.top)
	columns := append(format.Columns("TIME"), b.columns()...)
	texts := b.texts(table, rows)
	for n, cells := range texts {
		for at, cell := range cells[:len(cells)-1] {
			cells[at] = strings.Repeat(" ", max(0, lineWidth-utf8.RuneCountInString(cell))) + cell
		}
		texts[n] = append([]string{table.at.Format(time.TimeOnly)}, cells...)
	}
	lines := format.TableLines(columns, texts, 0)
	if b.titled {
		lines = lines[1:]
	}
	b.titled = true
	lines = append(lines, b.stallLines(table.Interval, func(s monitor.Stall) bool { return s.IsNew })...)
	return b.print(func(out io.Writer) { writeLines(out, lines) })
}

func (b *liveTable) headline(table *monitorTable) string {
	text := fmt.Sprintf("process %d", b.pid)
	if b.main != "" {
		text += " (" + format.Printable(b.main) + ")"
	}
	text += fmt.Sprintf(", %s: ", format.Duration(table.elapsed))
	if !table.final {
		text += fmt.Sprintf("in the last %s ", format.Duration(table.Length))
	}
	calls := format.AtLeast(table.Total.LowerBound, format.Count(int(table.Total.Calls), "call", "calls"))
	if b.rules != nil {
		return text + b.rules.summary(table)
	}
	return text + fmt.Sprintf("%s, %s/s, %s, %s", calls, format.Rate(table.Total.Rate),
		format.Count(table.Threads, "thread", "threads"), b.times())
}

func (b *liveTable) document(table *monitorTable) *document.Monitor {
	d := &document.Monitor{
		PID: b.pid, At: table.at.Round(time.Millisecond), Seconds: table.Length.Seconds(), Elapsed: table.elapsed.Seconds(),
		Final: table.final, Ended: string(table.ended), Sample: b.sample, Threads: table.Threads, Lost: table.Lost,
		Total: document.NewMonitorRow(&table.Total), Rows: []document.MonitorRow{},
	}
	rows, _ := topOf(b.view.rows(table), b.top)
	for n := range rows {
		row := document.NewMonitorRow(&rows[n])
		if share, is := table.shares[rows[n].Key]; is {
			row.Share = &share
		}
		d.Rows = append(d.Rows, row)
	}
	for _, stall := range table.Stalls {
		s := document.Stall{Thread: stall.Thread, Virtual: stall.Virtual, New: stall.IsNew, Omitted: stall.Omitted}
		for _, call := range stall.Calls {
			m := b.methods[call.ID]
			s.Calls = append(s.Calls, document.StalledCall{Class: m.Class, Method: m.Name, Descriptor: m.Descriptor, Seconds: call.Age.Seconds()})
		}
		d.Stalls = append(d.Stalls, s)
	}
	if rate, isKnown := table.to.AllocationSince(table.from); isKnown {
		d.Allocated = &rate
	}
	d.GC, d.Locks = table.to.GC.Since(table.from.GC), document.NewHotPlaces(table.locks)
	if table.final {
		b.describe(d, table)
	}
	return d
}

func (r *monitorRun) describeEnd(d *document.Monitor, table *monitorTable) {
	d.JDK, d.Main, d.Patterns, d.Clock = r.session.JDK().String(), r.table.main, r.patterns, &r.table.options.Clock
	d.Hooks, d.LeftAlone = r.describeHooks(), document.NewLeft(r.leftAlone())
	d.Leaving = document.NewLeaving(table.farewell)
	if cost := r.cost.Cost(); cost != nil {
		d.HookCost = document.NewHookCost(cost, r.share(cost, table))
	}
	d.Remarks, d.Disturbed, d.Disturbance = r.remarksWith(r.losses()), r.disturbed(), r.disturbance
}
