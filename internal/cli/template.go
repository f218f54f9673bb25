package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/offline"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const templateLong = `A template is Java code of your own that runs around methods of a running program: a
static void method without parameters that calls Template.target() once, where the method
itself runs. It records counters, sums, distributions, events and tags:

  Template.count("orders");                  how many
  Template.add("bytes", n);                  how many, sum and largest
  Template.histogram("cents", n);            and percentiles
  Template.event("refused", reason);         how many of each text
  Template.tag("tenant", name);              a tag of the transaction

sonde apply PID --template FILE.java --match PATTERN weaves it into a running program, and
template: FILE.java in a file of probes does, too. Errors in the template never
reach the program: the method runs as if it had no template, and the failure is counted. A template
that is not --trusted may call only methods that compute, must not lock, and its loops
must count from a constant to a constant. docs/formats/templates.md has all rules.`

func newTemplate(s streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "template",
		Short: "Write and check templates: Java code of your own around methods of a program",
		Long:  templateLong,
		Example: `  sonde template new Orders
  sonde template check Orders.java
  sonde apply 4711 --template Orders.java --match com.acme.Order.pay`,
	}
	command.AddCommand(newTemplateNew(s), newTemplateCheck(s))
	return command
}

func newTemplateNew(s streams) *cobra.Command {
	out := ""
	command := &cobra.Command{
		Use:   "new NAME [-o FILE]",
		Short: "Write an example of a template, to be changed",
		Long: `Write an example of a template with comments, as NAME.java. It counts and times the calls
of a method and its failures. A file that exists is not replaced.`,
		Example: `  sonde template new Orders
  sonde template new Orders -o templates/Orders.java`,
		Args: exactly("the name of the template"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !javaName.MatchString(args[0]) {
				return usage("%q cannot be the name of a Java class: use letters and digits, a capital letter first", args[0])
			}
			if out == "" {
				out = args[0] + ".java"
			}
			return writeExample(s, out, args[0])
		},
	}
	command.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write instead of NAME.java")
	return command
}

var javaName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]{0,63}$`)

func writeExample(s streams, file, name string) error {
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists: give another name, or another file with -o", file)
	}
	if err != nil {
		return outputError(file, err)
	}
	_, err = to.WriteString(strings.ReplaceAll(exampleTemplate, "NAME", name))
	if err = errors.Join(err, to.Close()); err != nil {
		return outputError(file, err)
	}
	_, err = fmt.Fprintf(s.err, "wrote %s; sonde template check %[1]s checks it\n", format.Printable(file))
	return err
}

const exampleTemplate = `import sonde.template.Template;

// A template for Sonde. Weave it into a running program with
//
//     sonde apply PID --template NAME.java --match com.acme.Order.pay
//
// Code before Template.target() runs before each call of the method, code after it when the
// method has returned, and the catch block when it has thrown an exception.
class NAME {
    static void around() {
        // Variables keep their values while the method runs.
        long start = System.nanoTime();
        try {
            Template.target(); // the method itself; nothing else belongs into this block
        } catch (Throwable t) {
            // The event has a row for each text. The program sees its own exception, whatever happens here.
            Template.event("failures", t.getClass().getName());
            throw t;
        }
        long micros = (System.nanoTime() - start) / 1000;
        Template.histogram("micros", micros); // number, sum, largest value and percentiles
        if (micros > 100_000) {
            Template.count("slow");
        }

        // What else is known of a call:
        //   Template.self()                          its this, null for a static method
        //   Template.arg(0), Template.argInt(0), …   its arguments; the typed forms do not allocate
        //   Template.result(), Template.resultInt()  its result, after the target
        //   Template.methodName()                    its name, a constant
        // and what else can be recorded, under a name that is a constant:
        //   Template.add("bytes", n)                 number, sum and largest value
        //   Template.tag("tenant", text)             a tag, until the method ends; before the target
        // Without --trusted, a template may call only methods that compute, such as those of Math
        // and String, must not lock, and its loops must have constant bounds.
    }
}
`

// templateFlags are the flags of commands that load templates of users.
type templateFlags struct {
	trusted   bool
	javac     string
	classPath []string
}

func (f *templateFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.trusted, "trusted", false, "let templates call any method and loop without bounds")
	flags.StringVar(&f.javac, "javac", "", "`PATH` of the javac that compiles .java templates")
	flags.StringSliceVar(&f.classPath, "template-classpath", nil, "`PATHS` of classes that .java templates use")
}

// load loads a template, and prints each problem with it on a line.
func (f *templateFlags) load(ctx context.Context, s streams, spec string) (*offline.User, error) {
	loader := offline.Loader{Javac: f.javac, ClassPath: f.classPath}
	t, err := loader.LoadUser(ctx, spec, f.trusted)
	var bad *weave.UserTemplateError
	if errors.As(err, &bad) {
		_, _ = fmt.Fprintln(s.err, format.PrintableLines(bad.Error()))
		return nil, exitStatus(exitUsage)
	}
	return t, err
}

// compile compiles the templates of a set, whose files are relative to a directory, so that the set needs no other file.
func (f *templateFlags) compile(s streams, set *probeset.Set, dir string) error {
	for i := range set.Probes {
		own := set.Probes[i].Own
		if own == nil || len(own.Class) > 0 {
			continue
		}
		if s.look != nil || s.isCheck {
			return fmt.Errorf("template %s: the service compiles no templates: use sonde apply, or give the compiled class as template-class", own.File)
		}
		spec := own.File
		if !filepath.IsAbs(spec) {
			spec = filepath.Join(dir, spec)
		}
		one := *f
		own.Trusted = own.Trusted || f.trusted
		one.trusted = own.Trusted
		t, err := one.load(context.Background(), s, spec)
		if err != nil {
			return err
		}
		if own.Class = t.Class; len(own.Class) > probeset.MaxTemplate {
			return fmt.Errorf("%s: its class file has more than %d bytes: make it smaller", spec, probeset.MaxTemplate)
		}
	}
	return nil
}

func newTemplateCheck(s streams) *cobra.Command {
	var f templateFlags
	var in string
	var match []string
	command := &cobra.Command{
		Use:   "check FILE.java|FILE.class...",
		Short: "Check templates, and show what they would change, without a program",
		Long: `Compile templates and check what they do, as sonde apply does before it touches the
program. All problems are reported, each with file, line and remedy. With --in and --match, the
woven difference is shown: the code that methods of these classes would get. Lines with + are
added, those with - removed.`,
		Example: `  sonde template check Orders.java
  sonde template check Orders.java --in app.jar --match com.acme.Order.pay
  sonde template check Orders.java --trusted --template-classpath app.jar`,
		Args: atLeast("the template to check"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var failure error
			methods, err := matched(in, match)
			if err != nil {
				return err
			}
			for _, file := range args {
				t, err := f.load(cmd.Context(), s, file)
				if err != nil {
					failure = err
					continue
				}
				if _, err := fmt.Fprintf(s.out, "%s is a template%s\n", format.Printable(file), recordsText(t.Records)); err != nil {
					return err
				}
				if methods == nil {
					continue
				}
				if err := writeWoven(cmd.Context(), s, t, in, methods, f.trusted); err != nil {
					return err
				}
			}
			return failure
		},
	}
	command.Flags().StringVar(&in, "in", "", "`JAR`, directory or class file whose methods are shown with the template")
	command.Flags().StringArrayVarP(&match, "match", "m", nil, "`PATTERN` of these methods; may be repeated")
	f.register(command.Flags())
	return command
}

// matched returns the methods of --match; nil without --in.
func matched(in string, match []string) (*pattern.Set, error) {
	switch {
	case in == "" && len(match) == 0:
		return nil, nil
	case in == "" || len(match) == 0:
		return nil, usage("--in and --match belong together: name a jar, and methods in it")
	}
	set, err := pattern.ParseSet(match...)
	if err != nil {
		return nil, usage("--match: %w", err)
	}
	return set, onlyNames(set)
}

// writeWoven writes how a template changes methods in files.
func writeWoven(ctx context.Context, s streams, t *offline.User, in string, methods *pattern.Set, isTrusted bool) error {
	v, err := newWovenView(s, &wovenBound{most: math.MaxInt}, t.Class, t.Method, in, isTrusted)
	if err != nil {
		return err
	}
	found := 0
	err = walkSpec(ctx, in, func(e archive.Entry, where string, _ bool) error {
		class, err := classfile.Parse(e.Data)
		if err != nil || !methods.MatchClass(class.Name()) {
			return nil //nolint:nilerr // no JVM loads it
		}
		spots, err := instrument.Pattern{Methods: methods}.Spots(class)
		if err != nil || len(spots) == 0 {
			return err
		}
		found += len(spots)
		if err := v.write(ctx, class, e.Data, spots); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return nil
	})
	if err == nil && found == 0 {
		err = fmt.Errorf("%s: no method with code matches --match", in)
	}
	return err
}

// A wovenView shows what a template inserts into methods.
type wovenView struct {
	streams
	*wovenBound
	weaver *instrument.Weaver
	user   *instrument.User
}

// A wovenBound limits how many methods are shown, those with a template and those without one.
type wovenBound struct{ most, shown, hidden, unfit int }

func newWovenView(s streams, bound *wovenBound, class []byte, method, file string, isTrusted bool) (*wovenView, error) {
	v := &wovenView{streams: s, wovenBound: bound}
	var err error
	if v.weaver, err = instrument.NewWeaver(instrument.Settings{Live: true}); err != nil {
		return nil, err
	}
	v.user, err = instrument.NewUser(class, method, weave.UserOptions{File: file, Trusted: isTrusted})
	return v, err
}

// write writes the difference for some methods of a class.
func (v *wovenView) write(ctx context.Context, class *classfile.Class, file []byte, spots []instrument.Spot) error {
	for i := range spots {
		spots[i].Kind, spots[i].Key, spots[i].User = instrument.Templates, "template", v.user
		placed, _ := v.weaver.Place(&spots[i])
		v.weaver.AddSpot(placed)
	}
	out, err := v.weaver.Weave(ctx, file)
	if err != nil {
		return err
	}
	for _, left := range out.SpotsLeft {
		if v.unfit++; v.unfit > v.most {
			continue
		}
		_, _ = fmt.Fprintf(v.err, "note: %s does not get the template: %s\n", format.Printable(left.Method), left.Reason)
	}
	picked := make(map[string]bool)
	for _, m := range out.Methods {
		switch {
		case !m.Result.Woven:
		case v.shown == v.most:
			v.hidden++
		default:
			v.shown++
			picked[m.Member()] = true
		}
	}
	if len(picked) == 0 {
		return nil
	}
	woven, err := classfile.Parse(out.Bytes)
	if err != nil {
		return err
	}
	var text strings.Builder
	if _, err := dump.Diff(&text, class, woven, dump.Options{Method: func(name, descriptor string) bool { return picked[name+descriptor] }}); err != nil {
		return err
	}
	_, err = io.WriteString(v.out, text.String())
	return err
}

// mostWoven is how many methods sonde apply --dry-run shows with their templates.
const mostWoven = 5

// woven returns what the templates of changed probes would insert into methods of the loaded classes. The JVM is asked for
// them, and no class changes.
func (c *applyCommand) woven(ctx context.Context, changes []probeset.Change) (string, error) {
	var text strings.Builder
	bound := &wovenBound{most: mostWoven}
	for i := range c.set.Probes {
		p := &c.set.Probes[i]
		isChanged := func(change probeset.Change) bool { return change.Kind == probeset.OfProbe && change.Name == p.Name }
		if p.Own == nil || !slices.ContainsFunc(changes, isChanged) {
			continue
		}
		found, err := c.findFiles(ctx, p.Methods)
		if err != nil {
			return "", err
		}
		var difference strings.Builder
		s := c.streams
		s.out = &difference
		v, err := newWovenView(s, bound, p.Own.Class, p.Own.Method(), p.Own.Source(), p.Own.Trusted)
		if err != nil {
			return "", err
		}
		for j := range found.Classes {
			one := &found.Classes[j]
			class, err := classfile.Parse(one.File)
			isSame := func(other document.FoundClass) bool {
				return other.Name == one.Name && bytes.Equal(other.File, one.File)
			}
			if err != nil || slices.ContainsFunc(found.Classes[:j], isSame) {
				continue // it has no file, or another loader has the same class
			}
			var spots []instrument.Spot
			for _, m := range one.Methods {
				if m.HasCode {
					spots = append(spots, instrument.Spot{MethodRef: classfile.MethodRef{Class: class.Name(), Name: m.Name, Descriptor: m.Descriptor}, Flags: arena.On})
				}
			}
			if len(spots) == 0 {
				continue
			}
			if err := v.write(ctx, class, one.File, spots); err != nil {
				return "", fmt.Errorf("%s: %w", one.Name, err)
			}
			if difference.Len() > 0 {
				_, _ = fmt.Fprintf(&text, "\n%s, probe %s\n%s", format.Printable(one.Name), p.Name, difference.String())
				difference.Reset()
			}
		}
	}
	if bound.hidden > 0 {
		_, _ = fmt.Fprintf(&text, "\nand %s\n", format.Count(bound.hidden, "method more", "methods more"))
	}
	if more := bound.unfit - bound.most; more > 0 {
		c.note(format.Count(more, "method more does", "methods more do") + " not get the template")
	}
	return text.String(), nil
}

// findFiles finds methods of loaded classes, and the files of these classes, as sonde find does.
func (c *applyCommand) findFiles(ctx context.Context, methods []*pattern.Pattern) (*document.Find, error) {
	var text bytes.Buffer
	s := c.streams
	s.out, s.width, s.view = &text, 0, nil
	s.useService = s.useService && !c.noService
	command := newFind(s)
	command.SilenceErrors, command.SilenceUsage = true, true
	args := []string{"--json", "--" + filesFlag, "--", strconv.Itoa(c.pid)}
	for _, p := range methods {
		args = append(args, p.String())
	}
	command.SetArgs(args)
	if err := command.ExecuteContext(ctx); err != nil {
		return nil, err
	}
	var found document.Find
	return &found, json.Unmarshal(text.Bytes(), &found)
}

// recordsText names what a template records.
func recordsText(records []weave.Record) string {
	if len(records) == 0 {
		return " that records nothing"
	}
	var names []string
	for _, r := range records {
		names = append(names, fmt.Sprintf("%s (%v)", r.Name, r.Kind))
	}
	return " that records " + strings.Join(names, ", ")
}
