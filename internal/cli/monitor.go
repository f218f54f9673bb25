package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/prometheus"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// What rows are about.
const (
	byPattern = "pattern"
	byMethod  = "method"
)

// monitoring is a `sonde monitor` command line.
type monitoring struct {
	choice
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
	wanted     *probeset.Set // what those ask for; nil where they do not
}

func newMonitor(s streams) *cobra.Command {
	c := &monitoring{choice: choice{streams: s}}
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.DurationVar(&c.interval, "interval", time.Second, "how long the time is that a table, line or object is about")
	flags.DurationVar(&c.stall, "stall", time.Second, "a call that is older has stalled")
	flags.DurationVar(&c.duration, "for", 0, "end after this time; 0 for Ctrl-C")
	flags.Uint64Var(&c.calls, "calls", 0, "end after so many calls in all")
	flags.Uint32Var(&c.sample, "sample", 1, "time one call in so many, by chance")
	flags.StringVar(&c.by, "by", byPattern, "a row for each pattern or for each method")
	flags.StringVar(&c.sort, "sort", "calls", "calls, errors, mean, p99, running or name")
	flags.IntVar(&c.top, "top", 0, "show so many rows; 0 for all")
	flags.BoolVar(&c.json, "json", false, "write a JSON object at each interval, each on its line")
	flags.StringVar(&c.prometheus, "prometheus", "", "`FILE` to write for Prometheus at each interval")
	flags.StringVar(&c.listen, "listen", "", "`[ADDRESS:]PORT` to serve /metrics at for Prometheus; the address is 127.0.0.1 unless given")
	c.contexts.register(flags)
	flags.BoolVar(&c.force, "force", false, "put hooks also into classes that the JDK damages by that")
	c.cache.register(flags)
	flags.BoolVar(&c.listLeft, "left", false, "list all that is left alone")
	return command
}

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *monitoring) check(args []string) (err error) {
	if err := c.choose(args); err != nil {
		return err
	}
	if err := checkTimes(c.interval, c.stall, c.duration); err != nil {
		return err
	}
	switch {
	case c.sample < 1 || c.sample > mostPeriod:
		return usage("--sample must be from 1 to %d", mostPeriod)
	case c.by != byPattern && c.by != byMethod:
		return usage("--by %q: pattern or method", c.by)
	case monitorOrders[c.sort] == nil:
		return usage("--sort %q: %s", c.sort, strings.Join(slices.Sorted(maps.Keys(monitorOrders)), ", "))
	case c.top < 0:
		return usage("--top must not be negative")
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

// flags are what hooks are to do.
func (c *monitoring) flags() (flags arena.Flags, period uint32) {
	if c.sample > 1 {
		return arena.On | arena.Flat | arena.Spreads | arena.Sampled, c.sample
	}
	return arena.On | arena.Flat | arena.Spreads | arena.Timed, 0
}

// checkTimes holds the times of a live table to what makes sense.
func checkTimes(interval, stall, duration time.Duration) error {
	switch {
	case interval < leastInterval:
		return usage("--interval must be %v at least", leastInterval)
	case stall <= 0:
		return usage("--stall must be more than 0")
	case duration < 0:
		return usage("--for must not be negative")
	}
	return nil
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

const monitorLong = `Watch methods of a running JVM. Hooks are put into the methods that match, also of
classes that load later, and what they did is told at each interval. When the
command ends, by Ctrl-C, --for or --calls, all of it is taken out again and a summary of
the whole time stays. A Sonde that is killed leaves nothing either.

CALLS    calls begun in the interval, every one of them; ≥ where HotSpot may replace the
         method by an intrinsic: calls made from compiled code are then not counted
CALLS/S  the same, a second
ERRORS   calls that ended with an exception
MEAN     time of a call that ended in the interval; of a method that calls itself
         the outermost call's counts
P50 P90  times that half of the calls, 9 of 10, 99 of 100 did not exceed, to 6 %;
P99      they are made of the times of calls, not of averages
MAX      the longest, to 6 % where there was a longer one before
RUNNING  threads that are in such a call now: it has begun and not ended
STALLED  of those, the ones that have been in it for longer than --stall

What the clock itself takes is measured in the JVM and taken off all times; below
50 ns nothing is said. Calls that call other hooked methods often hold the time of
those hooks. RUNNING and STALLED are read from memory that Sonde shares with the
JVM, which is not asked and may hang. Of calls inside one another the outermost
counts. Calls that had begun before the hooks were in are not seen.

Each pattern has a row, and a method counts for every pattern that names it; --by
method has a row for each method. The last row, total, has each call once.
Patterns are those of sonde instrument; a leading ! takes methods out:
  com.acme.**  com.acme.Order.pay  '**.Service.*'  '!**.get*'

` + contextLong + `

--sample k times one call in k, by chance, which costs less. CALLS and ERRORS are
exact all the same; times, marked with ~, are of the calls that were timed;
RUNNING and STALLED see only those, and are marked with ≥.

On a terminal the table is drawn in its place:
Keys  c, e, m, 9, r, n  sort by calls, errors, mean, P99, running, name
      g                 rows by pattern or by method
      /                 filter, Enter keeps it, Esc clears it
      p                 pause            q  quit, as Ctrl-C
Elsewhere each row that has something to tell is a line at each interval.

With --json one object is written at each interval, on its line; the last, with
"final":true, is about the whole time. Counts of all others add up to it.

For Prometheus (text format 0.0.4) --prometheus writes a file, whole or not at all,
as the node exporter's textfile collector reads; --listen serves /metrics. Both
tell all since the beginning, with a histogram of times:
  sonde_calls_total  sonde_call_errors_total  sonde_call_seconds
  sonde_calls_running  sonde_calls_stalled  sonde_call_oldest_seconds
  sonde_calls_lost_total  sonde_monitor_up  sonde_calls_lower_bound (what ≥ marks)
Rows by context have labels within, callers and tag_NAME as well.
When the command ends the file stays, with sonde_monitor_up at 0. Whoever reaches
the address of --listen reads the names of methods and their figures. With --by
method each method is some 35 series.

Exit code: 0 when there is a result, 1 on an error, 2 for a wrong command line.`

// A monitorRun is a `sonde monitor` at work.
type monitorRun struct {
	*monitoring
	visit
	board   board
	export  *prometheus.Exporter
	watched map[uint32]session.Method // methods of rows by context
}

func (c *monitoring) run(ctx context.Context) (err error) {
	defer outliveReader()()
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
	r.board.begin(monitor.Start(r.session.Now()))
	r.board.main, r.board.method, r.board.source = r.session.JVM().Main, r.session.Method, r.session
	if r.watching.isUsed() {
		r.board.method, r.board.source = r.watchedMethod, r.watching.Source()
	}
	if r.board.options.Clock, err = r.session.ClockCost(ctx); err != nil && ctx.Err() == nil {
		r.remark("what the clock costs could not be measured, so times hold it: " + format.OneLine(err))
	}
	if address := r.export.Address(); address != "" {
		r.screen.say("serving http://%s/metrics", address)
	}
	return r.finish(ctx, r.watch(ctx))
}

func newMonitorRun(c *monitoring) *monitorRun {
	r := &monitorRun{monitoring: c, visit: visit{choice: &c.choice, screen: newScreen(c.streams), watching: watching{set: c.wanted}}}
	r.board = board{
		streams: c.streams, screen: r.screen, pid: c.pid, interval: c.interval, sample: c.sample, times: timesText(c.sample), top: c.top, json: c.json,
		view: monitorView{sort: c.sort, by: c.by}, options: monitor.Options{Stall: c.stall}, costs: r.costText, describe: r.describeEnd,
		groups: func(by string) *monitor.Groups { return monitorGroups(by, r.set, r.subjects()) },
	}
	return r
}

// timesText says which calls are timed.
func timesText(sample uint32) string {
	if sample > 1 {
		return "one call in " + format.Grouped(int(sample)) + " timed"
	}
	return "every call timed"
}

// finish reads what was measured before the hooks go out, and writes it.
func (r *monitorRun) finish(ctx context.Context, ended ending) error {
	failure := r.board.tellRest(ended)
	whole := r.board.look(r.board.first)
	whole.final, whole.ended = true, ended
	r.cost.Measure(context.WithoutCancel(ctx))
	r.screen.clear()
	farewell, err := r.leave(ctx, ended)
	whole.farewell = farewell
	r.publish(false)
	return errors.Join(r.write(whole), failure, err)
}

// watch shows what happens until the end, and returns why that came.
func (r *monitorRun) watch(ctx context.Context) ending {
	s := stay{done: r.session.Done(), why: r.endedBy}
	s.endAfter(r.duration, r.began)
	if r.calls > 0 {
		s.addTask(callsEvery, func() ending {
			if r.board.callsSoFar() >= r.calls {
				return endedCalls
			}
			return goesOn
		})
	}
	return r.board.watch(ctx, &s, func() {
		r.cost.Refresh(ctx, r.began)
		r.publish(true)
	})
}

// publish tells a Prometheus of all since the beginning. Rows are those that were
// asked for, whatever keys made of the table.
func (r *monitorRun) publish(isUp bool) {
	if !r.export.IsUsed() {
		return
	}
	b := &r.board
	err := r.export.Publish(&monitor.Exposition{PID: r.pid, Up: isUp, Since: monitor.Between(b.first, b.last, b.groups(r.by), b.options)})
	if err != nil {
		r.remark("--prometheus: " + format.OneLine(err))
	}
}

// write writes the result, and then says what leaving took.
func (r *monitorRun) write(whole *monitorTable) error {
	r.tellLate(r.leftAlone())
	if err := r.writeResult(whole); err != nil {
		return err
	}
	r.tellFarewell(whole.farewell)
	return nil
}

func (r *monitorRun) writeResult(whole *monitorTable) error {
	if r.json {
		return r.board.writeJSON(whole)
	}
	return r.board.writeWhole(whole, r.losses())
}

// writeWhole writes the table of the whole time, and lines that say what it misses.
func (b *board) writeWhole(whole *monitorTable, losses []string) error {
	out := bufio.NewWriter(b.out) // keeps the first error until Flush
	names := keyNames(whole.Rows)
	rows := b.view.rows(whole.Interval, names)
	hidden := 0
	if b.top > 0 && len(rows) > b.top {
		rows, hidden = rows[:b.top], len(rows)-b.top
	}
	if b.screen.silent {
		_, _ = fmt.Fprintln(out) // below the lines of intervals
	}
	format.WriteTable(out, monitorColumns, b.texts(whole.Interval, rows, names), b.outWidth())
	_, _ = fmt.Fprintf(out, "\n%s\n", b.headline(whole))
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "%s not shown (--top)\n", format.Count(hidden, "row is", "rows are"))
	}
	if untimed := whole.Total.Untimed; untimed > 0 {
		_, _ = fmt.Fprintf(out, "%s counted without time: the arena had no room\n", format.Count(int(untimed), "call was", "calls were"))
	}
	if whole.Lost > 0 {
		_, _ = fmt.Fprintf(out, "%s not counted: the arena had no room\n", format.Count(int(whole.Lost), "call was", "calls were"))
	}
	if whole.Total.LowerBound {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	for _, line := range losses {
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprintln(out, b.costs(whole))
	return out.Flush()
}

// losses are what contexts miss, in words.
func (r *monitorRun) losses() []string {
	if !r.watching.isUsed() {
		return nil
	}
	results, err := r.watching.Results()
	if err != nil {
		return nil // the end has said it
	}
	return losses(results)
}

// costText is what the hooks take of the JVM.
func (r *monitorRun) costText(table *monitorTable) string {
	text := fmt.Sprintf("times are without the clock's own %s", format.Nanos(r.board.options.Clock))
	cost := r.cost.Cost()
	if cost == nil {
		return "what hooks cost is not known; " + text
	}
	share := cost.Median * table.Total.Rate / 1e9
	return fmt.Sprintf("hooks cost about %s a call, %s of one processor; %s", format.Nanos(cost.Median), format.Percent(share), text)
}
