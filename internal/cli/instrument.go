package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave/offline"
)

type instrumentCommand struct {
	streams
	input, output   string
	template        []string
	match, exclude  []string
	stripSignatures bool
	jobs            int
	json, strict    bool
	verbose         bool
	javac           string
	templateClasses []string
}

const instrumentLong = `Write a copy of a jar, directory or class file in which a template is woven
around every method that matches. The input stays as it is; the output appears
whole or not at all.

Classes in jars inside the input (Spring Boot's BOOT-INF/lib) and in
multi-release folders are woven too. A method that cannot be woven is left
alone and listed with the reason.

Templates
  probe       reports entry and exit of a method to the runtime; the smallest
  timed       counts calls and nanoseconds per method and prints them at exit
  FILE.java   your own; compiled with javac from --javac, JAVA_HOME or PATH
  FILE.class  your own, already compiled
A template is a static void method without parameters that calls
sonde.template.Template.target() once, where the method itself runs:

  import sonde.template.Template;
  class Log {
      static void log() {
          System.out.println("> " + Template.methodName());
          try { Template.target(); }
          finally { System.out.println("< " + Template.methodName()); }
      }
  }

If a class has several such methods, FILE.java:METHOD selects one. Of several
templates, the first becomes the outermost.

Patterns
  com.acme.Order.pay                   every overload of pay
  com.acme.Order.*                     every method of Order
  com.acme.*.*                         every method of classes in com.acme
  com.acme.**                          the same, with all packages below
  **.Service.*(java.lang.String,int)   by parameters; (int,..) means "and more"
  com.acme.Order.get*:void             by result
  com.acme.Order.<init>                constructors; <clinit>: static initialisers
  com.acme.Order$Item.*                a nested class; Order.Item works as well
A * stays within one name, ** stands for any number of names. Quote patterns,
or the shell will expand them.`

func newInstrument(s streams) *cobra.Command {
	i := &instrumentCommand{streams: s}
	command := &cobra.Command{
		Use:   "instrument IN.jar|DIR|CLASS -o OUT --template T --match PATTERN",
		Short: "Weave templates around methods of a jar, directory or class file",
		Long:  instrumentLong,
		Example: `  sonde instrument app.jar -o app-timed.jar --template timed --match 'com.acme.**'
  sonde instrument classes -o woven --template Log.java --match '**.Service.*' --exclude '**.get*'
  sonde instrument app.jar -o out.jar --template timed,Log.java --match com.acme.Order.pay`,
		Args: exactly("the jar, directory or class file to instrument"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.input = args[0]
			return i.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&i.output, "output", "o", "", "`OUT`, the file or directory to write (required)")
	flags.StringSliceVarP(&i.template, "template", "t", nil, "`TEMPLATE` to weave, see above; repeat or separate by commas, outermost first (required)")
	flags.StringArrayVarP(&i.match, "match", "m", nil, "`PATTERN` of methods to weave; may be repeated (required)")
	flags.StringArrayVarP(&i.exclude, "exclude", "x", nil, "`PATTERN` of methods to leave out; may be repeated; --match '!PATTERN' is the same")
	flags.BoolVar(&i.stripSignatures, "strip-signatures", false, "write signed jars unsigned instead of refusing them")
	flags.BoolVar(&i.strict, "strict", false, "write nothing if a matching method cannot be woven")
	flags.VarP(number(&i.jobs, runtime.GOMAXPROCS(0), 1, 0), "jobs", "j", "weave `N` classes in parallel")
	flags.StringVar(&i.javac, "javac", "", "`PATH` of the javac that compiles .java templates")
	flags.StringSliceVar(&i.templateClasses, "template-classpath", nil, "`PATHS` of classes that .java templates use, besides the input's")
	flags.BoolVar(&i.json, "json", false, "write the summary as JSON, with every method that cannot be woven")
	flags.BoolVarP(&i.verbose, "verbose", "v", false, "list every method that cannot be woven")
	return command
}

func (i *instrumentCommand) run(ctx context.Context) error {
	began := time.Now()
	patterns, err := i.check()
	if err != nil {
		return err
	}
	kind, err := archive.Detect(i.input)
	if err != nil {
		return err
	}
	loader := offline.Loader{Javac: i.javac, ClassPath: i.templateClasses}
	if kind == archive.Jar || kind == archive.Tree {
		loader.ClassPath = append(loader.ClassPath, i.input)
	}
	templates, err := loader.Load(ctx, i.template)
	if unknown := (*offline.UnknownTemplateError)(nil); errors.As(err, &unknown) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	job := offline.NewJob(patterns, templates)
	progress, endBar := i.progressBar("weaving")
	report, err := archive.Rewrite(ctx, i.input, i.output, archive.Options{
		NewTransform:    job.NewTransform,
		Jobs:            i.jobs,
		StripSignatures: i.stripSignatures,
		Progress:        progress,
		Commit:          func() error { return i.verdict(job) },
	})
	endBar()
	if err != nil {
		return err
	}
	sum := i.summary(job, report, time.Since(began))
	if i.json {
		return document.Write(i.out, sum)
	}
	return i.print(sum)
}

func (i *instrumentCommand) verdict(job *offline.Job) error {
	err := job.Verdict(i.strict)
	var none *offline.NoMatchError
	switch {
	case errors.As(err, &none):
		return fmt.Errorf("%s: %w; nothing was written%s", i.input, err, advice(none.Patterns))
	case err != nil:
		return fmt.Errorf("%s: %w", i.input, err)
	}
	return nil
}

// advice is for the commonest mistake, a pattern that names the classes of a package but
// no method.
func advice(patterns []*pattern.Pattern) string {
	for _, p := range patterns {
		if rest, ok := strings.CutSuffix(p.String(), ".*"); ok && !strings.HasSuffix(rest, "*") {
			return fmt.Sprintf(" (the last name in a pattern is a method: %s.** matches every class of the package %s)", rest, rest)
		}
	}
	return ""
}

func (i *instrumentCommand) check() (*pattern.Set, error) {
	switch {
	case i.output == "":
		return nil, usage("-o OUT is missing: name the instrumented copy to write")
	case len(i.template) == 0:
		return nil, usage("--template is missing: name a template to weave, such as timed or FILE.java")
	case len(i.match) == 0:
		return nil, usage("--match is missing: name the methods to weave, such as 'com.acme.**'")
	}
	texts := append([]string(nil), i.match...)
	for _, text := range i.exclude {
		if text == "" || text[0] != '!' {
			text = "!" + text
		}
		texts = append(texts, text)
	}
	// Hooks woven around the hooks would call themselves without end.
	texts = append(texts, "!sonde.rt.**", "!sonde.template.**")
	set, err := pattern.ParseSet(texts...)
	if err != nil {
		return nil, usage("--match: %w", err)
	}
	return set, onlyNames(set)
}

// mostNamed is how many methods are listed per reason without -v.
const mostNamed = 5

func (i *instrumentCommand) summary(job *offline.Job, report *archive.Report, took time.Duration) *document.Instrument {
	s := &document.Instrument{
		Input: i.input, Output: i.output, Templates: i.template, LeftAlone: job.Left,
		NestedJars: report.Nested, Unsigned: report.Stripped, NotJars: report.NotJars, LinksOut: report.LinksOut,
		Modules: slices.Sorted(slices.Values(job.Modules)), Unmatched: job.Unmatched(), Seconds: took.Seconds(),
		Run: runHint(i.output, i.needsRuntime()),
	}
	if s.LeftAlone == nil {
		s.LeftAlone = []offline.LeftAlone{}
	}
	s.Classes.Read, s.Classes.Woven = report.Classes, report.Changed
	s.Methods.Woven, s.Methods.LeftAlone, s.Methods.NoCode = job.Woven, len(job.Left), job.Codeless
	return s
}

// needsRuntime reports whether a template is built in, so that woven classes need the
// runtime jar.
func (i *instrumentCommand) needsRuntime() bool {
	return slices.ContainsFunc(i.template, func(template string) bool {
		_, _, is := agent.Template(template)
		return is
	})
}

// runHint returns the command that runs the result.
func runHint(output string, needsRuntime bool) string {
	classPath := output
	if filepath.Ext(output) == ".class" {
		classPath = filepath.Dir(output)
	}
	if needsRuntime {
		classPath += string(os.PathListSeparator) + runtimeJarName
	}
	return "java -cp " + shellWord(classPath) + " " + shellWord(cmp.Or(archive.MainClass(output), "MAIN-CLASS"))
}

// shellWord quotes text that a shell would split or expand.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:+,@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (i *instrumentCommand) print(s *document.Instrument) error {
	var text strings.Builder
	i.describe(&text, s)
	_, err := io.WriteString(i.out, format.PrintableLines(text.String())) // jars may contain any names
	return err
}

func (i *instrumentCommand) describe(out io.Writer, s *document.Instrument) {
	_, _ = fmt.Fprintf(out, "wrote %s in %.1f s\n", s.Output, s.Seconds)
	_, _ = fmt.Fprintf(out, "classes  %s woven of %s read", format.Grouped(s.Classes.Woven), format.Grouped(s.Classes.Read))
	if s.NestedJars > 0 {
		_, _ = fmt.Fprintf(out, ", including %s", format.Count(s.NestedJars, "nested jar", "nested jars"))
	}
	_, _ = fmt.Fprintf(out, "\nmethods  %s woven, %s not woven", format.Grouped(s.Methods.Woven), format.Grouped(s.Methods.LeftAlone))
	if s.Methods.NoCode > 0 {
		_, _ = fmt.Fprintf(out, ", %s abstract or native", format.Grouped(s.Methods.NoCode))
	}
	_, _ = fmt.Fprintln(out)
	i.printLeftAlone(out, s.LeftAlone)
	for _, pattern := range s.Unmatched {
		_, _ = fmt.Fprintf(out, "note: no method matches %s\n", pattern)
	}
	for _, jar := range s.Unsigned {
		_, _ = fmt.Fprintf(out, "note: %s is no longer signed\n", jar)
	}
	for _, name := range s.NotJars {
		_, _ = fmt.Fprintf(out, "note: %s is not a jar and was copied unchanged\n", name)
	}
	if n := len(s.LinksOut); n > 0 { // to classes that are not woven
		most := mostNamed
		if i.verbose {
			most = n
		}
		_, _ = fmt.Fprintf(out, "note: %s to classes outside the input, which are not woven: %s\n", format.Count(n, "symbolic link leads", "symbolic links lead"), firstOf(s.LinksOut, most))
	}
	_, _ = fmt.Fprintf(out, "run it:  %s\n", s.Run)
	for _, module := range s.Modules {
		_, _ = fmt.Fprintf(out, "         (on the module path, with --add-reads %s=ALL-UNNAMED)\n", module)
	}
	if i.needsRuntime() {
		_, _ = fmt.Fprintf(out, "         (sonde runtime-jar writes %s)\n", runtimeJarName)
	}
}

// printLeftAlone lists methods by reason, in the order of the input.
func (i *instrumentCommand) printLeftAlone(out io.Writer, left []offline.LeftAlone) {
	for _, g := range format.GroupBy(left, func(l offline.LeftAlone) string { return l.Kind }) {
		_, _ = fmt.Fprintf(out, "not woven because %s: %s\n", g.Key, format.Grouped(len(g.List)))
		var lines []string
		for _, l := range g.List {
			lines = append(lines, l.Name()+detailOf(l.Reason, g.Key))
		}
		writeSome(out, "  ", lines, mostNamed, i.verbose, "-v")
	}
}
