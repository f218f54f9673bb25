package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
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
	c.Notice = func(text string) { say("note: %s", format.Printable(text)) }
	c.Waiting = func(text string) { say("%s", text) }
	c.Watching = func(methods int) {
		say("hooks in %s, for %s", format.Count(methods, "method", "methods"), format.Duration(c.Watch))
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
		return errors.Join(document.Write(out, document.NewCallees(result, &c.Options, c.patterns)), out.Flush())
	}
	writeCallees(out, result, c)
	return out.Flush()
}

const calleesLong = `Show every method that a method can call, level by level, as the bytecode of the
loaded classes has it: the targets of all calls, with every override in a loaded
subclass; constructors; the bodies of lambdas and the targets of method references;
static initialisers of classes that it uses. It is what can be called, which is more
than what is. What reflection and method handles call is in no bytecode: a method that
uses them is marked.

Nothing is changed in the JVM, no hook goes in and no class is redefined, unless
--watch asks for it. Class files are read from the JDK on disk where they are its, and
else from the class loaders, each once, and kept in the user's cache directory: while
another Sonde holds the JVM the classes of the last look are shown, with what that one's
hooks have counted.

STATE    what is known of its calls:
         instrumented  another Sonde has a hook in it, and has seen no call
         seen called   a hook has seen calls, CALLS of them
         never called  --watch has waited for a call in vain
         not watched   nothing has counted
         cannot be     it cannot have a hook; the reason stands behind it
SIZE     bytes of code
LOADER   its class loader: boot, or a number that is explained below the tree
CALL     how it is called: virtual, interface, static, special (super or private),
         constructor, lambda and method reference (made here, called by whoever gets
         it), initializer (of a class), dynamic (links a call site)
METHOD   the tree; "as" names what the call names where it reaches an override

A method is followed once; at other places it is marked. The JDK's own methods are
shown but neither followed nor watched unless --jdk says so, or METHOD is one of them.

With --watch hooks that only count go into the methods shown, at most --hooks, the
nearest first; all are taken out at the end, at once. Ctrl-C ends it early.

The tree is bounded by --levels, --overrides, --breadth and --nodes; what they cut is
counted and told, at its place and at the end.

A METHOD is a pattern of sonde instrument; each method that matches is a root. What
--json writes is described in docs/formats/callees.md.

Exit code: 0 when there is a tree, 1 on an error, 2 for a wrong command line.`
