package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

// packShow is a `sonde pack show` command line.
type packShow struct {
	streams
	file                         string
	classes, spots, left, probes bool
	json                         bool
}

func newPackShow(s streams) *cobra.Command {
	c := &packShow{streams: s}
	command := &cobra.Command{
		Use:   "show FILE.pack",
		Short: "Show what a pack holds",
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
	flags.BoolVar(&c.classes, "classes", false, "name every class, with its methods")
	flags.BoolVar(&c.spots, "spots", false, "name every hook")
	flags.BoolVar(&c.left, "left", false, "name all that is left alone")
	flags.BoolVar(&c.probes, "probes", false, "write the file of probes it was made with, and nothing else")
	flags.BoolVar(&c.json, "json", false, "write one JSON object with all of it")
	return command
}

func (c *packShow) run() error {
	opened, err := pack.Open(c.file)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // only read
	content, err := opened.Content()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	switch {
	case c.json:
		err = writeJSON(out, describePack(c.file, content, opened.Sizes()))
	case c.probes:
		_, err = out.Write(content.Probes)
	default:
		c.write(out, content, opened.Sizes())
	}
	return errors.Join(err, out.Flush())
}

func (c *packShow) write(out io.Writer, content *pack.Content, sizes pack.Sizes) {
	line := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%-9s%s\n", what, printable(fmt.Sprintf(format, args...)))
	}
	line("pack", "%s, %s: deltas %s, arena %s, what only Sonde reads %s", c.file, bytesText(int(sizes.File)), diskText(sizes.Deltas), diskText(sizes.Image), diskText(sizes.Cold))
	line("of", "%s", content.Title)
	line("agent", "%s", buildText(content.Build))
	line("engine", "%s", content.Engine)
	line("classes", "%s of %s, %s as they were, %s woven", count(sizes.Methods, "method", "methods"), count(sizes.Classes, "class", "classes"), diskText(sizes.Original), diskText(sizes.Woven))
	line("left", "%s", count(len(content.Left), "class or method", "classes and methods"))
	for _, sum := range sumSpots(sortedSpots(content.Names)) {
		line("probe", "%s: %s", sum.probe, count(sum.spots, "hook", "hooks"))
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
			line("left", "%s", leftText(l))
		}
	}
}

// buildText says whether a build is that of this Sonde's agent.
func buildText(build string) string {
	if build == agent.AgentBuild() {
		return build + ", as sonde agent-jar writes it"
	}
	return build + ": another than sonde agent-jar writes; with that one the program would start without its hooks"
}

func withinText(sequence string) string {
	if sequence == "" {
		return ""
	}
	return " within " + sequence
}

// leftText is what was left alone, and why.
func leftText(l pack.Left) string {
	name := descriptor.ExternalName(l.Class)
	if l.Method != "" {
		name += "." + l.Method
	}
	return name + ": " + l.Reason
}

// sortedSpots are hooks in an order that people look for them in.
func sortedSpots(names []pack.Name) []pack.Name {
	return slices.SortedFunc(slices.Values(names), func(a, b pack.Name) int {
		return cmp.Or(strings.Compare(a.Probe, b.Probe), strings.Compare(a.Sequence, b.Sequence), strings.Compare(a.Class, b.Class),
			strings.Compare(a.Method, b.Method), strings.Compare(a.Descriptor, b.Descriptor))
	})
}

// A spotSum is how many hooks a probe has.
type spotSum struct {
	probe string
	spots int
}

// sumSpots counts hooks by probe, in the order in which probes appear.
func sumSpots(names []pack.Name) (sums []spotSum) {
	at := map[string]int{}
	for _, n := range names {
		i, known := at[n.Probe]
		if !known {
			i, at[n.Probe] = len(sums), len(sums)
			sums = append(sums, spotSum{probe: n.Probe})
		}
		sums[i].spots++
	}
	return sums
}

func writePackedClasses(out io.Writer, classes []pack.Class) {
	for _, class := range classes {
		woven, left := methodCounts(class.Entry)
		line := fmt.Sprintf("class    %s, %s", descriptor.ExternalName(class.Entry.Class), count(woven, "method", "methods"))
		if left > 0 {
			line += fmt.Sprintf(", %s left alone", grouped(left))
		}
		_, _ = fmt.Fprintln(out, printable(line))
		for i := range class.Entry.Methods {
			m := &class.Entry.Methods[i]
			if m.Woven {
				_, _ = fmt.Fprintf(out, "           %s\n", printable(m.Name+m.Descriptor+"  "+strings.Join(m.Templates, ", ")))
			}
		}
	}
}
