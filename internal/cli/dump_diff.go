package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
)

// side is one of the two inputs of a diff.
type side struct {
	several bool
	order   []string
	classes map[string][]byte // by path
}

func (d *dumper) diff(ctx context.Context, before, after string) error {
	a, err := d.load(ctx, before)
	if err != nil {
		return err
	}
	b, err := d.load(ctx, after)
	if err != nil {
		return err
	}
	if a.several != b.several {
		return errTwoKinds
	}
	if !a.several { // two single classes are compared whatever they are called
		b.classes = map[string][]byte{a.order[0]: b.classes[b.order[0]]}
		b.order = a.order
	}
	out := bufio.NewWriter(d.out)
	changed, err := d.diffSides(ctx, out, a, b)
	if err == nil && changed == 0 && !d.json {
		_, err = fmt.Fprintln(out, "no difference")
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	return err
}

func (d *dumper) load(ctx context.Context, spec string) (*side, error) {
	s := &side{classes: map[string][]byte{}}
	single, err := d.each(ctx, spec, func(e archive.Entry, _ *classfile.Class, several bool) (defect, err error) {
		s.several = several
		s.order = append(s.order, e.Path)
		s.classes[e.Path] = bytes.Clone(e.Data)
		return nil, nil
	})
	if err == nil {
		err = single
	}
	if err == nil && d.broken > 0 {
		err = fmt.Errorf("%s: %s could not be read (named above)", spec, count(d.broken, "class", "classes"))
	}
	if err == nil && len(s.order) == 0 {
		err = fmt.Errorf("%s: holds no class", spec)
	}
	return s, err
}

func (d *dumper) diffSides(ctx context.Context, out *bufio.Writer, a, b *side) (changed int, err error) {
	for _, path := range a.order {
		if err := ctx.Err(); err != nil {
			return changed, err
		}
		old, now := a.classes[path], b.classes[path]
		if bytes.Equal(old, now) {
			continue
		}
		differs, err := d.diffOne(out, path, old, now, a.several)
		if err != nil {
			return changed, err
		}
		if differs {
			changed++
		}
	}
	for _, path := range b.order {
		if a.classes[path] != nil {
			continue
		}
		if _, err := d.diffOne(out, path, nil, b.classes[path], b.several); err != nil {
			return changed, err
		}
		changed++
	}
	return changed, nil
}

// diffOne compares two forms of a class, one of which may be missing.
func (d *dumper) diffOne(out *bufio.Writer, path string, old, now []byte, several bool) (bool, error) {
	if old == nil || now == nil {
		return true, d.onlyOne(out, path, old, now)
	}
	a, err := classfile.Parse(old)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	b, err := classfile.Parse(now)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	opts := dump.Options{NoHeader: d.method != nil}
	if d.method != nil {
		if !d.method.MatchClass(a.Name()) {
			return false, nil
		}
		opts.Method = d.method.MatchMethod
	}
	var text strings.Builder
	changed, err := dump.Diff(&text, a, b, opts)
	if err != nil || !changed {
		return false, err
	}
	if d.json {
		return true, writeJSON(out, diffJSON{Path: path, Class: a.Name(), Diff: text.String()})
	}
	if several {
		_, _ = fmt.Fprintf(out, "# %s\n", path) // errors stay with the writer
	}
	_, err = out.WriteString(text.String())
	return true, err
}

func (d *dumper) onlyOne(out *bufio.Writer, path string, old, now []byte) error {
	which, data := "before", old
	if old == nil {
		which, data = "after", now
	}
	c, err := classfile.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if d.json {
		return writeJSON(out, diffJSON{Path: path, Class: c.Name(), Only: which})
	}
	_, err = fmt.Fprintf(out, "# %s: only %s\n", path, which)
	return err
}
