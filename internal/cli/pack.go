package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
)

type packCommand struct {
	planCommand
	output string
	strict bool
}

func newPack(s streams) *cobra.Command {
	c := &packCommand{planCommand: planCommand{streams: s}}
	command := &cobra.Command{
		Use:     "pack JAR|WAR|DIR... --probes FILE -o OUT.pack",
		Short:   "Weave probes into the classes of an application ahead of time",
		Long:    packLong,
		Example: packExamples,
		Args:    atLeast("the jar, war or directory to pack"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.inputs = args
			return c.run(cmd.Context())
		},
	}
	c.register(command)
	command.Flags().StringVarP(&c.output, "output", "o", "", "`OUT`, the pack to write (required)")
	command.Flags().BoolVar(&c.strict, "strict", false, "write nothing if a method cannot get a hook, a pattern matches none, or a pack cannot do what a probe or tag asks for")
	command.AddCommand(newPackShow(s), newPackVerify(s), newPackLive(s))
	return command
}

func (c *packCommand) run(ctx context.Context) error {
	began := time.Now()
	if c.output == "" {
		return usage("-o is missing: name the pack to write, such as app.pack")
	}
	if err := c.checkOutput(); err != nil {
		return err
	}
	planned, err := c.plan(ctx)
	if err != nil {
		return err
	}
	notes := planNotes(planned)
	content, err := planned.Content()
	if err != nil {
		for _, note := range notes {
			c.note(note)
		}
		return err
	}
	if c.strict && len(content.Left)+len(planned.Unmatched)+len(planned.Dropped) > 0 {
		return c.refuse(content, notes)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := archive.WriteFile(c.output, 0o644, func(file *os.File) error { return pack.Write(file, content) }); err != nil {
		return fmt.Errorf("%s: %w", c.output, err)
	}
	info, err := os.Stat(c.output)
	if err != nil {
		return err
	}
	d := document.Pack{
		Output: c.output, Read: planned.Read, Bytes: info.Size(), Left: document.NewPackLeft(content.Left, true), Notes: notes,
		Seconds: time.Since(began).Seconds(), Weavings: planned.Woven,
	}
	if d.Left == nil {
		d.Left = []document.Left{}
	}
	for i := range planned.Classes {
		if f := &planned.Classes[i]; f.IsPacked() {
			d.Classes++
			d.Methods += f.Methods
		}
	}
	return c.write(&d)
}

// checkOutput checks the output before the work is done.
func (c *packCommand) checkOutput() error {
	info, err := os.Stat(c.output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &archive.OutputError{Path: c.output, Detail: "is not a file: name the pack to write, such as app.pack"}
	}
	for _, input := range c.inputs {
		if other, err := os.Stat(input); err == nil && os.SameFile(info, other) {
			return &archive.OutputError{Path: c.output, Detail: "is an input: name another output"}
		}
	}
	return nil
}

func (c *packCommand) refuse(content *pack.Content, notes []string) error {
	for _, note := range notes {
		c.note(note)
	}
	for _, left := range content.Left {
		c.note("no hook in " + leftText(left))
	}
	return errors.New("nothing was written because of --strict: the notes above name what would get no hook")
}

func (c *packCommand) write(d *document.Pack) error {
	if c.json {
		return document.Write(c.out, d)
	}
	for _, note := range d.Notes {
		c.note(note)
	}
	left := ""
	if n := len(d.Left); n > 0 {
		left = fmt.Sprintf(", %s without a hook (sonde pack show --left)", format.Grouped(n))
	}
	woven := wovenText(d.Woven, d.Cached, d.Cached+d.Missed > 0)
	_, err := fmt.Fprintf(c.out, "wrote %s: %s, %s%s%s\n", c.output, classesText(d.Classes, d.Methods), bytesText(int(d.Bytes)), left, woven)
	return err
}

const packLong = `Weave the probes of a file into the classes of an application ahead of time, without
running it, and write a pack. A JVM that is started with the agent and the pack gets the
woven classes from the pack as they load: no Sonde is needed, and nothing is woven at start-up.

  sonde agent-jar -o sonde-agent.jar
  java -javaagent:sonde-agent.jar=pack=app.pack -jar app.jar

Measurements go to a file (arena=FILE; by default /tmp/sonde-PID-….arena, with a name that
nobody can guess), which sonde report and sonde pack live read, also while the program runs.

Jars, wars and directories are only read, also signed ones. The pack holds the
differences, and a class gets them only if its bytes are those that were packed. A class
that differs is loaded unchanged, counted and listed. sonde plan shows which classes are
packed; sonde plan --help says how the file decides that, and what conditions may read.
Levels trace and capture need a running Sonde, and are lowered to time. Results grouped by tags,
callers or texts of events distinguish 256 values, and count the rest as (other). Templates of
your own (sonde template) are in the pack.

Woven classes are cached: packing again weaves nothing, and live commands find what was
packed. The same classes and the same file make the same pack, byte for byte.`

const packExamples = `  sonde pack app.jar --probes probes.yaml -o app.pack
  sonde pack app.war lib/*.jar --probes probes.yaml -o app.pack --strict
  sonde pack show app.pack --classes
  sonde pack verify app.pack app.jar`

const packShowLong = `Show the contents of a pack: its inputs, the version of Sonde that made it, the agent that it
needs, the number of classes and methods, and how many get no hook.

--classes  each class with its methods
--spots    each hook: probe, sequence, method and id
--left     everything that gets no hook, with the reasons
--probes   only the file of probes, unchanged`

const packVerifyLong = `Check a pack: its checksums, that its parts fit together, and that it was made for the
agent of this Sonde. With jars, wars or directories, also check that they have the classes
of the pack (a class that differs would be loaded without hooks) and that the woven classes
can be made from them.

Exit code: 0 if everything is right, 1 if not, 2 for an invalid command line.`

type packShowCommand struct {
	streams
	file                         string
	classes, spots, left, probes bool
	json                         bool
}

func newPackShow(s streams) *cobra.Command {
	c := &packShowCommand{streams: s}
	command := &cobra.Command{
		Use:   "show FILE.pack",
		Short: "Show the contents of a pack",
		Long:  packShowLong,
		Example: `  sonde pack show app.pack
  sonde pack show app.pack --classes --left
  sonde pack show app.pack --probes > probes.yaml`,
		Args: exactly("the pack"),
		RunE: func(_ *cobra.Command, args []string) error {
			c.file = args[0]
			return c.run()
		},
	}
	flags := command.Flags()
	flags.BoolVar(&c.classes, "classes", false, "list every class with its methods")
	flags.BoolVar(&c.spots, "spots", false, "list every hook")
	flags.BoolVar(&c.left, "left", false, "list everything that gets no hook, with the reason")
	flags.BoolVar(&c.probes, "probes", false, "write only the file of probes it was made with")
	flags.BoolVar(&c.json, "json", false, "write one JSON object with everything")
	return command
}

func (c *packShowCommand) run() error {
	opened, err := pack.Open(c.file)
	if err != nil {
		return err
	}
	content := opened.Content()
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	switch {
	case c.json:
		err = document.Write(out, document.NewPackShow(c.file, content, opened.Sizes()))
	case c.probes:
		_, err = out.Write(content.Probes)
	default:
		c.write(out, content, opened.Sizes())
	}
	return errors.Join(err, out.Flush())
}

func (c *packShowCommand) write(out io.Writer, content *pack.Content, sizes pack.Sizes) {
	line := fields(out, 9)
	line("pack", "%s, %s: differences %s, arena %s, data for Sonde %s", c.file, bytesText(int(sizes.File)), diskText(sizes.Deltas), diskText(sizes.Image), diskText(sizes.Cold))
	line("of", "%s", content.Title)
	line("agent", "%s", buildText(content.Build))
	line("engine", "%s", content.Engine)
	line("classes", "%s of %s, originally %s, woven %s", format.Count(sizes.Methods, "method", "methods"), format.Count(sizes.Classes, "class", "classes"), diskText(sizes.Original), diskText(sizes.Woven))
	line("no hook", "%s", format.Count(len(content.Left), "class or method", "classes and methods"))
	hooks := map[string]int{}
	for _, n := range content.Names {
		hooks[n.Probe]++
	}
	for _, probe := range slices.Sorted(maps.Keys(hooks)) {
		line("probe", "%s: %s", probe, format.Count(hooks[probe], "hook", "hooks"))
	}
	if c.classes {
		writePackedClasses(out, content.Classes)
	}
	if c.spots {
		for _, n := range sortedSpots(content.Names) {
			line("hook", "%08x %s%s: %s.%s%s", n.ID, n.Probe, withinText(n.Sequence), descriptor.ExternalName(n.Class), n.Method, n.Descriptor)
		}
	}
	if c.left {
		for _, l := range content.Left {
			line("no hook", "%s", leftText(l))
		}
	}
}

// buildText says whether a build is that of the agent of this Sonde.
func buildText(build string) string {
	if build == agent.AgentBuild() {
		return build + ", the agent of this Sonde"
	}
	return build + ", the agent of another build: with the agent of this Sonde (sonde agent-jar), the program would start without hooks"
}

func withinText(sequence string) string {
	if sequence == "" {
		return ""
	}
	return " within " + sequence
}

func leftText(l pack.Left) string {
	name := descriptor.ExternalName(l.Class)
	if l.Method != "" {
		name += "." + l.Method
	}
	return name + ": " + l.Reason
}

func sortedSpots(names []pack.Name) []pack.Name {
	return slices.SortedFunc(slices.Values(names), func(a, b pack.Name) int {
		return cmp.Or(strings.Compare(a.Probe, b.Probe), strings.Compare(a.Sequence, b.Sequence), strings.Compare(a.Class, b.Class),
			strings.Compare(a.Method, b.Method), strings.Compare(a.Descriptor, b.Descriptor))
	})
}

func writePackedClasses(out io.Writer, classes []pack.Class) {
	for _, class := range classes {
		woven, left := document.MethodCounts(class.Entry)
		line := fmt.Sprintf("class    %s, %s", descriptor.ExternalName(class.Entry.Class), format.Count(woven, "method", "methods"))
		if left > 0 {
			line += fmt.Sprintf(", %s without a hook", format.Grouped(left))
		}
		_, _ = fmt.Fprintln(out, format.Printable(line))
		for i := range class.Entry.Methods {
			m := &class.Entry.Methods[i]
			if m.Woven {
				_, _ = fmt.Fprintf(out, "           %s\n", format.Printable(m.Name+m.Descriptor+"  "+strings.Join(m.Templates, ", ")))
			}
		}
	}
}

func newPackVerify(s streams) *cobra.Command {
	asJSON := false
	command := &cobra.Command{
		Use:   "verify FILE.pack [JAR|WAR|DIR...]",
		Short: "Check a pack, and whether it fits an application",
		Long:  packVerifyLong,
		Example: `  sonde pack verify app.pack
  sonde pack verify app.pack app.jar lib/*.jar`,
		Args: atLeast("the pack"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return packVerify(cmd.Context(), s, args[0], args[1:], asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func packVerify(ctx context.Context, s streams, file string, inputs []string, asJSON bool) error {
	opened, err := pack.Open(file)
	if err != nil {
		return err
	}
	content := opened.Content()
	d := &document.PackVerify{
		File: file, Classes: len(content.Classes), IsOwn: content.Build == agent.AgentBuild(), Differs: []string{}, Missing: []string{}, Bad: []string{},
	}
	if err := comparePack(ctx, d, opened, content, inputs); err != nil {
		return err
	}
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	if asJSON {
		err = document.Write(out, d)
	} else {
		writePackVerify(out, d, len(inputs) > 0)
	}
	return errors.Join(err, out.Flush(), packVerdict(d))
}

// comparePack looks for the classes of the pack in archives.
func comparePack(ctx context.Context, v *document.PackVerify, opened *pack.Pack, content *pack.Content, inputs []string) error {
	if len(inputs) == 0 {
		return nil
	}
	met, found := map[string]bool{}, map[cache.Original]bool{}
	for _, input := range inputs {
		err := archive.Walk(ctx, input, func(e archive.Entry) error {
			var class classfile.Class
			if class.Read(e.Data) == nil && opened.Has(class.Name()) { // a class that cannot be read was not packed
				met[class.Name()] = true
				original := cache.OriginalOf(e.Data)
				isPacked := func(c pack.Class) bool { return c.Entry.Original == original }
				_, found[original] = opened.Find(class.Name(), e.Data)
				if !found[original] && slices.ContainsFunc(content.Classes, isPacked) {
					v.Bad = append(v.Bad, descriptor.ExternalName(class.Name()))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, class := range content.Classes {
		switch name := descriptor.ExternalName(class.Entry.Class); {
		case found[class.Entry.Original]:
			v.Found++
		case slices.Contains(v.Bad, name):
		case met[class.Entry.Class]:
			v.Differs = append(v.Differs, name)
		default:
			v.Missing = append(v.Missing, name)
		}
	}
	return nil
}

func writePackVerify(out io.Writer, v *document.PackVerify, hasInputs bool) {
	_, _ = fmt.Fprintf(out, "%s: %s, complete\n", format.Printable(v.File), format.Count(v.Classes, "class", "classes"))
	if !hasInputs {
		return
	}
	_, _ = fmt.Fprintf(out, "%s of %s unchanged in the archives\n", format.Grouped(v.Found), format.Count(v.Classes, "packed class is", "packed classes are"))
	for _, group := range []struct {
		what  string
		names []string
	}{{"differs", v.Differs}, {"is missing", v.Missing}, {"cannot be woven from the archives", v.Bad}} {
		var lines []string
		for _, name := range group.names {
			lines = append(lines, format.Printable(name)+" "+group.what)
		}
		writeSome(out, "  ", lines, mostFates, false, "--json")
	}
}

func packVerdict(v *document.PackVerify) error {
	switch {
	case !v.IsOwn:
		return errors.New("the pack was made by another build of Sonde, for its agent: make it again with sonde pack, or use that build's jar (sonde agent-jar writes it)")
	case len(v.Bad) > 0:
		return fmt.Errorf("%s cannot be woven with the pack: %w", format.Count(len(v.Bad), "class", "classes"), pack.ErrDamaged)
	case len(v.Differs) > 0:
		return fmt.Errorf("%s from the packed bytes and would be loaded without hooks: make the pack again", format.Count(len(v.Differs), "class differs", "classes differ"))
	case len(v.Missing) > 0:
		return fmt.Errorf("%s in none of these archives: name all archives that were packed", format.Count(len(v.Missing), "class of the pack is", "classes of the pack are"))
	}
	return nil
}

// planCommand is the command line of `sonde plan` and `sonde pack`: archives and probes.
type planCommand struct {
	streams
	inputs []string
	probes string
	jdk    string
	cache  cacheFlags
	json   bool
	all    bool

	templates templateFlags
}

func (f *planCommand) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.probes, probesFlag, "f", "", "`FILE` of probes, as for sonde apply; - reads standard input (required)")
	flags.StringVarP(&f.probes, "p", "p", "", "former name of -f")
	hide(command, "p")
	flags.StringVar(&f.jdk, "jdk", "", "`HOME` of the JDK that the program will use, whose classes conditions may read; by default JAVA_HOME, or that of the java in PATH")
	flags.BoolVar(&f.json, "json", false, "write one JSON object")
	f.cache.register(flags)
	f.templates.register(flags)
}

func newPlan(s streams) *cobra.Command {
	f := &planCommand{streams: s}
	command := &cobra.Command{
		Use:     "plan JAR|WAR|DIR... --probes FILE",
		Short:   "Show which classes of an application probes would change, and why",
		Long:    planLong,
		Example: planExamples,
		Args:    atLeast("the jar, war or directory of the application"),
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
		return nil, usage("--probes is missing: name a file of probes, such as probes.yaml")
	}
	set, text, err := f.templates.readProbes(f.streams, f.probes)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(set.Probes, func(p probeset.Probe) bool { return p.Own != nil }) {
		text = set.YAML() // with the compiled classes
	}
	image, err := f.image()
	if err != nil {
		return nil, err
	}
	if image == "" {
		f.note("no JDK was found, so conditions cannot read its classes: name one with --jdk HOME")
	}
	kept, closeCache, err := f.cache.openCache(f.streams, f.note)
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
	of := func(home string) string {
		for _, name := range []string{"lib/modules", "jre/lib/rt.jar", "lib/rt.jar"} { // the last two of JDK 8
			image := filepath.Join(home, name)
			if _, err := os.Stat(image); err == nil {
				return image
			}
		}
		return ""
	}
	if f.jdk != "" {
		image := of(f.jdk)
		if image == "" {
			return "", usage("--jdk %s: it has neither lib/modules nor lib/rt.jar: name the home of a JDK", f.jdk)
		}
		return image, nil
	}
	homes := []string{os.Getenv("JAVA_HOME")}
	if java, err := exec.LookPath("java"); err == nil {
		if java, err = filepath.EvalSymlinks(java); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(java)))
		}
	}
	for _, home := range homes {
		if image := of(home); home != "" && image != "" {
			return image, nil
		}
	}
	return "", nil
}

// refusal says why no pack can be made; empty if one can.
func refusal(planned *build.Planned) string {
	if planned.Refusal() != nil {
		return "no method of these classes would get a hook: there is nothing to pack"
	}
	return ""
}

const planLong = `Show what happens to each class of an application that the probes, sequences or tags of a
file match, without running it: whether it gets hooks ahead of time, when it loads, later,
or never, and why; how many of its methods get hooks, and which get none for what
reason. Nothing is written except the cache, where woven classes are kept for sonde pack
(--no-cache keeps none).

static      sonde pack weaves it: the application starts with its hooks, without a Sonde
load        a running Sonde weaves it when it loads (sonde run, sonde apply)
dynamic     sonde apply weaves it after it has loaded; all classes of the JDK are dynamic,
            because they load before a pack can weave them
never       it gets no hooks, because of a rule
unweavable  it matches, but none of its methods can be woven

The weave: section of the file decides: the first rule that matches a class is used. sonde pack
packs a class that matches no rule, and the other commands weave it:

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
called: those of strings, enums, boxes and collections.`

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
		_, _ = fmt.Fprintf(out, "note: sonde pack would refuse these probes: %s\n", why)
	}
	_, _ = fmt.Fprintln(out, planSummary(p))
}

var fateOrder = []probeset.When{probeset.Static, probeset.Load, probeset.Dynamic, probeset.Never, probeset.Unstated}

type fate struct {
	when probeset.When
	why  string
}

func writeFates(out io.Writer, classes []build.Fate, all bool) {
	several := map[string]int{}
	for i := range classes {
		several[classes[i].Class]++
	}
	fates := format.GroupBy(classes, func(c build.Fate) fate { return fate{c.When, c.Why} })
	slices.SortStableFunc(fates, func(a, b format.Group[fate, build.Fate]) int {
		return cmp.Or(slices.Index(fateOrder, a.Key.when)-slices.Index(fateOrder, b.Key.when), strings.Compare(a.Key.why, b.Key.why))
	})
	for _, f := range fates {
		methods := 0
		var lines []string
		for i := range f.List {
			methods += f.List[i].Methods
			lines = append(lines, fateText(&f.List[i], several[f.List[i].Class] > 1, all))
		}
		_, _ = fmt.Fprintf(out, "%s: %s (%s)\n", document.FateName(f.Key.when), classesText(len(f.List), methods), format.Printable(f.Key.why))
		writeSome(out, "  ", lines, mostFates, all, "--all")
	}
}

// fateText describes a class, and its methods that get no hook on further lines.
func fateText(c *build.Fate, withPlace, all bool) string {
	line := descriptor.ExternalName(c.Class)
	if withPlace {
		line += " in " + c.In
	}
	if c.Methods > 0 {
		line += ", " + format.Count(c.Methods, "method", "methods")
	}
	if len(c.Left) > 0 {
		line += fmt.Sprintf(", %s without a hook", format.Grouped(len(c.Left)))
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
	return slices.Concat(notes, p.Dropped, p.Notes)
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
