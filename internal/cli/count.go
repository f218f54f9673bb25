package cli

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// counting is a `sonde count` command line.
type counting struct {
	choice
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
  sampled  every call is counted; one in --period, chosen at random, is timed. Times
           are estimates, marked with ~; ±8 % is half of the 95 % confidence interval
  none     calls are only counted, which costs least
Times include the cost of the hooks. Sonde measures this cost in the JVM and prints it.

A method that cannot get a hook is left alone and reported with the reason. Some JDKs
lose parts of a class when it is changed (sonde doctor lists these bugs). Sonde works
around this, and leaves the class alone where it cannot, unless --force is given.

Patterns are those of sonde instrument; a leading ! excludes methods:
  com.acme.**  com.acme.Order.pay  '**.Service.*'  '!**.get*'

` + contextLong + `

With --json, one object is written at the end. With --json and --interval, one object
is written per interval, each on its own line; the last one has "final":true.

Exit code: 0 if there is a result, 1 on an error, 2 for a wrong command line.`

func newCount(s streams) *cobra.Command {
	c := &counting{choice: choice{streams: s}}
	command := &cobra.Command{
		Use:   "count PID PATTERN...",
		Short: "Count and time the calls of methods in a running JVM",
		Long:  countLong,
		Example: `  sonde count 4711 'com.acme.**'
  sonde count 4711 'com.acme.**' '!**.get*' --sort self --top 20 --duration 30s
  sonde count 4711 com.acme.Order.pay --calls 1000 --json
  sonde count 4711 'org.h2.**' --timing sampled --period 128
  sonde count 4711 com.acme.Pay.charge --within 'com.acme.Web.handle >> com.acme.Order.*'
  sonde count 4711 com.acme.Pay.charge --when '$1.customer.tier == "gold" && $2 > 100'
  sonde count 4711 com.acme.Pay.charge --tag 'tier=$1.tier at com.acme.Web.handle' --by-tag tier`,
		Args: atLeast("PID", "PATTERN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.paced = cmd.Flags().Changed("interval")
			if err := c.check(args, cmd.Flags().Changed("period")); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.Var(oneOf(&c.timing, results.Exact, "exact", "sampled", "none"), "timing", "exact, sampled or none")
	flags.Uint32Var(&c.period, "period", 64, "with --timing sampled: time one call in so many")
	flags.Var(oneOf(&c.sort, "total", countOrders...), "sort", "calls, total, self, mean or name")
	flags.Var(number(&c.top, 0, 0, 0), "top", "show so many methods; 0 for all")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", intervalUsage)
	flags.Var(span(&c.duration, 0, 0, 0), "duration", "end after this time; 0 for Ctrl-C")
	flags.Uint64Var(&c.calls, "calls", 0, "end after so many calls in total")
	flags.BoolVar(&c.json, "json", false, "write JSON")
	c.contexts.register(flags)
	c.choice.register(flags)
	return command
}

// check reads the command line, before the JVM is touched.
func (c *counting) check(args []string, periodGiven bool) error {
	if err := c.choose(args); err != nil {
		return err
	}
	switch {
	case periodGiven && c.timing != results.Sampled:
		return usage("--period needs --timing sampled")
	case c.timing == results.Sampled && (c.period < 2 || c.period > mostPeriod):
		return usage("--period must be from 2 to %d", mostPeriod)
	}
	if c.contexts.isUsed() {
		if err := c.wantContexts(); err != nil {
			return err
		}
	}
	if c.timing == results.Untimed && (c.sort == "total" || c.sort == "self" || c.sort == "mean") {
		c.sort = "calls"
	}
	return nil
}

// wantContexts makes a probe set of the flags.
func (c *counting) wantContexts() (err error) {
	if c.wanted, err = c.contexts.set(c.patterns); err != nil {
		return err
	}
	p := &c.wanted.Probes[0]
	switch c.timing {
	case results.Untimed:
		p.Level = probeset.Count
	case results.Sampled:
		p.Sample = c.period
	}
	return nil
}

// countOrders are the values of --sort.
var countOrders = []string{"calls", "mean", "name", "self", "total"}

// intervalUsage is the text of --interval.
const intervalUsage = "time between two tables, or with --json between two objects"

const (
	mostPeriod    = 1 << 20
	leastInterval = 50 * time.Millisecond
	// callsEvery is how often a command with --calls compares the number of calls.
	callsEvery = 20 * time.Millisecond
)

// flags returns the flags and the sampling period of the hooks.
func (c *counting) flags() (flags arena.Flags, period uint32) {
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

// A countRun is a running `sonde count`.
type countRun struct {
	*counting
	visit

	errors  map[uint32]*results.Uncertainty // of sampled times, by method
	shownAt time.Time                       // the last look
	shown   map[uint32]uint64
}

func (c *counting) run(ctx context.Context) error {
	defer outliveReader()()
	r := &countRun{counting: c, visit: visit{choice: &c.choice, screen: newScreen(c.streams), watching: watching{set: c.wanted}}}
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
	look.final, look.ended = true, ended
	r.cost.Measure(context.WithoutCancel(ctx))
	r.screen.clear()
	farewell, failure := r.leave(ctx, ended)
	look.farewell = farewell
	return errors.Join(r.write(look), failure)
}

// watch shows what happens until the end, and returns why that came.
func (r *countRun) watch(ctx context.Context) ending {
	s := stay{done: r.session.Done(), why: r.endedBy}
	s.endAfter(r.duration, r.began)
	if r.calls > 0 {
		s.addTask(callsEvery, func() ending {
			if found, err := r.measured(); err == nil && found.calls() >= r.calls {
				return endedCalls
			}
			return goesOn
		})
	}
	if r.timing == results.Sampled {
		const batchEvery = 100 * time.Millisecond
		s.addTask(batchEvery, func() ending {
			r.takeBatch()
			return goesOn
		})
	}
	s.addTask(r.interval, func() ending { return afterWrite(r.show(ctx)) })
	return s.wait(ctx)
}

// takeBatch adds the times since the last batch to the uncertainty of each method.
func (r *countRun) takeBatch() {
	found, err := r.measured()
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

// write writes the result, and what leaving the JVM took.
func (r *countRun) write(look *countLook) error {
	r.tellLate(r.leftAlone())
	look.overall()
	if r.json {
		if err := r.writeJSON(look); err != nil {
			return err
		}
	} else {
		out := bufio.NewWriter(r.out) // keeps the first error until Flush
		r.writeText(out, look, r.outWidth())
		if err := out.Flush(); err != nil {
			return err
		}
	}
	r.tellFarewell(look.farewell)
	return nil
}
