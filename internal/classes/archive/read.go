package archive

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// Walk calls fn for each class of the input at name, in its order, nested jars
// included, until fn returns an error, which Walk returns. Entry.Data is valid
// during the call only.
func Walk(ctx context.Context, name string, fn func(Entry) error) error {
	kind, err := Detect(name)
	if err != nil {
		return err
	}
	w := &walker{ctx: ctx, fn: fn}
	switch kind {
	case ClassFile:
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return w.visit(name, data)
	case Tree:
		return w.tree(name)
	case Image:
		return w.image(name)
	default:
		return w.jarFile(name, "")
	}
}

type walker struct {
	ctx context.Context
	fn  func(Entry) error
	seq int
}

func (w *walker) visit(path string, data []byte) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	e := Entry{Path: path, Data: data, Seq: w.seq}
	w.seq++
	return w.fn(e)
}

func (w *walker) tree(root string) error {
	// A root that is a symbolic link is followed; WalkDir would not.
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if isNestedName(rel) {
			if err := w.jarFile(name, rel+"!/"); !errors.Is(err, errNotJar) {
				return err
			}
			return nil // only named like a jar
		}
		if !isClassName(rel) {
			return nil
		}
		data, err := readBounded(name)
		if err != nil {
			return err
		}
		return w.visit(rel, data)
	})
}

// readBounded reads a class file that lies in a directory.
func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxClassFile {
		return nil, &LimitError{name, fmt.Sprintf("has %d bytes, more than any class file", info.Size())}
	}
	return os.ReadFile(name)
}

func (w *walker) image(name string) error {
	im, err := jimage.Open(name)
	if err != nil {
		return err
	}
	err = im.Each(func(module, path string, data []byte) error {
		if !isClassName(path) {
			return nil
		}
		return w.visit(module+"/"+path, data)
	})
	if closeErr := im.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (w *walker) jarFile(name, prefix string) error {
	r, err := zip.OpenReader(name)
	if errors.Is(err, zip.ErrFormat) {
		return fmt.Errorf("%s: %w: %w", name, errNotJar, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return w.jar(&r.Reader, newUnpacker(info.Size()), name, prefix, 0)
}

func (w *walker) jar(r *zip.Reader, u *unpacker, jar, prefix string, depth int) error {
	for _, f := range r.File {
		if err := checkName(jar, f.Name); err != nil {
			return err
		}
		where := jar + "!/" + f.Name
		switch {
		case isClassName(f.Name):
			data, err := u.read(f, where, maxClassFile)
			if err != nil {
				return err
			}
			if err := w.visit(prefix+f.Name, data); err != nil {
				return err
			}
		case isNestedName(f.Name):
			nested, err := u.openNested(f, where, depth)
			if errors.Is(err, errNotJar) {
				continue
			}
			if err != nil {
				return err
			}
			if err := w.jar(nested, u, where, prefix+f.Name+"!/", depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// classPath turns what a user may call a class, a.b.C, into its path in a jar.
func classPath(entry string) string {
	if isClassName(entry) {
		return entry
	}
	return strings.ReplaceAll(entry, ".", "/") + ".class"
}
