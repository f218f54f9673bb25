package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
)

// planCommand is the command line of `sonde plan` and `sonde pack`: archives and probes.
type planCommand struct {
	streams
	inputs []string
	probes string
	jdk    string
	cache  cacheFlags
	json   bool
	all    bool
}

func (f *planCommand) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.probes, "probes", "p", "", "`FILE` of probes, as for sonde apply; - reads standard input (required)")
	flags.StringVar(&f.jdk, "jdk", "", "`HOME` of the JDK that the program will use, whose classes conditions may read; by default JAVA_HOME, or that of the java in PATH")
	flags.BoolVar(&f.json, "json", false, "write one JSON object")
	f.cache.register(flags)
}

func newPlan(s streams) *cobra.Command {
	f := &planCommand{streams: s}
	command := &cobra.Command{
		Use:     "plan JAR|WAR|DIR... --probes FILE",
		Short:   "Show which classes of an application probes would change, and why",
		Long:    planLong,
		Example: planExamples,
		Args:    atLeast("the jar, war or directory to look at"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.inputs = args
			planned, err := f.plan(cmd.Context())
			if err != nil {
				return err
			}
			return f.writePlan(planned)
		},
	}
	f.register(command)
	command.Flags().BoolVar(&f.all, "all", false, "list every class and every method, including those of the JDK")
	return command
}

// plan reads the archives and weaves what a pack would hold.
func (f *planCommand) plan(ctx context.Context) (*build.Planned, error) {
	if f.probes == "" {
		return nil, usage("--probes is missing: a file of probes, such as probes.yaml")
	}
	set, text, err := readProbes(f.streams, f.probes)
	if err != nil {
		return nil, err
	}
	image, err := f.image()
	if err != nil {
		return nil, err
	}
	if image == "" {
		f.note("no JDK was found, so conditions cannot read its classes: name one with --jdk HOME")
	}
	kept, closeCache, err := f.cache.openCache(f.note)
	if err != nil {
		return nil, err
	}
	defer closeCache()
	progress, endBar := f.progressBar("weaving")
	planned, err := build.Plan(ctx, f.inputs, set, build.Settings{
		Image: image, Cache: kept, Probes: text, Notice: f.note, Progress: progress,
	})
	endBar()
	return planned, err
}

// image returns the run-time image of a JDK; empty if none is found.
func (f *planCommand) image() (string, error) {
	of := func(home string) string { return filepath.Join(home, "lib", "modules") }
	if f.jdk != "" {
		if _, err := os.Stat(of(f.jdk)); err != nil {
			return "", usage("--jdk %s: it has no lib/modules: name the home of JDK 9 or later", f.jdk)
		}
		return of(f.jdk), nil
	}
	homes := []string{os.Getenv("JAVA_HOME")}
	if java, err := exec.LookPath("java"); err == nil {
		if java, err = filepath.EvalSymlinks(java); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(java)))
		}
	}
	for _, home := range homes {
		if home == "" {
			continue
		}
		if _, err := os.Stat(of(home)); err == nil {
			return of(home), nil
		}
	}
	return "", nil
}

func (f *planCommand) wovenText(w session.Weavings) string {
	return wovenText(w.Woven, w.Cached, w.Cached+w.Missed > 0)
}

// refusal says why no pack can be made; empty if one can.
func refusal(planned *build.Planned) string {
	err := planned.Refusal()
	switch {
	case err == nil:
		return ""
	case errors.Is(err, build.ErrEmpty):
		return "no method of these classes would get a hook: there is nothing to pack"
	}
	return format.OneLine(err)
}

const planLong = `Show what happens to each class of an application that the probes, sequences or tags of a
file match, without running it: whether it gets hooks ahead of time, when it loads, later,
or never, and why; how many of its methods get hooks, and which are left alone for what
reason. Nothing is written except the cache, where woven classes are kept for sonde pack
(--no-cache keeps none).

static   sonde pack weaves it: the application starts with its hooks, without a Sonde
load     a running Sonde weaves it when it loads (sonde run, sonde apply)
dynamic  sonde apply weaves it after it has loaded; so are all classes of the JDK, which
         load before a pack can weave them
never    it gets no hooks
left     it matches, but nothing in it can be woven

The weave: section of the file decides; the first rule that matches a class counts. A
class without a rule is packed, and woven by all other commands:

  weave:
    - classes: com.acme.dao.**
      when: static
    - classes: ['com.acme.gen.**', '**.*$$*']
      when: never

Jars inside jars and wars (BOOT-INF/lib, WEB-INF/lib) are included; of a multi-release
jar, every version of a class counts. Ahead of time, nobody knows which classes will load,
and in which version. Therefore a condition may read fields, but call only getters of the
class that has the hook, if no class can override them (they are final or private, or the
class is final, such as a record). Of the JDK, methods that are known to be pure are
called: those of strings, enums, boxes and collections.

Exit code: 0 if the plan is shown, 1 on an error, 2 for a wrong command line or file.`

const planExamples = `  sonde plan app.jar --probes probes.yaml
  sonde plan app.war lib/*.jar --probes probes.yaml --all
  sonde plan classes app.jar --probes probes.yaml --jdk /opt/jdk-17 --json`

// How much is listed without --all.
const (
	mostFates = 20 // classes of one fate and reason
	mostLeft  = 5  // methods of a class
)

func (f *planCommand) writePlan(p *build.Planned) error {
	if f.json {
		return document.Write(f.out, document.NewPlan(f.inputs, p, refusal(p)))
	}
	return f.print(func(out io.Writer) { f.writeText(out, p) })
}

func (f *planCommand) writeText(out io.Writer, p *build.Planned) {
	writeFates(out, p.Classes, f.all)
	writeApplied(out, "probe", p.Probes)
	writeApplied(out, "tag", p.Tags)
	for _, note := range planNotes(p) {
		_, _ = fmt.Fprintf(out, "note: %s\n", format.Printable(note))
	}
	if why := refusal(p); why != "" {
		_, _ = fmt.Fprintf(out, "note: sonde pack refuses this: %s\n", why)
	}
	_, _ = fmt.Fprintln(out, planSummary(p))
}

var fateOrder = []probeset.When{probeset.Static, probeset.Load, probeset.Dynamic, probeset.Never, probeset.Unstated}

// A fate is what happens to classes, and why.
type fate struct {
	when probeset.When
	why  string
}

func writeFates(out io.Writer, classes []build.Fate, all bool) {
	several := map[string]int{}
	for i := range classes {
		several[classes[i].Class]++
	}
	fates := groupBy(classes, func(c build.Fate) fate { return fate{c.When, c.Why} })
	slices.SortStableFunc(fates, func(a, b group[fate, build.Fate]) int {
		return cmp.Or(slices.Index(fateOrder, a.key.when)-slices.Index(fateOrder, b.key.when), strings.Compare(a.key.why, b.key.why))
	})
	for _, f := range fates {
		methods := 0
		var lines []string
		for i := range f.list {
			methods += f.list[i].Methods
			lines = append(lines, fateText(&f.list[i], several[f.list[i].Class] > 1, all))
		}
		_, _ = fmt.Fprintf(out, "%s: %s (%s)\n", document.FateName(f.key.when), classesText(len(f.list), methods), format.Printable(f.key.why))
		writeSome(out, "  ", lines, mostFates, all, "--all")
	}
}

// fateText describes a class, and the methods of it that are left alone on further lines.
func fateText(c *build.Fate, withPlace, all bool) string {
	line := descriptor.ExternalName(c.Class)
	if withPlace {
		line += " in " + c.In
	}
	if c.Methods > 0 {
		line += ", " + format.Count(c.Methods, "method", "methods")
	}
	if len(c.Left) > 0 {
		line += fmt.Sprintf(", %s left alone", format.Grouped(len(c.Left)))
	}
	text := bytes.NewBufferString(format.Printable(line) + "\n")
	var left []string
	for _, l := range c.Left {
		left = append(left, format.Printable(strings.TrimPrefix(l.Method+": "+l.Reason, ": ")))
	}
	writeSome(text, "    ", left, mostLeft, all, "--all")
	return strings.TrimSuffix(text.String(), "\n")
}

func classesText(classes, methods int) string {
	return format.Count(classes, "class", "classes") + ", " + format.Count(methods, "method", "methods")
}

func writeApplied(out io.Writer, kind string, applied []probes.Applied) {
	for i := range applied {
		a := &applied[i]
		line := fmt.Sprintf("%s %s: %s", kind, a.Name, format.Count(len(a.Methods), "method", "methods"))
		if a.Anchors > 0 {
			line += fmt.Sprintf(", %s of its sequences", format.Count(a.Anchors, "method", "methods"))
		}
		if n := len(a.LeftOut); n > 0 {
			line += fmt.Sprintf(", no hook in %s", format.Grouped(n))
		}
		_, _ = fmt.Fprintln(out, format.Printable(line))
	}
}

func planNotes(p *build.Planned) (notes []string) {
	for _, u := range p.Unmatched {
		if u.InJDK {
			notes = append(notes, fmt.Sprintf("%s: %s matches only methods of the JDK, which cannot be packed: use sonde apply for them", u.What, u.Pattern))
		} else {
			notes = append(notes, fmt.Sprintf("%s: no method of these classes matches %s", u.What, u.Pattern))
		}
	}
	for _, broken := range p.Broken {
		notes = append(notes, broken.Reason)
	}
	return append(notes, p.Notes...)
}

func planSummary(p *build.Planned) string {
	classes, methods := map[probeset.When]int{}, map[probeset.When]int{}
	concerned := 0
	for i := range p.Classes {
		c := &p.Classes[i]
		classes[c.When]++
		methods[c.When] += c.Methods
		if !c.IsJDK() {
			concerned++
		}
	}
	var words []string
	for _, when := range fateOrder {
		if classes[when] > 0 {
			words = append(words, fmt.Sprintf("%s %s", document.FateName(when), classesText(classes[when], methods[when])))
		}
	}
	line := fmt.Sprintf("%s read, %s concerned", format.Count(p.Read, "class", "classes"), format.Grouped(concerned))
	if len(words) > 0 {
		line += ": " + strings.Join(words, "; ")
	}
	return line
}
