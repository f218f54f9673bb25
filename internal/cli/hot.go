package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
)

// hotting is a `sonde hot` command line.
type hotting struct {
	streams
	sampler.Options
	pid      int
	once     bool
	json     bool
	threads  bool
	sort     string
	filter   string
	top      int
	interval time.Duration
	window   time.Duration
	flame    string
	source   sourceFlags
}

func newHot(s streams) *cobra.Command {
	c := &hotting{streams: s}
	command := &cobra.Command{
		Use:   "hot PID",
		Short: "Show where a running JVM spends its time, without changing it",
		Long:  hotLong,
		Example: `  sonde hot 4711
  sonde hot 4711 --once --window 30s --top 20
  sonde hot 4711 --threads --filter com.acme
  sonde hot 4711 --once --flame hot.html
  sonde hot 4711 --json | jq '.methods[0]'`,
		Args: exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args, cmd.Flags().Changed("interval")); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&c.once, "once", false, "show one window and end")
	flags.BoolVar(&c.json, "json", false, "write JSON: one object, or with --interval one at each interval")
	flags.BoolVar(&c.threads, "threads", false, "show threads instead of methods")
	flags.StringVar(&c.sort, "sort", hotBySelf, "self, total or name")
	flags.StringVar(&c.filter, "filter", "", "show only what has this text in its name")
	flags.IntVar(&c.top, "top", 0, "show so many; 0 for all that fit, or at the end 30")
	flags.DurationVar(&c.interval, "interval", time.Second, "how often the table is drawn, or with --json an object written")
	flags.DurationVar(&c.window, "window", 10*time.Second, "the time a table is about")
	flags.StringVar(&c.flame, "flame", "", "file to write a flame graph of the last window to: .html")
	flags.BoolVar(&c.CPUTime, "cpu-time", false, "sample by processor time; JDK 25 and later, which call it experimental")
	c.source.register(flags)
	return command
}

const (
	leastWindow = time.Second
	mostWindow  = 10 * time.Minute
)

// check reads the command line; what is wrong with it is said before the JVM is
// asked anything.
func (c *hotting) check(args []string, paced bool) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	switch {
	case hotOrders[c.sort] == nil:
		return usage("--sort %q: self, total or name", c.sort)
	case c.top < 0:
		return usage("--top must not be negative")
	case c.interval < leastInterval:
		return usage("--interval must be %v at least", leastInterval)
	case c.window < leastWindow || c.window > mostWindow:
		return usage("--window must be from %v to %v", leastWindow, mostWindow)
	case c.CPUTime && c.source.dumps:
		return usage("--cpu-time and --thread-dumps exclude one another")
	case c.flame != "" && !strings.HasSuffix(strings.ToLower(c.flame), ".html"):
		return usage("--flame %q: must end in .html", c.flame)
	}
	if c.flame != "" {
		if err := checkWritable(c.flame); err != nil {
			return err
		}
	}
	// What nobody looks at again is told once.
	c.once = c.once || c.json && !paced || !c.json && c.outWidth() == 0
	return nil
}
