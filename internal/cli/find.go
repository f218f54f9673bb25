package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/measure/find"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

type findCommand struct {
	streams
	find.Options
	patterns []string
	json     bool
	rows     int
}

const findLong = `Find loaded classes and their methods. PATTERN is a class, a method, or a name without a
package: Sonde looks for a class with this name in any package, and if there is none, for a method.
* stands for any letters in a name, ** for any names. Methods can also be selected by type,
annotation or call (sonde help patterns).

For each class: its class loader, where it comes from, and its methods as patterns can name
them, each with its descriptor. Methods without code, abstract or native, cannot have hooks.

LOADER   boot, or a number, which is the same for all classes of a loader
FROM     the module of the JDK, or the jars and folders on the class path, or open in the JVM, that
         have a class of this name; - if there is none, as for classes made at run time

Sonde lists the classes with its agent, reads the class files, and leaves. No class changes.`

func newFind(s streams) *cobra.Command {
	c := &findCommand{streams: s}
	command := &cobra.Command{
		Use:   "find PID PATTERN...",
		Short: "Find loaded classes and methods",
		Long:  findLong,
		Example: `  sonde find 4711 Order
  sonde find 4711 'com.acme.**.*Controller'
  sonde find 4711 'com.acme.Order.pay*'
  sonde find 4711 'java.sql.PreparedStatement.executeQuery'
  sonde find 4711 @GetMapping
  sonde find 4711 'java.util.HashMap.get(..)' --json`,
		Args: atLeast("PID", "PATTERN"),
		RunE: checkAndRun(c),
	}
	flags := command.Flags()
	flags.VarP(number(&c.rows, 200, 0, 0), "top", "n", "show at most `N` classes and methods; 0 shows all")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	flags.BoolVar(&c.Files, filesFlag, false, "patterns are those of methods, and classes have their files")
	hide(command, filesFlag) // for apply
	return command
}

// filesFlag makes find report the class files of methods.
const filesFlag = "files"

func (c *findCommand) check(args []string, _ func(string) bool) (err error) {
	if c.PID, err = processNumber(args[0]); err != nil {
		return err
	}
	c.patterns = args[1:]
	parse := find.ParseQuery
	if c.Files {
		parse = find.MethodQuery
	}
	for _, text := range c.patterns {
		query, err := parse(text)
		if err != nil {
			return &usageError{err}
		}
		c.Queries = append(c.Queries, query)
	}
	c.Command = commandLine("find", c.patterns)
	return nil
}

func (c *findCommand) run(ctx context.Context) error {
	defer ignoreBrokenPipe()()
	c.Notice, c.In, c.Entered = c.note, c.sessions(), c.ready
	result, err := find.Look(ctx, c.Options)
	if err != nil {
		return interruptedBefore(ctx, "the classes were known", err)
	}
	for _, lack := range result.Lacks {
		c.note(lack)
	}
	d := document.NewFind(c.PID, c.patterns, result)
	if !c.Files {
		c.keepResult(d, func(out io.Writer) { c.writeText(out, d) })
	}
	return c.writeResult(c.json, d, func(out io.Writer) { c.writeText(out, d) })
}

func (c *findCommand) writeText(out io.Writer, d *document.Find) {
	rows, methods := 0, 0
	isFull := func() bool { return c.rows > 0 && rows >= c.rows }
	for i := range d.Classes {
		class := &d.Classes[i]
		methods += len(class.Methods)
		if isFull() {
			continue
		}
		rows++
		_, _ = fmt.Fprintln(out, format.Printable(fmt.Sprintf("%s  loader %s, from %s", class.Name, class.Loader, format.OrDash(strings.Join(class.From, ", ")))))
		if class.Fileless {
			_, _ = fmt.Fprintln(out, "  its class file is not found, so its methods are not known")
		}
		for _, m := range class.Methods {
			if isFull() {
				break
			}
			rows++
			_, _ = fmt.Fprintln(out, format.Printable("  "+methodLine(&m)))
		}
	}
	all := len(d.Classes) + methods
	_, _ = fmt.Fprintf(out, "\n%s, %s of %s\n", format.Count(len(d.Classes), "class", "classes"), format.Count(methods, "method", "methods"),
		format.Count(d.Loaded, "loaded class", "loaded classes"))
	if all > rows {
		_, _ = fmt.Fprintf(out, "%s not shown (-n)\n", format.Count(all-rows, "line is", "lines are"))
	}
}

// methodLine is a method as a pattern can name it, with its descriptor.
func methodLine(m *document.FoundMethod) string {
	line := m.Pattern + "  " + m.Descriptor
	if !m.HasCode {
		line += "  no code"
	}
	return line
}
