package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

type cacheShowCommand struct {
	*cacheCommand
	code     bool
	original string
	method   string
	trace    string
	offsets  bool
}

func newCacheShow(of *cacheCommand) *cobra.Command {
	c := &cacheShowCommand{cacheCommand: of}
	command := &cobra.Command{
		Use:   "show KEY|CLASS",
		Short: "Show a woven class: methods, reasons, code, offsets",
		Long:  cacheShowLong,
		Example: `  sonde cache show com.acme.Order
  sonde cache show com.acme.Order --code --method pay
  sonde cache show 3f9c21a0 --original app.jar
  sonde cache show com.acme.Order --trace hs_err_pid4711.log`,
		Args:    exactly("the KEY or CLASS to show"),
		PreRunE: func(*cobra.Command, []string) error { return c.check() },
	}
	flags := command.Flags()
	flags.BoolVar(&c.code, "code", false, "show the woven code")
	flags.StringVar(&c.original, "original", "", "show what weaving changed: `FILE`, JAR, DIR or lib/modules with the original")
	flags.StringVarP(&c.method, "method", "m", "", "with --code or --original: only the methods that match `PATTERN`")
	flags.BoolVar(&c.offsets, "offsets", false, "show where instructions have moved")
	flags.StringVar(&c.trace, "trace", "", "write a stack trace, read from `FILE` or -, with the offsets of the original")
	return c.with(command, c.run)
}

func (c *cacheShowCommand) check() error {
	switch {
	case c.code && c.original != "":
		return usage("--code and --original cannot be used together")
	case c.trace != "" && (c.code || c.original != "" || c.offsets || c.json):
		return usage("--trace cannot be combined with other output flags")
	case c.method != "" && !c.code && c.original == "":
		return usage("--method needs --code or --original")
	case c.offsets && (c.code || c.original != ""):
		return usage("--offsets cannot be used with --code or --original")
	}
	return nil
}

func (c *cacheShowCommand) run(ctx context.Context, d *cache.Disk, args []string) error {
	if d == nil {
		return errNothingCached
	}
	item, err := c.find(ctx, d, args[0])
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

// find returns the entry with a key, the beginning of a key, or a class.
func (c *cacheShowCommand) find(ctx context.Context, d *cache.Disk, name string) (cache.Item, error) {
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
			return cache.Item{}, fmt.Errorf("%s keys begin with %s: give more characters", format.Grouped(len(found)), name)
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
		_, _ = fmt.Fprintf(c.err, "note: %s of this class in the cache; this one was used last: sonde cache ls %s\n",
			format.Count(others, "more entry is", "more entries are"), name)
	}
	return found[0], nil
}

func (c *cacheShowCommand) writeText(out io.Writer, item cache.Item) error {
	e := item.Entry
	woven, left := document.MethodCounts(e)
	line := fields(out, 10)
	line("class", "%s", descriptor.ExternalName(e.Class))
	line("key", "%s", item.Key)
	line("original", "%s, SHA-256 %x", bytesText(e.Original.Size), e.Original.Digest)
	line("woven", "%s", bytesText(len(e.Woven)))
	line("made", "%s, by %s", e.Made.Local().Format(time.DateTime), e.Engine)
	line("used", "%s (%s)", item.Used.Local().Format(time.DateTime), since(item.Used))
	line("methods", "%s woven, %s left alone", format.Grouped(woven), format.Grouped(left))
	if woven > 0 {
		_, _ = fmt.Fprintln(out)
		format.WriteTable(out, format.Columns(">ID", ">CALLS", "TEMPLATES", "METHOD"), wovenRows(e), c.outWidth())
	}
	writeLeft(out, e)
	if len(e.Calls) > 0 {
		_, _ = fmt.Fprintln(out, "\nhooks at calls name")
	}
	for _, s := range e.Calls {
		_, _ = fmt.Fprintf(out, "  %11s  %s\n", idText(s.ID), format.Printable(descriptor.ExternalName(s.Class)+"."+s.Name+s.Descriptor))
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
			sites = format.Grouped(m.Sites)
		}
		rows = append(rows, []string{id, sites, format.OrDash(format.Printable(strings.Join(m.Templates, ", "))), format.Printable(m.Name + m.Descriptor)})
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
			lines = append(lines, fmt.Sprintf("%s, its call of %s at %d: %s", m.Name+m.Descriptor, document.CallName(l.Call), l.Offset, l.Reason.Error()))
		}
	}
	if len(lines) > 0 {
		_, _ = fmt.Fprintln(out, "\nleft alone")
	}
	for _, line := range slices.Compact(lines) {
		_, _ = fmt.Fprintf(out, "  %s\n", format.Printable(line))
	}
}

func writeOffsets(out io.Writer, e *cache.Entry) error {
	_, _ = fmt.Fprintln(out, "\noffsets: in the original, and in the woven code")
	for i := range e.Methods {
		m := &e.Methods[i]
		shifts, err := m.Offsets.Map()
		if err != nil {
			return err
		}
		if len(shifts) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s\n", format.Printable(m.Name+m.Descriptor))
		for _, s := range shifts {
			last := max(int(s.Size)-1, 0)
			_, _ = fmt.Fprintf(out, "  %d..%d  %d..%d\n", s.Old, int(s.Old)+last, s.New, int(s.New)+last)
		}
	}
	return nil
}

var errNotWoven = errors.New("nothing of this class could be woven: sonde cache show says why")

func (c *cacheShowCommand) writeJSON(ctx context.Context, out io.Writer, item cache.Item) error {
	j, err := document.NewCacheShow(item)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	switch {
	case c.code:
		err = c.writeCode(&text, item.Entry)
		j.Code = text.String()
	case c.original != "":
		err = c.writeDiff(ctx, &text, item.Entry)
		j.Diff = text.String()
	}
	return errors.Join(err, document.Write(out, j))
}

func (c *cacheShowCommand) dumper() (*dumpCommand, error) {
	d := &dumpCommand{streams: c.streams, offsets: true}
	return d, d.parseMethod(c.method)
}

func (c *cacheShowCommand) writeCode(out io.Writer, e *cache.Entry) error {
	if e.Woven == nil {
		return errNotWoven
	}
	d, err := c.dumper()
	if err != nil {
		return err
	}
	class, err := classfile.Parse(e.Woven)
	if err != nil {
		return err
	}
	options, isAny := d.options(class)
	if !isAny {
		return fmt.Errorf("no method of %s matches %s", descriptor.ExternalName(e.Class), d.method)
	}
	return dump.Class(out, class, options)
}

func (c *cacheShowCommand) writeDiff(ctx context.Context, out io.Writer, e *cache.Entry) error {
	if e.Woven == nil {
		return errNotWoven
	}
	d, err := c.dumper()
	if err != nil {
		return err
	}
	original, err := findOriginal(ctx, c.original, e)
	if err != nil {
		return err
	}
	text := bufio.NewWriter(out)
	changed, err := d.diffOne(text, c.original, original, e.Woven, false)
	if err == nil && !changed {
		_, err = fmt.Fprintln(text, "no difference")
	}
	return errors.Join(err, text.Flush())
}

// findOriginal returns the class file that was woven. A jar may have several with one name,
// for several releases of Java.
func findOriginal(ctx context.Context, spec string, e *cache.Entry) ([]byte, error) {
	var original []byte
	others := 0
	err := walkSpec(ctx, spec, func(found archive.Entry, _ string, alone bool) error {
		switch {
		case original != nil || !alone && !isFileOf(found.Path, e.Class):
		case cache.OriginalOf(found.Data) == e.Original:
			original = bytes.Clone(found.Data)
		default:
			others++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case original != nil:
		return original, nil
	case others > 0:
		return nil, fmt.Errorf("%s has a different class file of %s than the one that was woven, whose SHA-256 is %x", spec, descriptor.ExternalName(e.Class), e.Original.Digest)
	}
	return nil, fmt.Errorf("%s has no class file of %s", spec, descriptor.ExternalName(e.Class))
}

// isFileOf reports whether a class may have a path, in any folder.
func isFileOf(where, class string) bool {
	if strings.HasSuffix("/"+where, "/"+class+".class") {
		return true
	}
	// A class outside of the folder of its package.
	return !strings.Contains(where, "/") && where == path.Base(class)+".class"
}

// tracedFrame finds a method with an offset into its code:
//
//	com/acme/Order.pay(I)V @57
//	com.acme.Order.pay(I)V+57
//	com.acme.Order.pay(int) @bci=57
var tracedFrame = regexp.MustCompile(`([^\s()]+)\.([^\s().]+)(\([^)]*\))(\S*?)(\s*@\s*bci=|\s*@\s*|\+)(\d+)\b`)

func (c *cacheShowCommand) writeTrace(out io.Writer, e *cache.Entry) error {
	in := io.Reader(os.Stdin)
	if c.trace != "-" {
		file, err := os.Open(c.trace)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // only read
		in = file
	}
	lines := bufio.NewReader(in)
	mapped := 0
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			text, isMapped, mapErr := traceLine(strings.TrimRight(line, "\r\n"), e)
			if mapErr != nil {
				return mapErr
			}
			if isMapped {
				mapped++
			}
			_, _ = fmt.Fprintln(out, text)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.trace, err)
		}
	}
	if mapped == 0 {
		_, _ = fmt.Fprintf(c.err, "note: no frame of a woven method of %s, with an offset, is in %s\n", descriptor.ExternalName(e.Class), c.trace)
	}
	return nil
}

// traceLine gives a line with the offset that the original has.
func traceLine(line string, e *cache.Entry) (_ string, isMapped bool, err error) {
	at := tracedFrame.FindStringSubmatchIndex(line)
	if at == nil {
		return line, false, nil
	}
	part := func(n int) string { return line[at[2*n]:at[2*n+1]] }
	if descriptor.InternalName(part(1)) != e.Class {
		return line, false, nil
	}
	m := tracedMethod(e, part(2), part(3), part(4))
	if m == nil || !m.Woven {
		return line, false, nil
	}
	woven, tooLarge := strconv.ParseUint(part(6), 10, 16)
	if tooLarge != nil {
		return line, false, nil //nolint:nilerr // it is no offset of code, but some other number
	}
	now := int(woven)
	shifts, err := m.Offsets.Map()
	if err != nil {
		return line, false, err
	}
	old, isOriginal := shifts.Old(now)
	remark := fmt.Sprintf("[woven: %d]", now)
	if !isOriginal {
		remark = fmt.Sprintf("[woven: %d, inserted after this]", now)
		if len(shifts) == 0 || now < int(shifts[0].New) {
			remark = fmt.Sprintf("[woven: %d, inserted before this]", now)
		}
	}
	return line[:at[12]] + strconv.Itoa(old) + line[at[13]:] + "  " + remark, true, nil
}

// tracedMethod finds the method of a frame, which has its descriptor or the types of
// its parameters.
func tracedMethod(e *cache.Entry, name, parameters, result string) *cache.Method {
	if m := e.Method(name, parameters+result); m != nil {
		return m
	}
	wanted := strings.ReplaceAll(strings.Trim(parameters, "()"), " ", "")
	for i := range e.Methods {
		m := &e.Methods[i]
		parsed, err := descriptor.ParseMethod(m.Descriptor)
		if m.Name != name || err != nil {
			continue
		}
		var types []string
		for _, t := range parsed.Params() {
			types = append(types, t.Human())
		}
		if strings.Join(types, ",") == wanted {
			return m
		}
	}
	return nil
}
