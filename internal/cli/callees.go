package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/calltree"
	"github.com/sonde-jvm/sonde/internal/measure/found"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

type calleesCommand struct {
	streams
	calltree.Options
	patterns []string
	json     bool
	found    bool
	look     func(context.Context, calltree.Options) (*calltree.Result, error)
	cache    cacheFlags
}

func newCallees(s streams) *cobra.Command {
	c := &calleesCommand{streams: s, Options: calltree.Options{Limits: calltree.DefaultLimits(), Hooks: 200}, look: calltree.Look}
	command := &cobra.Command{
		Use:   "callees PID METHOD...",
		Short: "Show what a method can call, as a tree",
		Long:  calleesLong,
		Example: `  sonde callees 4711 com.acme.Shop.checkout
  sonde callees 4711 'com.acme.Shop.checkout(com.acme.Cart)' --levels 3
  sonde callees 4711 com.acme.Shop.checkout --watch 10s
  sonde callees 4711 com.acme.Shop.checkout --found > probes.yaml
  sonde callees 4711 java.util.ArrayList.sort --jdk --json | jq '.roots[].callees[].method'`,
		Args: atLeast("PID", "METHOD"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.Var(number(&c.Limits.Levels, c.Limits.Levels, 1, mostTreeLevels), "levels", "how many levels of callees to show")
	flags.Var(span(&c.Watch, 0, 0, mostWatch), "watch", "how long to count calls of the methods shown; 0 installs no hooks")
	flags.Var(number(&c.Hooks, c.Hooks, 1, mostTreeHooks), "hooks", "with --watch: put hooks into at most `N` methods, the nearest first")
	flags.BoolVar(&c.Limits.JDK, "jdk", false, "also follow and watch methods of the JDK")
	flags.Var(number(&c.Limits.Overrides, c.Limits.Overrides, 1, 0), "overrides", "show at most `N` of the methods that one call may reach")
	flags.Var(number(&c.Limits.Breadth, c.Limits.Breadth, 1, 0), "breadth", "show at most `N` callees of one method")
	flags.Var(number(&c.Limits.Nodes, c.Limits.Nodes, 1, mostTreeNodes), "nodes", "show at most `N` lines in total")
	flags.BoolVar(&c.Redefine, "redefine", false, "make the JVM redefine classes that were generated at run time, to read them")
	c.cache.register(flags)
	flags.BoolVar(&c.Force, "force", false, "with --watch: "+forceUsage)
	flags.BoolVar(&c.found, "found", false, "write what sonde drill or a goal has found below METHOD as probes, instead of the tree")
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

func (c *calleesCommand) check(args []string, given func(string) bool) (err error) {
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
	case c.found && (c.Watch > 0 || c.json):
		return usage("--found writes probes only: leave out --watch and --json")
	}
	return nil
}

func (c *calleesCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(c.err, format+"\n", args...) }
	c.Notice, c.In = c.note, c.sessions()
	c.Entered = c.ready
	c.Waiting = func(text string) { say("%s", text) }
	c.Watching = func(methods int) {
		say("hooks in %s, for %s", format.Count(methods, "method", "methods"), format.Duration(c.Watch))
	}
	opened, endCache, err := c.cache.openCache(c.streams, c.Notice)
	if err != nil {
		return err
	}
	defer endCache()
	c.Cache = opened
	var cause *found.Cause
	if c.found {
		c.Known = func(digest func(class string) string) { cause = readFound().Below(c.Methods.Match, digest) }
	}
	result, err := c.look(ctx, c.Options)
	if err != nil {
		return interruptedBefore(ctx, "the tree was complete", err)
	}
	d := document.NewCallees(result, &c.Options, c.patterns)
	c.keepResult(d, func(out io.Writer) { writeCallees(out, result, c, 0) })
	switch {
	case c.json:
		return document.Write(c.out, d)
	case c.found && cause == nil:
		return fmt.Errorf("no cause of slow calls below %s is remembered for these class files: sonde drill searches for it", strings.Join(c.patterns, ", "))
	case c.found:
		probes := foundProbes(cause)
		c.keepFile("yaml", probes)
		_, err := c.out.Write(probes)
		return err
	}
	return c.print(func(out io.Writer) { writeCallees(out, result, c, c.outWidth()) })
}

const calleesLong = `Show every method that a method can call, level by level, according to the bytecode of
the loaded classes: the targets of all calls with every override in a loaded subclass,
constructors, the bodies of lambdas and the targets of method references, and static
initialisers of the classes it uses. A call of an object whose class is a proxy (of the JDK
or of CGLIB) can reach every loaded handler or interceptor. A program usually calls
only some of these methods. Calls by reflection and method handles are not visible in
bytecode: methods that use them are marked.

Nothing is changed in the JVM, no hook is installed and no class is redefined, unless
--watch is given. Class files of the JDK are read from disk, others from the class
loaders, each once, and kept in the user's cache directory. While another Sonde holds the
JVM, the classes that the last sonde callees has read are shown, with the calls that the
hooks of the other Sonde have counted.

STATE    what is known about its calls:
         instrumented  another Sonde has a hook in it, which has counted no call
         called        a hook has counted calls; CALLS is their number
         never called  no call began during --watch
         not watched   calls were not counted
         no hook       it cannot get a hook; the reason follows the name
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

With --found, the tree is not shown. If sonde drill or a goal of sonde apply has found why calls of
METHOD are slow, and the classes on the path to the cause have not changed since, the methods
on this path are written as probes, for sonde apply -f. If there are several causes, the newest is used.

--levels, --overrides, --breadth and --nodes limit the tree. Callees that they cut off
are counted, at their place and at the end.

METHOD is a pattern as in sonde instrument; each method that matches is a root.
docs/formats/callees.md describes the output of --json.`

// A calleesView draws a tree as a table whose last column is the tree.
type calleesView struct {
	counted    bool // there are calls to show
	lowerBound bool // some of them may be missing
	rows       [][]string
	notes      []string // texts after the names, which are cut first
	guides     []string
}

func writeCallees(out io.Writer, result *calltree.Result, c *calleesCommand, width int) {
	v := &calleesView{}
	result.Each(func(n *calltree.Node) {
		v.counted = v.counted || n.State == calltree.Called || n.State == calltree.NeverCalled || n.LowerBound
	})
	for _, root := range result.Roots {
		v.add(root, "", "")
	}
	columns := format.Columns("STATE")
	if v.counted {
		columns = append(columns, format.Column{Title: "CALLS", Right: true})
	}
	columns = append(columns, format.Column{Title: "SIZE", Right: true}, format.Column{Title: "LOADER"}, format.Column{Title: "CALL"}, format.Column{Title: "METHOD"})
	v.fit(columns, width)
	format.WriteTable(out, columns, v.rows, 0)
	_, _ = fmt.Fprintln(out)
	if v.lowerBound {
		_, _ = fmt.Fprintln(out, lowerBoundNote)
	}
	for _, line := range calleesFooter(result, c) {
		_, _ = fmt.Fprintln(out, format.Printable(line))
	}
}

// add adds the rows of a node and its callees. lead is drawn before its name, below before
// the names of its callees.
func (v *calleesView) add(n *calltree.Node, lead, below string) {
	calls, size := "-", "-"
	if n.State == calltree.Called || n.State == calltree.NeverCalled || n.LowerBound {
		calls = callsText(n.Calls, n.LowerBound)
		v.lowerBound = v.lowerBound || n.LowerBound
	}
	if n.Bytes > 0 {
		size = format.Grouped(n.Bytes)
	}
	v.row(lead, methodText(n.MethodRef), remarkOf(n), n.State.String(), calls, size, loadersText(n.Loaders), kindsText(n.Via))
	last := len(n.Callees) + len(n.Cuts) - 1
	for i, callee := range n.Callees {
		if i == last {
			v.add(callee, below+"└─ ", below+"   ")
		} else {
			v.add(callee, below+"├─ ", below+"│  ")
		}
	}
	for i, cut := range n.Cuts {
		guide := "├─ "
		if i+len(n.Callees) == last {
			guide = "└─ "
		}
		v.row(below+guide, cutText(cut), "", "", "", "", "", "")
	}
}

func (v *calleesView) row(guide, name, note, state, calls, size, loader, kind string) {
	row := []string{state}
	if v.counted {
		row = append(row, calls)
	}
	v.rows = append(v.rows, append(row, size, loader, kind, format.Printable(name)))
	v.guides, v.notes = append(v.guides, guide), append(v.notes, note)
}

// fit joins the parts of the last column to fit a terminal. The note is cut first, then
// the beginning of the name, because the end of a class name says most.
func (v *calleesView) fit(columns []format.Column, width int) {
	used := format.SpaceBefore(columns, v.rows)
	last := len(columns) - 1
	for i, row := range v.rows {
		text := v.guides[i] + format.KeepEnd(row[last], width, used+len([]rune(v.guides[i])))
		if v.notes[i] != "" {
			text += "  " + format.Printable(v.notes[i])
		}
		if width > 0 {
			text = format.Cut(text, max(width-used, 12))
		}
		row[last] = text
	}
}

// methodText returns a method with the types of its parameters, without packages.
func methodText(m classfile.MethodRef) string {
	name := strings.ReplaceAll(m.Class, "/", ".")
	if m.Name == "" {
		return name
	}
	return name + "." + m.Name + parameterText(m.Descriptor)
}

func loadersText(loaders []uint32) string {
	if len(loaders) == 0 {
		return "-"
	}
	const most = 3
	var names []string
	for i, l := range loaders {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, document.LoaderName(l))
	}
	return strings.Join(names, ",")
}

func kindsText(via []calltree.Via) string {
	var kinds []string
	for _, v := range via {
		if !slices.Contains(kinds, v.Kind.String()) {
			kinds = append(kinds, v.Kind.String())
		}
	}
	return strings.Join(kinds, ", ")
}

func remarkOf(n *calltree.Node) string {
	var remarks []string
	for _, v := range n.Via {
		if v.ByLambda {
			remarks = append(remarks, "by a lambda, as "+shortMethod(v.Declared))
			break
		}
		if v.ByProxy {
			remarks = append(remarks, "by a proxy, as "+shortMethod(v.Declared))
			break
		}
		if v.Kind != callgraph.Initializer && v.Declared.Class != n.Class {
			remarks = append(remarks, "as "+shortMethod(v.Declared))
			break
		}
	}
	if n.Reason != "" {
		remarks = append(remarks, n.Reason)
	}
	switch n.Stop {
	case calltree.Recursive:
		remarks = append(remarks, "recursive")
	case calltree.Elsewhere:
		remarks = append(remarks, "shown elsewhere")
	}
	if n.Reflects {
		remarks = append(remarks, "uses reflection")
	}
	if n.Handles {
		remarks = append(remarks, "invokes method handles")
	}
	return strings.Join(remarks, "; ")
}

func shortMethod(m classfile.MethodRef) string {
	return strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name
}

func cutText(c calltree.Cut) string {
	switch c.By {
	case calltree.ByOverrides:
		return fmt.Sprintf("and %s that %s may reach (--overrides)", format.Count(c.Methods, "method more", "methods more"), shortMethod(c.Via.Declared))
	case calltree.ByBreadth:
		return fmt.Sprintf("and %s (--breadth)", format.Count(c.Methods, "callee more", "callees more"))
	}
	return fmt.Sprintf("and %s (--nodes)", format.Count(c.Methods, "callee more", "callees more"))
}

func calleesFooter(r *calltree.Result, c *calleesCommand) []string {
	lines := []string{fmt.Sprintf("%s, %s below %s", format.Count(r.Methods, "method", "methods"),
		format.Count(c.Limits.Levels, "level", "levels"), format.Count(len(r.Roots), "root", "roots"))}
	if r.Cut > 0 {
		lines[0] += fmt.Sprintf("; %s not shown (--overrides, --breadth, --nodes)", format.Count(r.Cut, "callee is", "callees are"))
	}
	if r.RootsCut > 0 {
		lines = append(lines, fmt.Sprintf("%s not shown: name fewer methods, or raise --nodes", format.Count(r.RootsCut, "further method that matches is", "further methods that match are")))
	}
	if r.Holder != "" {
		lines = append(lines, fmt.Sprintf("%s holds process %d, so its loaded classes could not be read again; the tree shows those of %s", r.Holder, r.PID, r.AsOf.Local().Format(time.DateTime)))
	}
	switch {
	case c.Watch > 0:
		line := fmt.Sprintf("calls of %s were counted for %s", format.Count(r.Watched, "method", "methods"), format.Duration(r.WatchedFor))
		if r.Unwatched > 0 {
			line += fmt.Sprintf("; %s more had no hook (limit --hooks)", format.Grouped(r.Unwatched))
		}
		lines = append(lines, line)
	case r.Holder == "":
		lines = append(lines, "calls were not counted: --watch 10s counts them for 10 seconds")
	}
	if r.Fileless > 0 {
		line := format.Count(r.Fileless, "loaded class has", "loaded classes have") + " no file (generated at run time): calls and overrides in such classes are not shown"
		if !c.Redefine {
			line += " (--redefine)"
		}
		lines = append(lines, line)
	}
	return append(lines, loaderLines(r)...)
}

func loaderLines(r *calltree.Result) (lines []string) {
	shown := make(map[uint32]bool)
	r.Each(func(n *calltree.Node) {
		for _, l := range n.Loaders {
			shown[l] = true
		}
	})
	for _, l := range r.Loaders {
		if l.Number != 0 && shown[l.Number] {
			lines = append(lines, fmt.Sprintf("class loader %s has %s, such as %s", document.LoaderName(l.Number),
				format.Count(l.Classes, "class", "classes"), strings.ReplaceAll(l.Example, "/", ".")))
		}
	}
	return lines
}
