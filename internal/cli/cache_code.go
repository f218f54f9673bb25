package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// errNotWoven says that there is no code to show.
var errNotWoven = errors.New("nothing of this class could be woven: sonde cache show says why")

func (c *cacheShow) writeJSON(ctx context.Context, out io.Writer, item cache.Item) error {
	j, err := describeCacheShow(item)
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
	return errors.Join(err, writeJSON(out, j))
}

// dumper is one that shows the methods that were asked for.
func (c *cacheShow) dumper() (*dumper, error) {
	d := &dumper{streams: c.streams, offsets: true}
	return d, d.parseMethod(c.method)
}

func (c *cacheShow) writeCode(out io.Writer, e *cache.Entry) error {
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

func (c *cacheShow) writeDiff(ctx context.Context, out io.Writer, e *cache.Entry) error {
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

// findOriginal finds the very class file that was woven. A jar may have several of one
// name, for several releases of Java.
func findOriginal(ctx context.Context, spec string, e *cache.Entry) ([]byte, error) {
	var original []byte
	others := 0
	take := func(data []byte) {
		if cache.OriginalOf(data) == e.Original {
			original = bytes.Clone(data)
		} else {
			others++
		}
	}
	file, entry := archive.Split(spec)
	if entry != "" {
		found, err := archive.Find(file, entry)
		if err != nil {
			return nil, err
		}
		take(found.Data)
	} else {
		kind, err := archive.Detect(file)
		if err != nil {
			return nil, err
		}
		err = archive.Walk(ctx, file, func(found archive.Entry) error {
			if original == nil && (kind == archive.ClassFile || isFileOf(found.Path, e.Class)) {
				take(found.Data)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case original != nil:
		return original, nil
	case others > 0:
		return nil, fmt.Errorf("%s has another class file of %s than the one that was woven: its SHA-256 must be %x", spec, descriptor.ExternalName(e.Class), e.Original.Digest)
	}
	return nil, fmt.Errorf("%s has no class file of %s", spec, descriptor.ExternalName(e.Class))
}

// isFileOf reports whether a class may lie at a path, in whatever folder.
func isFileOf(where, class string) bool {
	if strings.HasSuffix("/"+where, "/"+class+".class") {
		return true
	}
	// Classes that were taken out of their packages.
	return !strings.Contains(where, "/") && where == path.Base(class)+".class"
}
