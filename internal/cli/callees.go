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
	flags.Var(number(&c.Limits.Levels, c.Limits.Levels, 1, mostTreeLevels), "levels", "how many levels of callees to show")
	flags.Var(span(&c.Watch, 0, 0, mostWatch), "watch", "count the calls of the methods shown for this time; 0 puts no hook in")
	flags.Var(number(&c.Hooks, c.Hooks, 1, mostTreeHooks), "hooks", "with --watch: put hooks into at most so many methods, the nearest first")
	flags.BoolVar(&c.Limits.JDK, "jdk", false, "also follow and watch methods of the JDK")
	flags.Var(number(&c.Limits.Overrides, c.Limits.Overrides, 1, 0), "overrides", "show so many of the methods that one call may reach")
	flags.Var(number(&c.Limits.Breadth, c.Limits.Breadth, 1, 0), "breadth", "show so many callees of one method")
	flags.Var(number(&c.Limits.Nodes, c.Limits.Nodes, 1, mostTreeNodes), "nodes", "show so many lines in total")
	flags.BoolVar(&c.Redefine, "redefine", false, "make the JVM redefine classes that were generated at run time, to read them")
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "with --watch: "+forceUsage)
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

// Bounds of flags: a tree must be readable, and the JVM must go on.
const (
	mostTreeLevels = 50
	mostTreeNodes  = 100_000
	mostTreeHooks  = 2000
	mostWatch      = time.Hour
)

// check reads the command line, before the JVM is touched.
func (c *calling) check(args []string, given func(string) bool) (err error) {
	if c.PID, err = processNumber(args[0]); err != nil {
		return err
	}
	c.patterns = args[1:]
	if c.Methods, err = pattern.ParseSet(c.patterns...); err != nil {
		return &usageError{err}
	}
	c.Command = commandLine("callees", c.patterns)
	switch {
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
		return interruptedBefore(ctx, "the tree was complete", err)
	}
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	if c.json {
		return errors.Join(document.Write(out, document.NewCallees(result, &c.Options, c.patterns)), out.Flush())
	}
	writeCallees(out, result, c)
	return out.Flush()
}

const calleesLong = `Show every method that a method can call, level by level, according to the bytecode of
the loaded classes: the targets of all calls with every override in a loaded subclass,
constructors, the bodies of lambdas and the targets of method references, and static
initialisers of the classes it uses. This is what can be called, which is more than what
is called. Calls by reflection and method handles are not visible in bytecode: methods
that use them are marked.

Nothing is changed in the JVM, no hook goes in and no class is redefined, unless --watch
is given. Class files of the JDK are read from disk, others from the class loaders, each
once, and kept in the user's cache directory. While another Sonde holds the JVM, the
classes of the last look are shown, with the calls that its hooks have counted.

STATE    what is known about its calls:
         instrumented  another Sonde has a hook in it, and has seen no call
         seen called   a hook has seen calls, CALLS of them
         never called  no call came while --watch waited
         not watched   calls were not counted
         cannot be     it cannot have a hook; the reason follows the name
SIZE     bytes of code
LOADER   its class loader: boot, or a number that is explained below the tree
CALL     how it is called: virtual, interface, static, special (super or private),
         constructor, lambda and method reference (created here, called by whoever gets
         it), initializer (of a class), dynamic (links a call site)
METHOD   the tree; "as" shows the name in the call if it reaches an override

A method is followed once; other places are marked. Methods of the JDK are shown but
neither followed nor watched, unless --jdk is given or METHOD is one of them.

With --watch, the methods shown get hooks that only count, at most --hooks, the nearest
first. All hooks are removed at the end, at once. Ctrl-C ends it early.

--levels, --overrides, --breadth and --nodes limit the tree. Callees that they cut off
are counted, at their place and at the end.

METHOD is a pattern as in sonde instrument; each method that matches is a root.
docs/formats/callees.md describes the output of --json.

Exit code: 0 if there is a tree, 1 on an error, 2 for a wrong command line.`
