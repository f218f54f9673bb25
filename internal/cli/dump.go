package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// dumper is a `sonde dump` under way.
type dumper struct {
	streams
	method  *pattern.Pattern // nil: all
	json    bool
	offsets bool

	lifter code.Lifter
	broken int // classes that cannot be read, or not whole
	shown  int
}

func newDump(s streams) *cobra.Command {
	d := &dumper{streams: s}
	var method, other string
	command := &cobra.Command{
		Use:   "dump CLASS|JAR[!ENTRY]|DIR",
		Short: "Show classes as text, or what differs between two",
		Long: `Show classes as text: header, fields, methods with their instructions, frames
and tables. Labels and names stand where a class file has offsets and indices,
so that two texts differ only where the classes do.

The input is a class file, a jar (jars inside it included), a directory, or a
JDK's lib/modules. After a jar or lib/modules, !ENTRY picks one class, by path
or by name.

--method shows only the methods that match: NAME, or CLASS.NAME, with * for any
part of a name, ** for any packages, (TYPE,TYPE,..) for parameters, :TYPE for
the result. 'sonde instrument --help' says more about patterns.

--diff shows only what changes from the input to OTHER; classes of jars and
directories are compared by path.`,
		Example: `  sonde dump Order.class
  sonde dump app.jar --method 'com.acme.Order.pay(int,..)'
  sonde dump app.jar!com.acme.Order --method '<init>'
  sonde dump boot.jar!/BOOT-INF/lib/core.jar!/com/acme/Order.class
  sonde dump $JAVA_HOME/lib/modules!/java.base/java/lang/String.class
  sonde dump app.jar --diff app-timed.jar`,
		Args: exactly("the class file, jar or directory to show"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.parseMethod(method); err != nil {
				return err
			}
			if other != "" {
				return d.diff(cmd.Context(), args[0], other)
			}
			return d.dump(cmd.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVarP(&method, "method", "m", "", "show only the methods that match `PATTERN`")
	flags.StringVar(&other, "diff", "", "show only what changes from the input to `OTHER`")
	flags.BoolVar(&d.offsets, "offsets", false, "put the offset of each instruction in front of it")
	flags.BoolVar(&d.json, "json", false, "write one JSON object per class")
	return command
}

// parseMethod takes a pattern, in which here the class may be left out.
func (d *dumper) parseMethod(text string) error {
	if text == "" {
		return nil
	}
	name := text
	if i := strings.IndexAny(name, "(:"); i >= 0 {
		name = name[:i]
	}
	if !strings.Contains(name, ".") && name != "**" {
		text = "**." + text
	}
	var err error
	if d.method, err = pattern.Parse(text); err != nil {
		return usage("--method: %w", err)
	}
	if d.method.Excludes() {
		return usage("--method %s: a pattern to show methods by cannot begin with !", text)
	}
	return nil
}

// options are those for one class; ok is false where no method of it is asked
// for.
func (d *dumper) options(c *classfile.Class) (o dump.Options, ok bool) {
	o = dump.Options{Offsets: d.offsets}
	if d.method == nil {
		return o, true
	}
	o.Method = d.method.MatchMethod
	if !d.method.MatchClass(c.Name()) {
		return o, false
	}
	for i := range c.Methods {
		name, desc, err := c.MemberName(&c.Methods[i])
		if err == nil && d.method.MatchMethod(string(name), string(desc)) {
			return o, true
		}
	}
	return o, false
}

func (d *dumper) dump(ctx context.Context, spec string) error {
	out := bufio.NewWriter(d.out)
	single, err := d.each(ctx, spec, func(e archive.Entry, c *classfile.Class, several bool) (defect, err error) {
		opts, ok := d.options(c)
		if !ok {
			return nil, nil
		}
		d.shown++
		defect = d.lifter.Check(c)
		if d.json {
			return defect, writeJSON(out, d.describe(e.Path, c, opts))
		}
		if several {
			if d.shown > 1 {
				_ = out.WriteByte('\n') // an error stays with the writer
			}
			_, _ = fmt.Fprintf(out, "# %s\n", e.Path)
		}
		return defect, dump.Class(out, c, opts)
	})
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil {
		return err
	}
	return d.verdict(spec, single)
}

// verdict turns what was met on the way into the end of the command.
func (d *dumper) verdict(spec string, single error) error {
	switch {
	case single != nil:
		return single
	case d.broken > 0:
		return fmt.Errorf("%s: holds %s that cannot be read whole (named above)", spec, count(d.broken, "class", "classes"))
	case d.shown == 0 && d.method != nil:
		return fmt.Errorf("%s: no method matches %s", spec, d.method)
	case d.shown == 0:
		return fmt.Errorf("%s: holds no class", spec)
	}
	return nil
}

// each calls fn for the classes a spec names. A class that cannot be parsed, or in
// which fn finds a defect, is told on the error stream; where it is the only one
// asked for, it is returned as single.
func (d *dumper) each(ctx context.Context, spec string, fn func(e archive.Entry, c *classfile.Class, several bool) (defect, err error)) (single, err error) {
	look := func(e archive.Entry, several bool) (defect, err error) {
		c, defect := classfile.Parse(e.Data)
		if defect != nil {
			return defect, nil
		}
		return fn(e, c, several)
	}
	file, entry := archive.Split(spec)
	if entry != "" {
		e, err := archive.Find(file, entry)
		if err != nil {
			return nil, err
		}
		defect, err := look(e, false)
		if defect != nil {
			defect = fmt.Errorf("%s: %w", located(archive.Jar, file, e.Path), defect)
		}
		return defect, err
	}
	kind, err := archive.Detect(file)
	if err != nil {
		return nil, err
	}
	several := kind != archive.ClassFile
	err = archive.Walk(ctx, file, func(e archive.Entry) error {
		defect, err := look(e, several)
		if defect == nil || err != nil {
			return err
		}
		defect = fmt.Errorf("%s: %w", located(kind, file, e.Path), defect)
		if !several {
			single = defect
			return nil
		}
		d.broken++
		_, err = fmt.Fprintf(d.err, "sonde: %s\n", oneLine(defect))
		return err
	})
	return single, err
}

// located is how to name a class of an input, so that it can be asked for again.
func located(kind archive.Kind, input, path string) string {
	switch kind {
	case archive.ClassFile:
		return input
	case archive.Tree:
		return filepath.Join(input, path)
	}
	return input + "!/" + path
}

var errTwoKinds = errors.New("a single class cannot be compared with a jar or directory: name the entry, as JAR!ENTRY")
