package cli

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

// observing is a `sonde observe` command line.
type observing struct {
	streams
	suggest.Options
	inputs []string // archives; none where a JVM is observed
	budget part
	output string
	apply  bool
	json   bool
	cache  liveCache
	source sourceFlags

	look func(context.Context, suggest.Options) (*suggest.Proposal, error)
	try  func(context.Context, suggest.Options, *suggest.Proposal) (*suggest.Trial, error)
}

func newObserve(s streams) *cobra.Command {
	c := &observing{streams: s, Options: suggest.Defaults(), look: suggest.Run, try: suggest.Try}
	c.budget = part(c.Budget)
	command := &cobra.Command{
		Use:     "observe PID|FILE...",
		Short:   "Find out which methods are worth a probe, and propose a file of probes",
		Long:    observeLong,
		Example: observeExamples,
		Args:    atLeast("PID or FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args, cmd.Flags().Changed); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.DurationVar(&c.For, "for", c.For, "how long to look; with --apply, also how long the probes stay")
	flags.Var(&c.budget, "budget", "the part of the program's processor time that the probes may take")
	flags.IntVar(&c.Most, "most", c.Most, "how many probes are proposed at most")
	flags.StringVarP(&c.output, "output", "o", "", "write the probes to `FILE` instead of standard output")
	flags.BoolVar(&c.apply, "apply", false, "apply what is proposed, and measure what that costs and covers")
	c.source.register(flags)
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "put hooks also into classes that the JDK damages by that")
	flags.BoolVar(&c.json, "json", false, "write one JSON object to standard output")
	return command
}

// Bounds of what can be asked for.
const (
	leastObserved  = 2 * time.Second
	mostObserved   = time.Hour
	mostProposed   = 400
	standardOutput = "-"
)

// check reads the command line; what is wrong with it is said before anything is
// touched.
func (c *observing) check(args []string, given func(string) bool) (err error) {
	c.Budget = float64(c.budget)
	if c.Source, err = c.source.choose(); err != nil {
		return err
	}
	switch {
	case c.For < leastObserved || c.For > mostObserved:
		return usage("--for must be from %v to %v", leastObserved, mostObserved)
	case c.Most < 1 || c.Most > mostProposed:
		return usage("--most must be from 1 to %d", mostProposed)
	}
	if isProcess(args) {
		if c.PID, err = processNumber(args[0]); err != nil {
			return err
		}
		c.Command = commandLine("observe", args)
	} else {
		c.inputs = args
		for _, flag := range []string{"for", "budget", "apply", "recorder", "thread-dumps", "force"} {
			if given(flag) {
				return usage("--%s needs a program that runs: name its PID; sonde ps lists the JVMs there are", flag)
			}
		}
	}
	if c.output == "" || c.output == standardOutput {
		return nil
	}
	return checkWritable(c.output)
}

// isProcess reports whether a JVM is meant, and not a file: a single number, unless
// there is a file of that name and no such process.
func isProcess(args []string) bool {
	if len(args) != 1 {
		return false
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return false
	}
	if _, err := os.Stat(args[0]); err == nil {
		_, err = inspect(pid)
		return err == nil
	}
	return true
}
