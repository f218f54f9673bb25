package cli

import (
	"bufio"
	"context"
	"errors"
	"slices"
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
	wanted   *probeset.Set // what those ask for; nil where they do not
}

const countLong = `Count the calls of methods in a running JVM, and time them. Hooks are put into
the methods that match, also of classes that load later; when the command ends,
by Ctrl-C, --duration or --calls, all of it is taken out again and the result
stays. A Sonde that is killed leaves nothing either: its hooks go by themselves.

CALLS    calls begun, every one of them; ≥ where HotSpot may replace the method by an
         intrinsic (Math.max): calls made from compiled code are then not counted
CALLS/S  since the table was last drawn; in the final table, over all
TOTAL    time of all calls, those under way as far as they have come; of a
         method that calls itself the outermost call counts
SELF     TOTAL of calls that have ended, without what they called that has
         hooks as well; only exact timing tells
MEAN     time of a call that has ended; below 50 ns hooks are most of it
THREW    calls that ended with an exception
RUNNING  calls under way now, which only exact timing tells

Timing
  exact    every call is timed: two readings of the clock each
  sampled  every call is counted, one in --period timed, by chance; times are
           estimates, marked with ~. ±8 % is how far chance leads the mean
           astray in at most one of twenty cases
  none     calls are counted only, which costs least
Times hold the hooks' own cost, which is measured in the JVM and told.

A method that cannot have a hook is left alone and named with the reason. Some
JDKs lose parts of a class when it is changed (sonde doctor names them): Sonde
works around it, and leaves a class alone where it cannot, unless --force.

Patterns are those of sonde instrument; a leading ! takes methods out:
  com.acme.**  com.acme.Order.pay  '**.Service.*'  '!**.get*'

` + contextLong + `

With --json one object is written at the end; with --interval as well, one at
each interval, each on its line, and the last has "final":true.

Exit code: 0 when there is a result, 1 on an error, 2 for a wrong command line.`

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
	flags.StringVar((*string)(&c.timing), "timing", string(results.Exact), "exact, sampled or none")
	flags.Uint32Var(&c.period, "period", 64, "with --timing sampled: one call in so many is timed")
	flags.StringVar(&c.sort, "sort", "total", "calls, total, self, mean or name")
	flags.IntVar(&c.top, "top", 0, "show so many methods; 0 for all")
	flags.DurationVar(&c.interval, "interval", time.Second, "how often the table is drawn, or with --json an object written")
	flags.DurationVar(&c.duration, "duration", 0, "end after this time; 0 for Ctrl-C")
	flags.Uint64Var(&c.calls, "calls", 0, "end after so many calls in all")
	flags.BoolVar(&c.json, "json", false, "write JSON")
	c.contexts.register(flags)
	flags.BoolVar(&c.force, "force", false, "put hooks also into classes that the JDK damages by that")
	c.cache.register(flags)
	flags.BoolVar(&c.listLeft, "left", false, "list all that is left alone")
	return command
}

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *counting) check(args []string, periodGiven bool) error {
	if err := c.choose(args); err != nil {
		return err
	}
	switch {
	case c.timing != results.Exact && c.timing != results.Sampled && c.timing != results.Untimed:
		return usage("--timing %q: exact, sampled or none", c.timing)
	case periodGiven && c.timing != results.Sampled:
		return usage("--period needs --timing sampled")
	case c.timing == results.Sampled && (c.period < 2 || c.period > mostPeriod):
		return usage("--period must be from 2 to %d", mostPeriod)
	case !slices.Contains(countOrders, c.sort):
		return usage("--sort %q: %s", c.sort, strings.Join(countOrders, ", "))
	case c.top < 0:
		return usage("--top must not be negative")
	case c.interval < leastInterval:
		return usage("--interval must be %v at least", leastInterval)
	case c.duration < 0:
		return usage("--duration must not be negative")
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

// wantContexts makes a set of what the flags ask for.
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

const (
	mostPeriod    = 1 << 20
	leastInterval = 50 * time.Millisecond
	// callsEvery is how often a command with --calls compares the number of calls.
	callsEvery = 20 * time.Millisecond
)

// flags are what hooks are to do.
func (c *counting) flags() (flags arena.Flags, period uint32) {
	switch c.timing {
	case results.Sampled:
		return arena.On | arena.Flat | arena.Sampled, c.period
	case results.Untimed:
		return arena.On | arena.Flat, 0
	}
	return arena.On | arena.Flat | arena.Timed, 0
}

// commandLine is a command as others see it who ask who holds the JVM.
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

// A count under way.
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

// takeBatch notes what was timed lately, by which to tell how sure it is.
func (r *countRun) takeBatch() {
	found, err := r.measured()
	if err != nil {
		return // the end will say it
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

// write writes the result, and then says what leaving took.
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
