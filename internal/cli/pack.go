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

// packJSON is what `sonde pack --json` writes.
type packJSON struct {
	Output  string        `json:"output"`
	Read    int           `json:"classesRead"`
	Classes int           `json:"classes"`
	Methods int           `json:"methods"`
	Bytes   int64         `json:"bytes"`
	Left    []leftOutJSON `json:"leftAlone"`
	Notes   []string      `json:"notes,omitempty"`
	Seconds float64       `json:"seconds"`
	wovenJSON
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
	told := packJSON{
		Output: c.output, Read: planned.Read, Bytes: info.Size(), Left: describePackLeft(content.Left, true), Notes: notes,
		Seconds: time.Since(began).Seconds(), wovenJSON: wovenJSON{planned.Woven.Woven, planned.Woven.Cached},
	}
	if told.Left == nil {
		told.Left = []leftOutJSON{}
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

func (c *packing) tell(told *packJSON, planned *build.Planned) error {
	if c.json {
		return writeJSON(c.out, told)
	}
	for _, note := range told.Notes {
		c.note(note)
	}
	left := ""
	if n := len(told.Left); n > 0 {
		left = fmt.Sprintf(", %s left alone (sonde pack show --left)", grouped(n))
	}
	_, err := fmt.Fprintf(c.out, "wrote %s: %s, %s%s%s\n", c.output, classesText(told.Classes, told.Methods), bytesText(int(told.Bytes)), left, c.wovenText(planned.Woven))
	return err
}
