package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/prometheus"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The values of --by.
const (
	byPattern = "pattern"
	byMethod  = "method"
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
	listen     string
	calls      uint64
	contexts   contextFlags
	wanted     *probeset.Set // of contexts; nil if none is used
}

func newMonitor(s streams) *cobra.Command {
	c := &monitorCommand{targetFlags: targetFlags{streams: s}}
	command := &cobra.Command{
		Use:   "monitor PID METHOD...",
		Short: "Watch methods of a running JVM: rates, percentiles, errors, stalls",
		Long:  monitorLong,
		Example: `  sonde monitor 4711 com.acme.Order.pay
  sonde monitor 4711 'com.acme.web.**' --by method --sort p99 --interval 5s
  sonde monitor 4711 com.acme.Order.pay com.acme.Pay.charge --stall 500ms --for 10m
  sonde monitor 4711 com.acme.Order.pay --json | jq '.total.p99Nanos'
  sonde monitor 4711 com.acme.Order.pay --listen 9187 --sample 100
  sonde monitor 4711 com.acme.Pay.charge --within com.acme.Web.handle --when '$2 > 100'
  sonde monitor 4711 com.acme.Pay.charge --tag 'tier=$1.tier at com.acme.Web.handle' --by-tag tier`,
		Args: atLeast("PID", "METHOD"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", "length of each reporting interval")
	flags.Var(span(&c.stall, time.Second, positive, 0), "stall", "report calls that run for longer than this as stalled")
	flags.Var(span(&c.duration, 0, 0, 0), "for", "end after this time; 0 for Ctrl-C")
	flags.Uint64Var(&c.calls, "calls", 0, "end after so many calls in total")
	flags.Var(number(&c.sample, 1, 1, mostPeriod), "sample", "time one call in so many, chosen at random")
	flags.Var(oneOf(&c.by, byPattern, byPattern, byMethod), "by", "one row per pattern or per method")
	flags.Var(oneOf(&c.sort, "calls", monitorOrderNames()...), "sort", "calls, errors, mean, p99, running or name")
	flags.Var(number(&c.top, 0, 0, 0), "top", "show so many rows; 0 for all")
	flags.BoolVar(&c.json, "json", false, "write a JSON object per interval, each on its own line")
	flags.StringVar(&c.prometheus, "prometheus", "", "`FILE` to write for Prometheus after each interval")
	flags.StringVar(&c.listen, "listen", "", "`[ADDRESS:]PORT` at which /metrics is served for Prometheus; the default address is 127.0.0.1")
	c.contexts.register(flags)
	c.targetFlags.register(flags)
	return command
}

func (c *monitorCommand) check(args []string, _ func(string) bool) (err error) {
	if err := c.parse(args); err != nil {
		return err
	}
	if c.contexts.isUsed() {
		if c.wanted, err = c.contexts.set(c.patterns); err != nil {
			return err
		}
		if c.sample > 1 {
			c.wanted.Probes[0].Sample = c.sample
		}
	}
	if c.listen != "" {
		if c.listen, err = listenAddress(c.listen); err != nil {
			return err
		}
	}
	if c.prometheus != "" {
		return checkWritable(c.prometheus)
	}
	return nil
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
			return "", usage("--listen %q: must be a port or an address with one, such as 9187 or 127.0.0.1:9187", text)
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

const monitorLong = `Watch methods of a running JVM. The methods that match get hooks, also in classes that
load later, and each interval is reported. When the command ends, by Ctrl-C, --for or
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
method, each method has a row. The last row, total, counts each call once. Patterns are
those of sonde instrument; a leading ! excludes methods:
  com.acme.**  com.acme.Order.pay  '**.Service.*'  '!**.get*'

` + contextLong + `

--sample k times one call in k, chosen at random, which costs less. CALLS and ERRORS
are still exact. Times are those of the timed calls, marked with ~. RUNNING and
STALLED count only timed calls, and are marked with ≥.

On a terminal, the table is updated in place:
Keys  c, e, m, 9, r, n  sort by calls, errors, mean, P99, running, name
      g                 rows by pattern or by method
      /                 filter; Enter keeps it, Esc clears it
      p                 pause            q  quit, as Ctrl-C
Elsewhere, each row with activity is a line per interval.

With --json, one object is written per interval, each on its own line. The last one,
with "final":true, covers the whole time; the counts of all others add up to it.

For Prometheus (text format 0.0.4), --prometheus writes a file, replaced in one step,
for the textfile collector of the node exporter; --listen serves /metrics. Both cover
the time since the start and include a histogram of times:
  sonde_calls_total  sonde_call_errors_total  sonde_call_seconds
  sonde_calls_running  sonde_calls_stalled  sonde_call_oldest_seconds
  sonde_calls_lost_total  sonde_monitor_up  sonde_calls_lower_bound (marked with ≥)
Rows by context also have the labels within, callers and tag_NAME. When the command
ends, the file stays, with sonde_monitor_up at 0. Everybody who can reach the address
of --listen can read method names and figures. With --by method, each method has about
35 series.

Exit code: 0 if there is a result, 1 on an error, 2 for a wrong command line.`

type monitorRun struct {
	*monitorCommand
	liveSession
	table  liveTable
	export *prometheus.Exporter
}

func (c *monitorCommand) run(ctx context.Context) (err error) {
	defer ignoreBrokenPipe()()
	r := newMonitorRun(c)
	if r.export, err = prometheus.NewExporter(c.prometheus, c.listen); err != nil {
		return fmt.Errorf("--listen %s: %w", c.listen, err)
	}
	defer r.export.Close()
	flags, period := c.flags()
	if err := r.enter(ctx, "monitor", flags, period); err != nil {
		return err
	}
	defer func() { _ = r.session.Release() }()
	r.table.begin(monitor.Start(r.session.Now()))
	r.table.main, r.table.source = r.session.JVM().Main, r.session
	if r.applied.isUsed() {
		r.table.source = r.applied.Source()
	}
	if r.table.options.Clock, err = r.session.ClockCost(ctx); err != nil && ctx.Err() == nil {
		r.remark("the cost of the clock could not be measured, so times include it: " + format.OneLine(err))
	}
	if address := r.export.Address(); address != "" {
		r.screen.say("serving http://%s/metrics", address)
	}
	return r.finish(ctx, r.watch(ctx))
}

func newMonitorRun(c *monitorCommand) *monitorRun {
	r := &monitorRun{monitorCommand: c, liveSession: liveSession{target: &c.targetFlags, screen: newScreen(c.streams), applied: appliedSet{set: c.wanted}}}
	r.table = liveTable{
		streams: c.streams, screen: r.screen, pid: c.pid, interval: c.interval, sample: c.sample, times: timesText(c.sample), top: c.top, json: c.json,
		view: monitorView{tableView: tableView{sort: c.sort}, by: c.by}, options: monitor.Options{Stall: c.stall}, costs: r.costText, describe: r.describeEnd,
		rows: r.rows, patterns: namesOf(c.set.Includes()),
		patternsOf: func(row *results.Row) []string { return matching(c.set, row) },
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
	whole.farewell = farewell
	r.publish(false)
	return errors.Join(r.write(whole), failure, err)
}

func (r *monitorRun) watch(ctx context.Context) ending {
	s := waitLoop{done: r.session.Done(), why: r.endedBy}
	s.endAfter(r.duration, r.began)
	if r.calls > 0 {
		s.addTask(callsEvery, func() ending {
			if r.table.callsSoFar() >= r.calls {
				return endedCalls
			}
			return notEnded
		})
	}
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
	err := r.export.Publish(r.pid, isUp, monitor.Between(b.first, b.last, groups, b.options))
	if err != nil {
		r.remark("--prometheus: " + format.OneLine(err))
	}
}

func (r *monitorRun) write(whole *monitorTable) error {
	r.reportLate(r.leftAlone())
	var err error
	if r.json {
		err = r.table.writeJSON(whole)
	} else {
		err = r.table.writeWhole(whole, r.losses())
	}
	if err == nil {
		r.reportFarewell(whole.farewell)
	}
	return err
}

func (b *liveTable) writeWhole(whole *monitorTable, losses []string) error {
	out := bufio.NewWriter(b.out) // keeps the first error until Flush
	rows, hidden := topOf(b.view.rows(whole), b.top)
	if b.screen.silent {
		_, _ = fmt.Fprintln(out) // below the lines of intervals
	}
	format.WriteTable(out, monitorColumns, b.texts(whole, rows), b.outWidth())
	_, _ = fmt.Fprintf(out, "\n%s\n", b.headline(whole))
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", format.Count(hidden, "row is", "rows are"))
	}
	writeLines(out, arenaNotes(whole.Total.Untimed, whole.Lost))
	if whole.Total.LowerBound {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	writeLines(out, losses)
	_, _ = fmt.Fprintln(out, b.costs(whole))
	return out.Flush()
}

func (r *monitorRun) losses() []string {
	if !r.applied.isUsed() {
		return nil
	}
	results, err := r.applied.Results()
	if err != nil {
		return nil // the end has reported it
	}
	return losses(results)
}

func (r *monitorRun) costText(table *monitorTable) string {
	text := fmt.Sprintf("the %s for reading the clock are subtracted from times", format.Nanos(r.table.options.Clock))
	cost := r.cost.Cost()
	if cost == nil {
		return "the cost of the hooks is unknown; " + text
	}
	share := cost.Median * table.Total.Rate / 1e9
	return fmt.Sprintf("hooks cost about %s per call, %s of one processor; %s", format.Nanos(cost.Median), format.Percent(share), text)
}
