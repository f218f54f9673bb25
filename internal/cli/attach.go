package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/results"
)

// rowsByProbe is --by of a pack: in place of patterns it has probes.
const rowsByProbe = "probe"

const usualAttachSort = "calls"

// attaching is a `sonde attach` command line.
type attaching struct {
	applying // for --weave
	pack     string
	weave    bool
	once     bool
	stall    time.Duration
	by       string
	sort     string
	top      int
}

func newAttach(s streams) *cobra.Command {
	c := &attaching{applying: applying{choice: choice{streams: s}, keep: usualKeep}}
	command := &cobra.Command{
		Use:     "attach PID",
		Short:   "Show what a pack in a running JVM measures, or take its place",
		Long:    attachLong,
		Example: attachExamples,
		Args:    exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.paced = cmd.Flags().Changed("interval")
			if err := c.check(args, cmd.Flags().Changed); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.pack, "pack", "", "`FILE` the program was started with, where the one it names cannot be read")
	flags.BoolVar(&c.once, "once", false, "tell all since the program began, and end")
	flags.DurationVar(&c.interval, "interval", time.Second, "how long the time is that a table, line or object is about")
	flags.DurationVar(&c.duration, "for", 0, "end after this time; 0 for Ctrl-C")
	flags.DurationVar(&c.stall, "stall", time.Second, "a call that is older has stalled")
	flags.StringVar(&c.by, "by", rowsByProbe, "a row for each probe or for each method")
	flags.StringVar(&c.sort, "sort", usualAttachSort, "calls, errors, mean, p99, running or name; with --once what sonde report has, total where nothing is said")
	flags.IntVar(&c.top, "top", 0, "show so many rows; 0 for all")
	flags.BoolVar(&c.json, "json", false, "write JSON: an object at each interval, or one with --once")
	flags.BoolVar(&c.weave, "weave", false, "take the pack out and have this Sonde apply its probes")
	flags.StringVarP(&c.file, "file", "f", "", "with --weave: `FILE` of probes in place of the pack's own")
	flags.BoolVar(&c.yes, "yes", false, "with --weave: do not ask before something is changed")
	flags.BoolVar(&c.force, "force", false, "with --weave: put hooks also into classes that the JDK damages by that")
	flags.BoolVar(&c.listLeft, "left", false, "with --weave: list all that is left alone")
	c.cache.register(flags)
	return command
}

// Flags that only one of the ways has.
var (
	liveFlags  = []string{"for", "interval", "stall", "by"} // not with --once
	lookFlags  = []string{"once", "stall", "by", "sort", "top"}
	weaveFlags = []string{"file", "yes", "force", "left", "cache", "cache-share", "cache-trust", "no-cache"}
)

// check reads the command line; what is wrong with it is said before the JVM is looked at.
func (c *attaching) check(args []string, isSet func(flag string) bool) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if err := c.checkWay(isSet); err != nil {
		return err
	}
	if err := checkTimes(c.interval, c.stall, c.duration); err != nil {
		return err
	}
	switch {
	case c.by != rowsByProbe && c.by != byMethod:
		return usage("--by %q: probe or method", c.by)
	case c.once && reportOrders[c.sort] == nil:
		return usage("--sort %q: with --once it is one of %s", c.sort, strings.Join(slices.Sorted(maps.Keys(reportOrders)), ", "))
	case !c.once && monitorOrders[c.sort] == nil:
		return usage("--sort %q: %s", c.sort, strings.Join(slices.Sorted(maps.Keys(monitorOrders)), ", "))
	case c.top < 0:
		return usage("--top must not be negative")
	}
	if c.file != "" {
		c.title = c.file
		c.set, err = readSet(c.streams, c.file)
	}
	return err
}

// checkWay holds flags to whether this shows, tells once or weaves.
func (c *attaching) checkWay(isSet func(flag string) bool) error {
	of, other := weaveFlags, "goes with --weave alone"
	if c.weave {
		of, other = lookFlags, "does not go with --weave"
	}
	if at := slices.IndexFunc(of, isSet); at >= 0 {
		return usage("--%s %s", of[at], other)
	}
	if !c.once {
		return nil
	}
	if at := slices.IndexFunc(liveFlags, isSet); at >= 0 {
		return usage("--%s does not go with --once, which tells all since the program began", liveFlags[at])
	}
	if !isSet("sort") {
		c.sort = usualReportSort
	}
	return nil
}

func (c *attaching) run(ctx context.Context) error {
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
		r := &reporting{streams: c.streams, sort: c.sort, top: c.top, json: c.json}
		return r.write(h)
	}
	return c.show(ctx, h)
}
