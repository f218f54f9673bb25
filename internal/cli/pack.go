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
	command.Flags().BoolVar(&c.strict, "strict", false, "write nothing if a method must be left alone, or a pattern matches none")
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

// checkOutput checks the output before the work is done.
func (c *packing) checkOutput() error {
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

// refuse reports what --strict forbids.
func (c *packing) refuse(content *pack.Content, notes []string) error {
	for _, note := range notes {
		c.note(note)
	}
	for _, left := range content.Left {
		c.note("left alone: " + leftText(left))
	}
	return errors.New("nothing was written: --strict, and something would have no hook")
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

const packLong = `Weave the probes of a file into the classes of an application ahead of time, without
running it, and write a pack. A JVM that is started with the agent and the pack takes the
woven classes from it as they load: no Sonde is needed, and nothing is woven at start-up.

  sonde agent-jar sonde-agent.jar
  java -javaagent:sonde-agent.jar=pack=app.pack -jar app.jar

Measurements go to a file (arena=FILE; by default /tmp/sonde-PID-….arena, with a name that
nobody can guess), which sonde report and sonde attach read, also while the program runs.

Jars, wars and directories are only read, also signed ones. The pack holds the
differences, and a class gets them only if its bytes are those that were packed. A class
that differs is loaded unchanged, counted and listed. Jars inside jars (BOOT-INF/lib,
WEB-INF/lib) are included, and every version of a multi-release jar is packed.

The weave: section of the file decides which classes are packed; sonde plan shows the
result. Ahead of time, nobody knows which classes will load, and in which version.
Therefore a condition may read fields, but call only getters of the class that has the
hook, if no class can override them: the bytes of that class are compared when it loads.
Levels trace and capture need a running Sonde, and are refused. Results grouped by tags or
callers distinguish 256 values, and count the rest as (other).

Woven classes are cached: packing again weaves nothing, and live commands find what was
packed. The same classes and the same file make the same pack, byte for byte.

Exit code: 0 if the pack was written, 1 on an error or if it would be empty, 2 for a wrong
command line or file.`

const packExamples = `  sonde pack app.jar --probes probes.yaml -o app.pack
  sonde pack app.war lib/*.jar --probes probes.yaml -o app.pack --strict
  sonde pack show app.pack --classes
  sonde pack verify app.pack app.jar`

const packShowLong = `Show the contents of a pack: its inputs, the Sonde and agent it was made by and for, the
number of classes and methods, and what was left alone.

--classes  each class with its methods
--spots    each hook: probe, sequence, method and id
--left     everything that is left alone, with the reasons
--probes   only the file of probes, unchanged`

const packVerifyLong = `Check a pack: its checksums, that its parts fit together, and that it was made for the
agent of this Sonde. With jars, wars or directories, also check that they have the classes
of the pack (a class that differs would be loaded without hooks) and that the woven classes
can be made from them.

Exit code: 0 if everything is right, 1 if not, 2 for a wrong command line.`
