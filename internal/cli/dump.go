package cli

import (
	"bufio"
	"bytes"
	"cmp"
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
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

type dumpCommand struct {
	streams
	method  *pattern.Pattern // nil: all
	json    bool
	offsets bool

	lifter code.Lifter
	broken int // classes that cannot be read completely
	shown  int
}

func newDump(s streams) *cobra.Command {
	d := &dumpCommand{streams: s}
	var method, other string
	command := &cobra.Command{
		Use:   "dump CLASS|JAR[!ENTRY]|DIR",
		Short: "Show classes as text, or what differs between two",
		Long: `Show classes as text: header, fields, methods with their instructions, frames and tables.
Labels and names replace offsets and indices, so that two texts differ only if the
classes do.

The input is a class file, a jar (including jars inside it), a directory, or lib/modules
of a JDK. After a jar or lib/modules, !ENTRY selects one class, by path or by name.

--method shows only the methods that match: NAME, or CLASS.NAME, with * for any part of a
name, ** for any packages, (TYPE,TYPE,..) for parameters, :TYPE for the result. See sonde
instrument --help for patterns.

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

// parseMethod reads a pattern, in which the class may be omitted.
func (d *dumpCommand) parseMethod(text string) error {
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
		return usage("--method %s: this pattern cannot begin with !", text)
	}
	if !d.method.IsByName() {
		return usage("--method %s: name a method, such as Order.pay", text)
	}
	return nil
}

// options returns the options for a class; ok is false if none of its methods matches.
func (d *dumpCommand) options(c *classfile.Class) (o dump.Options, ok bool) {
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

func (d *dumpCommand) dump(ctx context.Context, spec string) error {
	out := bufio.NewWriter(d.out)
	single, err := d.each(ctx, spec, func(e archive.Entry, c *classfile.Class, several bool) (defect, err error) {
		opts, ok := d.options(c)
		if !ok {
			return nil, nil
		}
		d.shown++
		defect = d.lifter.Check(c)
		if d.json {
			return defect, document.Write(out, document.NewClass(e.Path, c, opts))
		}
		if several {
			if d.shown > 1 {
				_ = out.WriteByte('\n') // an error stays with the writer
			}
			_, _ = fmt.Fprintf(out, "# %s\n", format.Printable(e.Path))
		}
		return defect, dump.Class(out, c, opts)
	})
	if err := cmp.Or(err, out.Flush()); err != nil {
		return err
	}
	return d.verdict(spec, single)
}

func (d *dumpCommand) verdict(spec string, single error) error {
	switch {
	case single != nil:
		return single
	case d.broken > 0:
		return fmt.Errorf("%s contains %s that cannot be read completely (see above)", spec, format.Count(d.broken, "class", "classes"))
	case d.shown == 0 && d.method != nil:
		return fmt.Errorf("%s: no method matches %s", spec, d.method)
	case d.shown == 0:
		return fmt.Errorf("%s contains no class file", spec)
	}
	return nil
}

// walkSpec calls visit for the classes of a spec: an input, or an entry of one, which is alone
// as a class file is.
func walkSpec(ctx context.Context, spec string, visit func(e archive.Entry, where string, alone bool) error) error {
	file, entry := archive.Split(spec)
	if entry != "" {
		e, err := archive.Find(file, entry)
		if err != nil {
			return err
		}
		return visit(e, located(archive.Jar, file, e.Path), true)
	}
	kind, err := archive.Detect(file)
	if err != nil {
		return err
	}
	return archive.Walk(ctx, file, func(e archive.Entry) error {
		return visit(e, located(kind, file, e.Path), kind == archive.ClassFile)
	})
}

// each calls fn for the classes of a spec. A class that cannot be parsed, or in which fn
// finds a defect, is reported on standard error; the defect of a single class is returned.
func (d *dumpCommand) each(ctx context.Context, spec string, fn func(e archive.Entry, c *classfile.Class, several bool) (defect, err error)) (single, err error) {
	err = walkSpec(ctx, spec, func(e archive.Entry, where string, alone bool) error {
		c, defect := classfile.Parse(e.Data)
		if defect == nil {
			var err error
			if defect, err = fn(e, c, !alone); err != nil {
				return err
			}
		}
		switch {
		case defect == nil:
			return nil
		case alone:
			single = fmt.Errorf("%s: %w", where, defect)
			return nil
		}
		d.broken++
		_, err := fmt.Fprintf(d.err, "sonde: %s\n", format.OneLine(fmt.Errorf("%s: %w", where, defect)))
		return err
	})
	return single, err
}

// located returns the spec of a class of an input.
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

type diffSide struct {
	several bool
	order   []string
	classes map[string][]byte // by path
}

func (d *dumpCommand) diff(ctx context.Context, before, after string) error {
	a, err := d.load(ctx, before)
	if err != nil {
		return err
	}
	b, err := d.load(ctx, after)
	if err != nil {
		return err
	}
	if a.several != b.several {
		return errTwoKinds
	}
	if !a.several { // two single classes are compared whatever their names
		b.classes = map[string][]byte{a.order[0]: b.classes[b.order[0]]}
		b.order = a.order
	}
	out := bufio.NewWriter(d.out)
	changed, err := d.diffSides(ctx, out, a, b)
	if err == nil && changed == 0 && !d.json {
		_, err = fmt.Fprintln(out, "no difference")
	}
	return cmp.Or(err, out.Flush())
}

func (d *dumpCommand) load(ctx context.Context, spec string) (*diffSide, error) {
	s := &diffSide{classes: map[string][]byte{}}
	single, err := d.each(ctx, spec, func(e archive.Entry, _ *classfile.Class, several bool) (defect, err error) {
		s.several = several
		s.order = append(s.order, e.Path)
		s.classes[e.Path] = bytes.Clone(e.Data)
		return nil, nil
	})
	if err == nil {
		err = single
	}
	if err == nil && d.broken > 0 {
		err = fmt.Errorf("%s: %s could not be read (see above)", spec, format.Count(d.broken, "class", "classes"))
	}
	if err == nil && len(s.order) == 0 {
		err = fmt.Errorf("%s contains no class file", spec)
	}
	return s, err
}

func (d *dumpCommand) diffSides(ctx context.Context, out *bufio.Writer, a, b *diffSide) (changed int, err error) {
	for _, path := range a.order {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		old, now := a.classes[path], b.classes[path]
		if bytes.Equal(old, now) {
			continue
		}
		differs, err := d.diffOne(out, path, old, now, a.several)
		if err != nil {
			return changed, err
		}
		if differs {
			changed++
		}
	}
	for _, path := range b.order {
		if a.classes[path] != nil {
			continue
		}
		if _, err := d.diffOne(out, path, nil, b.classes[path], b.several); err != nil {
			return changed, err
		}
		changed++
	}
	return changed, nil
}

// diffOne compares two forms of a class, one of which may be missing.
func (d *dumpCommand) diffOne(out *bufio.Writer, path string, old, now []byte, several bool) (bool, error) {
	if old == nil {
		return true, d.onlyOne(out, path, "after", now)
	}
	if now == nil {
		return true, d.onlyOne(out, path, "before", old)
	}
	a, err := classfile.Parse(old)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	b, err := classfile.Parse(now)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	opts := dump.Options{NoHeader: d.method != nil}
	if d.method != nil {
		if !d.method.MatchClass(a.Name()) {
			return false, nil
		}
		opts.Method = d.method.MatchMethod
	}
	var text strings.Builder
	changed, err := dump.Diff(&text, a, b, opts)
	if err != nil || !changed {
		return false, err
	}
	if d.json {
		return true, document.Write(out, document.ClassDiff{Path: path, Class: a.Name(), Diff: text.String()})
	}
	if several {
		_, _ = fmt.Fprintf(out, "# %s\n", format.Printable(path)) // errors stay with the writer
	}
	_, err = out.WriteString(text.String())
	return true, err
}

func (d *dumpCommand) onlyOne(out *bufio.Writer, path, which string, data []byte) error {
	c, err := classfile.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if d.json {
		return document.Write(out, document.ClassDiff{Path: path, Class: c.Name(), Only: which})
	}
	_, err = fmt.Fprintf(out, "# %s: only %s\n", format.Printable(path), which)
	return err
}
