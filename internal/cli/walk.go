package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report"
)

// walking is a `sonde walk` command line.
type walking struct {
	streams
	rootcause.Options
	hot, budget part
	period      period
	outputs     []string
	cache       liveCache
	source      sourceFlags
	json        bool
	climb       func(context.Context, rootcause.Options) (*climb.Climb, error)
}

func newWalk(s streams) *cobra.Command {
	c := &walking{streams: s, Options: rootcause.Defaults(), climb: rootcause.Run}
	c.hot, c.budget = part(c.Hot), part(c.Budget)
	c.period = period{calls: c.PeriodCalls, time: c.PeriodTime}
	command := &cobra.Command{
		Use:   "walk PID",
		Short: "Find hot spots, and climb to who causes them",
		Long:  walkLong,
		Example: `  sonde walk 4711
  sonde walk 4711 --hot 10% -o causes.html
  sonde walk 4711 --until com.acme.web --levels 12
  sonde walk 4711 --period '200 calls' --period 2s --hooks 4 --budget 1%
  sonde walk 4711 --duration 5m -o walk.json`,
		Args: exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args, func(flag string) bool { return cmd.Flags().Changed(flag) }); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.Var(&c.hot, "hot", "share of the samples from which on a method is a hot spot")
	flags.IntVar(&c.Top, "top", c.Top, "how many methods are climbed from where none is that hot")
	flags.Var(&c.period, "period", "how long a method is measured: '1000 calls', 5s, or both, whichever comes first")
	flags.IntVar(&c.Levels, "levels", c.Levels, "how many levels to climb at most")
	flags.StringSliceVar(&c.Until, "until", nil, "package at whose first method a way up ends; may be repeated")
	flags.IntVar(&c.Hooks, "hooks", c.Hooks, "how many methods may have live hooks at any moment")
	flags.Var(&c.budget, "budget", "the part of the program's time that live hooks may take")
	flags.DurationVar(&c.Sampling, "sampling", c.Sampling, "how long to look for hot spots before the first climb")
	flags.DurationVar(&c.Duration, "duration", 0, "go on for this time, and climb from hot spots that join; 0 ends with the first climb")
	c.source.register(flags)
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "put hooks also into classes that the JDK damages by that")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .pb.gz, .json or .txt; may be repeated")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output instead of the report")
	return command
}

// mostHooks bounds what may be live at once: a walk is to be light.
const mostHooks = 256

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *walking) check(args []string, given func(string) bool) (err error) {
	if c.PID, err = processNumber(args[0]); err != nil {
		return err
	}
	c.Hot, c.Budget = float64(c.hot), float64(c.budget)
	c.PeriodCalls, c.PeriodTime = c.period.calls, c.period.time
	c.Command = commandLine("walk", args)
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	switch {
	case c.Top < 1:
		return usage("--top must be 1 at least")
	case c.Levels < 1:
		return usage("--levels must be 1 at least")
	case c.Hooks < 1 || c.Hooks > mostHooks:
		return usage("--hooks must be from 1 to %d", mostHooks)
	case c.Sampling <= 0:
		return usage("--sampling must be more than 0")
	case c.Duration < 0:
		return usage("--duration must not be negative")
	case given("duration") && c.Duration < c.Sampling:
		return usage("--duration must be at least as long as --sampling, which is %v", c.Sampling)
	}
	for _, name := range c.Until {
		if !isPackage(name) {
			return usage("--until %q is no package: such as com.acme.web", name)
		}
	}
	return checkOutputs(c.outputs, report.ClimbFormatOf)
}

// isPackage tells whether a text can name a package; what it begins with will do, as
// will the stars of a pattern behind it.
func isPackage(name string) bool {
	name = strings.TrimRight(name, ".*")
	return name != "" && !strings.ContainsAny(name, " */\\();,") && !strings.Contains(name, "..") && !strings.HasPrefix(name, ".")
}
