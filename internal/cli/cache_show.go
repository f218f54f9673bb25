package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// cacheShow is a `sonde cache show` command line.
type cacheShow struct {
	streams
	place    *cachePlace
	code     bool
	original string
	method   string
	trace    string
	offsets  bool
	json     bool
}

func newCacheShow(s streams, place *cachePlace) *cobra.Command {
	c := &cacheShow{streams: s, place: place}
	command := &cobra.Command{
		Use:   "show KEY|CLASS",
		Short: "Show a class as it was woven: methods, reasons, code, offsets",
		Long:  cacheShowLong,
		Example: `  sonde cache show com.acme.Order
  sonde cache show com.acme.Order --code --method pay
  sonde cache show 3f9c21a0 --original app.jar
  sonde cache show com.acme.Order --trace hs_err_pid4711.log`,
		Args: exactly("the KEY or CLASS to show"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.BoolVar(&c.code, "code", false, "show the woven code")
	flags.StringVar(&c.original, "original", "", "show what weaving changed: `FILE`, JAR, DIR or lib/modules has the original")
	flags.StringVarP(&c.method, "method", "m", "", "with --code or --original: only the methods that match `PATTERN`")
	flags.BoolVar(&c.offsets, "offsets", false, "show which instructions now stand where")
	flags.StringVar(&c.trace, "trace", "", "write a stack trace, read from `FILE` or -, with the original's offsets")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

func (c *cacheShow) check() error {
	switch {
	case c.code && c.original != "":
		return usage("--code and --original are two ways to show the code: give one")
	case c.trace != "" && (c.code || c.original != "" || c.offsets || c.json):
		return usage("--trace writes the trace alone: leave the others out")
	case c.method != "" && !c.code && c.original == "":
		return usage("--method needs --code or --original")
	case c.offsets && (c.code || c.original != ""):
		return usage("--offsets goes with neither --code nor --original")
	}
	return nil
}

func (c *cacheShow) run(ctx context.Context, name string) error {
	d, err := c.place.open()
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read
	item, err := c.find(ctx, d, name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	switch {
	case c.trace != "":
		err = c.writeTrace(out, item.Entry)
	case c.json:
		err = c.writeJSON(ctx, out, item)
	case c.code:
		err = c.writeCode(out, item.Entry)
	case c.original != "":
		err = c.writeDiff(ctx, out, item.Entry)
	default:
		err = c.writeText(out, item)
	}
	return errors.Join(err, out.Flush())
}

// find finds the entry that a key, its beginning, or a class names.
func (c *cacheShow) find(ctx context.Context, d *cache.Disk, name string) (cache.Item, error) {
	const least = 4 // of a key
	var found []cache.Item
	lower := strings.ToLower(name)
	isKey := func(key cache.Key) bool { return strings.HasPrefix(key.String(), lower) }
	if len(name) >= least && strings.Trim(lower, "0123456789abcdef") == "" {
		err := d.Each(ctx, isKey, func(item cache.Item) error {
			found = append(found, item)
			return nil
		})
		if err != nil {
			return cache.Item{}, err
		}
		if len(found) > 1 {
			return cache.Item{}, fmt.Errorf("%s keys begin with %s: give more of it", grouped(len(found)), name)
		}
		if len(found) == 1 && found[0].Entry == nil {
			return cache.Item{}, found[0].Err
		}
	}
	if len(found) == 0 {
		internal := descriptor.InternalName(name)
		err := d.Each(ctx, nil, func(item cache.Item) error {
			if item.Entry != nil && item.Entry.Class == internal {
				found = append(found, item)
			}
			return nil
		})
		if err != nil {
			return cache.Item{}, err
		}
	}
	if len(found) == 0 {
		return cache.Item{}, fmt.Errorf("no entry in %s has the key or class %q: sonde cache ls lists them", d.Dir(), name)
	}
	if others := len(found) - 1; others > 0 {
		_, _ = fmt.Fprintf(c.err, "note: %s of this class in the cache; this one was of use last: sonde cache ls %s\n",
			count(others, "more entry is", "more entries are"), name)
	}
	return found[0], nil
}

func (c *cacheShow) writeText(out io.Writer, item cache.Item) error {
	e := item.Entry
	woven, left := methodCounts(e)
	_, _ = fmt.Fprintf(out, "class     %s\n", printable(descriptor.ExternalName(e.Class)))
	_, _ = fmt.Fprintf(out, "key       %s\n", item.Key)
	_, _ = fmt.Fprintf(out, "original  %s, SHA-256 %x\n", bytesText(e.Original.Size), e.Original.Digest)
	_, _ = fmt.Fprintf(out, "woven     %s\n", bytesText(len(e.Woven)))
	_, _ = fmt.Fprintf(out, "made      %s, by %s\n", e.Made.Local().Format(time.DateTime), printable(e.Engine))
	_, _ = fmt.Fprintf(out, "used      %s (%s ago)\n", item.Used.Local().Format(time.DateTime), shortDuration(time.Since(item.Used)))
	_, _ = fmt.Fprintf(out, "methods   %s woven, %s left alone\n", grouped(woven), grouped(left))
	if woven > 0 {
		_, _ = fmt.Fprintln(out)
		writeTable(out, []column{{"ID", true}, {"CALLS", true}, {title: "TEMPLATES"}, {title: "METHOD"}}, wovenRows(e), c.outWidth())
	}
	writeLeft(out, e)
	if len(e.Calls) > 0 {
		_, _ = fmt.Fprintln(out, "\nhooks at calls name")
	}
	for _, s := range e.Calls {
		_, _ = fmt.Fprintf(out, "  %11s  %s\n", idText(s.ID), printable(descriptor.ExternalName(s.Class)+"."+s.Name+s.Descriptor))
	}
	if c.offsets {
		return writeOffsets(out, e)
	}
	return nil
}

func wovenRows(e *cache.Entry) (rows [][]string) {
	for i := range e.Methods {
		m := &e.Methods[i]
		if !m.Woven {
			continue
		}
		id, sites := "-", "-"
		if m.HasID {
			id = idText(m.ID)
		}
		if m.Sites > 0 {
			sites = grouped(m.Sites)
		}
		rows = append(rows, []string{id, sites, orDash(printable(strings.Join(m.Templates, ", "))), printable(m.Name + m.Descriptor)})
	}
	return rows
}

func writeLeft(out io.Writer, e *cache.Entry) {
	var lines []string
	for i := range e.Methods {
		m := &e.Methods[i]
		if !m.Woven {
			lines = append(lines, m.Name+m.Descriptor+": "+m.Reason.Error())
		}
		for j := range m.Left {
			l := &m.Left[j]
			lines = append(lines, fmt.Sprintf("%s, its call of %s at %d: %s", m.Name+m.Descriptor, leftCallText(l), l.Offset, l.Reason.Error()))
		}
	}
	if len(lines) > 0 {
		_, _ = fmt.Fprintln(out, "\nleft alone")
	}
	for _, line := range slices.Compact(lines) {
		_, _ = fmt.Fprintf(out, "  %s\n", printable(line))
	}
}

func writeOffsets(out io.Writer, e *cache.Entry) error {
	_, _ = fmt.Fprintln(out, "\noffsets: those of the original, and where they are now")
	for i := range e.Methods {
		m := &e.Methods[i]
		shifts, err := m.Offsets.Map()
		if err != nil {
			return err
		}
		if len(shifts) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s\n", printable(m.Name+m.Descriptor))
		for _, s := range shifts {
			last := max(int(s.Size)-1, 0)
			_, _ = fmt.Fprintf(out, "  %d..%d  %d..%d\n", s.Old, int(s.Old)+last, s.New, int(s.New)+last)
		}
	}
	return nil
}
