package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
)

// packing is a `sonde pack` command line.
type packing struct {
	forecast
	output string
	strict bool
}

func newPack(s streams) *cobra.Command {
	c := &packing{forecast: forecast{streams: s}}
	command := &cobra.Command{
		Use:     "pack JAR|WAR|DIR... --probes FILE -o OUT.pack",
		Short:   "Weave probes into the classes of an application beforehand",
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
	command.Flags().BoolVar(&c.strict, "strict", false, "write nothing if a method that is named must be left alone, or a pattern names none")
	command.AddCommand(newPackShow(s), newPackVerify(s))
	return command
}

func (c *packing) run(ctx context.Context) error {
	began := time.Now()
	if c.output == "" {
		return usage("-o is missing: the pack to write, such as app.pack")
	}
	if err := c.checkOutput(); err != nil {
		return err
	}
	planned, err := c.plan(ctx, "weaving")
	if err != nil {
		return err
	}
	content, err := planned.Content()
	if err != nil {
		return err
	}
	notes := planNotes(planned)
	if c.strict && len(content.Left)+len(planned.Unmatched) > 0 {
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
	told := document.Pack{
		Output: c.output, Read: planned.Read, Bytes: info.Size(), Left: document.NewLeftOut(content.Left, true), Notes: notes,
		Seconds: time.Since(began).Seconds(), Weavings: document.Weavings{Woven: planned.Woven.Woven, Cached: planned.Woven.Cached},
	}
	if told.Left == nil {
		told.Left = []document.LeftOut{}
	}
	for i := range planned.Classes {
		if f := &planned.Classes[i]; f.IsPacked() {
			told.Classes++
			told.Methods += f.Methods
		}
	}
	return c.tell(&told, planned)
}

// checkOutput refuses outputs before the work is done.
func (c *packing) checkOutput() error {
	info, err := os.Stat(c.output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &archive.OutputError{Path: c.output, Detail: "is no file: name the pack to write, such as app.pack"}
	}
	for _, input := range c.inputs {
		if other, err := os.Stat(input); err == nil && os.SameFile(info, other) {
			return &archive.OutputError{Path: c.output, Detail: "is an input: name another output"}
		}
	}
	return nil
}

// refuse says what --strict does not let pass.
func (c *packing) refuse(content *pack.Content, notes []string) error {
	for _, note := range notes {
		c.note(note)
	}
	for _, left := range content.Left {
		c.note("left alone: " + leftText(left))
	}
	return errors.New("not all that is named would have a hook, as --strict demands; nothing was written")
}

func (c *packing) tell(told *document.Pack, planned *build.Planned) error {
	if c.json {
		return document.Write(c.out, told)
	}
	for _, note := range told.Notes {
		c.note(note)
	}
	left := ""
	if n := len(told.Left); n > 0 {
		left = fmt.Sprintf(", %s left alone (sonde pack show --left)", format.Grouped(n))
	}
	_, err := fmt.Fprintf(c.out, "wrote %s: %s, %s%s%s\n", c.output, classesText(told.Classes, told.Methods), bytesText(int(told.Bytes)), left, c.wovenText(planned.Woven))
	return err
}

const packLong = `Weave the probes of probes.yaml into the classes of an application beforehand, without
running it, and write a pack. A JVM that is started with the agent and the pack takes
its classes from there as they load: no Sonde need be there, and nothing is woven at
start-up.

  sonde agent-jar sonde-agent.jar
  java -javaagent:sonde-agent.jar=pack=app.pack -jar app.jar

What is measured goes to a file (arena=FILE; /tmp/sonde-PID-….arena, with a name nobody
can guess, where nothing is said), which sonde report and sonde attach read, also while
the program runs.

Jars, wars and directories are only read, signed ones as well; the pack holds what
differs, and a class gets it only where its bytes are those that were packed. A class
that differs is loaded as it is, counted and named. Jars inside jars (BOOT-INF/lib,
WEB-INF/lib) are looked into, and every version of a multi-release jar is packed.

Which classes are packed weave: in the file says; sonde plan shows it. Beforehand
nobody knows which classes will load, nor of which version, so a condition may read
fields, and call getters of the class the hook stands in alone, where no class could
override them: the bytes of that class are compared when it loads. Levels trace and
capture need a Sonde that reads, and are refused. Results by tags or callers tell 256
values apart, and count the rest as (other).

Woven classes are kept in the cache: packing again weaves nothing, and live commands
find what was packed. The same classes and the same file make the same pack, byte for
byte.

Exit code: 0 when the pack was written, 1 on an error or where nothing would be in it,
2 for a wrong command line or file.`

const packExamples = `  sonde pack app.jar --probes probes.yaml -o app.pack
  sonde pack app.war lib/*.jar --probes probes.yaml -o app.pack --strict
  sonde pack show app.pack --classes
  sonde pack verify app.pack app.jar`

const packShowLong = `Show what a pack holds: what it was made of, by which Sonde and for which agent, how
many classes and methods, and what was left alone.

--classes  each class with its methods
--spots    each hook: probe, sequence, method and id
--left     all that is left alone, with the reasons
--probes   the file of probes as it was, and nothing else`

const packVerifyLong = `Check a pack: its checksums, that its parts fit each other, and that it is made for the
agent of this Sonde. With jars, wars or directories also whether the classes in the pack
are the ones there, a class that differs would be loaded as it is, and that the woven
classes can be made of them.

Exit code: 0 when all is well, 1 where something is not, 2 for a wrong command line.`
