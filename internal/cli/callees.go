package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// calling is a `sonde callees` command line.
type calling struct {
	streams
	calltree.Options
	patterns []string
	json     bool
	look     func(context.Context, calltree.Options) (*calltree.Result, error)
	cache    liveCache
}

func newCallees(s streams) *cobra.Command {
	c := &calling{streams: s, Options: calltree.Options{Limits: calltree.DefaultLimits(), Hooks: 200}, look: calltree.Look}
	command := &cobra.Command{
		Use:   "callees PID METHOD...",
		Short: "Show what a method can call, as a tree",
		Long:  calleesLong,
		Example: `  sonde callees 4711 com.acme.Shop.checkout
  sonde callees 4711 'com.acme.Shop.checkout(com.acme.Cart)' --levels 3
  sonde callees 4711 com.acme.Shop.checkout --watch 10s
  sonde callees 4711 java.util.ArrayList.sort --jdk --json | jq '.roots[].callees[].method'`,
		Args: atLeast("PID", "METHOD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args, cmd.Flags().Changed); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.IntVar(&c.Limits.Levels, "levels", c.Limits.Levels, "how many levels of callees to show")
	flags.DurationVar(&c.Watch, "watch", 0, "count the calls of what is shown for this time; 0 puts no hook in")
	flags.IntVar(&c.Hooks, "hooks", c.Hooks, "with --watch: how many methods get hooks at most, the nearest first")
	flags.BoolVar(&c.Limits.JDK, "jdk", false, "follow the JDK's own methods too, and watch them")
	flags.IntVar(&c.Limits.Overrides, "overrides", c.Limits.Overrides, "show so many of the methods that one call may reach")
	flags.IntVar(&c.Limits.Breadth, "breadth", c.Limits.Breadth, "show so many callees of one method")
	flags.IntVar(&c.Limits.Nodes, "nodes", c.Limits.Nodes, "show so many lines in all")
	flags.BoolVar(&c.Redefine, "redefine", false, "have the JVM redefine classes that were made at run time, to see them")
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "with --watch: put hooks also into classes that the JDK damages by that")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

// The most that can be asked for: a tree is to be read, and a JVM to go on.
const (
	mostTreeLevels = 50
	mostTreeNodes  = 100_000
	mostTreeHooks  = 2000
	mostWatch      = time.Hour
)

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *calling) check(args []string, given func(string) bool) (err error) {
	if c.PID, err = processNumber(args[0]); err != nil {
		return err
	}
	c.patterns = args[1:]
	if c.Methods, err = pattern.ParseSet(c.patterns...); err != nil {
		return &usageError{err}
	}
	c.Command = commandLine("callees", c.patterns)
	limits := c.Limits
	switch {
	case limits.Levels < 1 || limits.Levels > mostTreeLevels:
		return usage("--levels must be from 1 to %d", mostTreeLevels)
	case limits.Overrides < 1:
		return usage("--overrides must be 1 at least")
	case limits.Breadth < 1:
		return usage("--breadth must be 1 at least")
	case limits.Nodes < 1 || limits.Nodes > mostTreeNodes:
		return usage("--nodes must be from 1 to %d", mostTreeNodes)
	case c.Watch < 0 || c.Watch > mostWatch:
		return usage("--watch must be from 0 to %v", mostWatch)
	case c.Hooks < 1 || c.Hooks > mostTreeHooks:
		return usage("--hooks must be from 1 to %d", mostTreeHooks)
	case c.Watch == 0 && given("hooks"):
		return usage("--hooks needs --watch")
	case c.Watch == 0 && given("force"):
		return usage("--force needs --watch")
	}
	return nil
}

func (c *calling) run(ctx context.Context) error {
	defer outliveReader()()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(c.err, format+"\n", args...) }
	c.Notice = func(text string) { say("note: %s", printable(text)) }
	c.Waiting = func(text string) { say("%s", text) }
	c.Watching = func(methods int) {
		say("hooks in %s, for %s", count(methods, "method", "methods"), durationText(c.Watch))
	}
	kept, endCache, err := c.cache.openCache(c.Notice)
	if err != nil {
		return err
	}
	defer endCache()
	c.Cache = kept
	result, err := c.look(ctx, c.Options)
	if err != nil {
		return interruptedBefore(ctx, "the tree was there", err)
	}
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	if c.json {
		return errors.Join(writeJSON(out, describeCallees(result, c)), out.Flush())
	}
	writeCallees(out, result, c)
	return out.Flush()
}
