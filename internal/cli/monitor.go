package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
