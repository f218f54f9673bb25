package cli

import (
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// instrument is a `sonde instrument` command line.
type instrument struct {
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
alone and named with the reason.

Templates
  probe       tells the runtime when a method is entered and left; the smallest
  timed       counts calls and nanoseconds per method and prints them at exit
  FILE.java   your own; compiled with javac from --javac, JAVA_HOME or PATH
  FILE.class  your own, compiled already
A template is a static void method without parameters that calls
sonde.template.Template.target() once, where the method itself shall run:

  import sonde.template.Template;
  class Log {
      static void log() {
          System.out.println("> " + Template.methodName());
          try { Template.target(); }
          finally { System.out.println("< " + Template.methodName()); }
      }
  }

Where a class has several such methods, FILE.java:METHOD says which. Given
several templates, the first becomes the outermost.

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
or the shell will expand them.

Exit code: 0 when the output was written, 1 on an error, 2 for a wrong command
line.`

func newInstrument(s streams) *cobra.Command {
	i := &instrument{streams: s}
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
	flags.BoolVar(&i.strict, "strict", false, "write nothing if any method that matches must be left alone")
	flags.IntVarP(&i.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "`N` classes at a time")
	flags.StringVar(&i.javac, "javac", "", "`PATH` of the javac that compiles .java templates")
	flags.StringSliceVar(&i.templateClasses, "template-classpath", nil, "`PATHS` of classes that .java templates use, besides the input's")
	flags.BoolVar(&i.json, "json", false, "write the summary as JSON, every method left alone named")
	flags.BoolVarP(&i.verbose, "verbose", "v", false, "name every method left alone")
	return command
}

func (i *instrument) run(ctx context.Context) error {
	began := time.Now()
	patterns, err := i.check()
	if err != nil {
		return err
	}
	kind, err := archive.Detect(i.input)
	if err != nil {
		return err
	}
	l := loader{javac: i.javac, classPath: i.templateClasses}
	if kind == archive.Jar || kind == archive.Tree {
		l.classPath = append(l.classPath, i.input)
	}
	weaving, err := l.load(ctx, i.template)
	if err != nil {
		return err
	}
	job := newJob(patterns, weaving.list)
	progress := &bar{out: i.err, width: i.width, label: "weaving"}
	report, err := archive.Rewrite(ctx, i.input, i.output, archive.Options{
		NewTransform:    job.newTransform,
		Jobs:            i.jobs,
		StripSignatures: i.stripSignatures,
		Progress:        progress.update,
		Commit:          func() error { return job.verdict(i.input, i.strict) },
	})
	progress.clear()
	if err != nil {
		return err
	}
	sum := job.summary(i, report, weaving, time.Since(began))
	if i.json {
		return writeJSON(i.out, sum)
	}
	return sum.print(i.out, i.verbose)
}

// check finds what is wrong with the command line itself.
func (i *instrument) check() (*pattern.Set, error) {
	switch {
	case i.output == "":
		return nil, usage("-o OUT is missing: where to write the instrumented copy")
	case len(i.template) == 0:
		return nil, usage("--template is missing: what to weave, such as timed or FILE.java")
	case len(i.match) == 0:
		return nil, usage("--match is missing: which methods to weave, such as 'com.acme.**'")
	case i.jobs < 1:
		return nil, usage("--jobs %d: must be at least 1", i.jobs)
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
	return set, nil
}
