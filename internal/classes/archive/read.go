package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

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

// Find reads one class of a jar or run-time image. entry is a path, with "!/"
// after each jar on the way, or a class name such as com.acme.Order. The error
// answers to [fs.ErrNotExist] where there is no such class.
func Find(name, entry string) (Entry, error) {
	kind, err := Detect(name)
	if err != nil {
		return Entry{}, err
	}
	switch kind {
	case Jar:
		return findInJar(name, entry)
	case Image:
		return findInImage(name, entry)
	default:
		return Entry{}, &KindError{name, "has no entries: only jars and JDK run-time images are written with !"}
	}
}

func findInJar(name, entry string) (Entry, error) {
	r, err := zip.OpenReader(name)
	if err != nil {
		return Entry{}, fmt.Errorf("%s: %w: %w", name, errNotJar, err)
	}
	defer func() { _ = r.Close() }() // only read
	info, err := os.Stat(name)
	if err != nil {
		return Entry{}, err
	}
	u := newUnpacker(info.Size())
	jar, where, rest := &r.Reader, name, entry
	for depth := 0; ; depth++ {
		outer, inner, nested := strings.Cut(rest, "!")
		if !nested {
			break
		}
		rest = strings.TrimPrefix(inner, "/")
		f := lookup(jar, outer)
		where += "!/" + outer
		if f == nil {
			return Entry{}, fmt.Errorf("%s: %w", where, fs.ErrNotExist)
		}
		if jar, err = u.openNested(f, where, depth); err != nil {
			return Entry{}, err
		}
	}
	f := lookup(jar, rest)
	if f == nil {
		f = lookup(jar, classPath(rest))
	}
	if f == nil {
		return Entry{}, fmt.Errorf("%s has no entry %s: %w", where, rest, fs.ErrNotExist)
	}
	data, err := u.read(f, where+"!/"+f.Name, maxClassFile)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Path: strings.TrimSuffix(entry, rest) + f.Name, Data: data}, nil
}

func lookup(r *zip.Reader, name string) *zip.File {
	for _, f := range r.File {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// findInImage also takes a class without its module.
func findInImage(name, entry string) (found Entry, err error) {
	im, err := jimage.Open(name)
	if err != nil {
		return Entry{}, err
	}
	defer func() {
		if closeErr := im.Close(); err == nil {
			err = closeErr
		}
	}()
	if data, err := im.Read(entry); err == nil {
		return Entry{Path: entry, Data: append([]byte(nil), data...)}, nil
	}
	class := strings.TrimSuffix(classPath(entry), ".class")
	if data := im.Class(class); data != nil {
		return Entry{Path: im.Module(class) + "/" + class + ".class", Data: append([]byte(nil), data...)}, nil
	}
	return Entry{}, fmt.Errorf("%s has no entry %s: %w", name, entry, fs.ErrNotExist)
}

// Limits that no real input reaches. Only unpacked entries count: entries copied as they
// are cost nothing.
const (
	maxClassFile = 256 << 20
	maxNestedJar = 1 << 30
	maxManifest  = 64 << 20
	maxDepth     = 8         // jars within jars
	maxRatio     = 100       // unpacked to packed, over a whole input; classes reach 3
	leastBudget  = 512 << 20 // small inputs may exceed the ratio up to here
)

// unpacker reads entries and limits how much an input unpacks to.
// It is safe for use by several goroutines.
type unpacker struct {
	left atomic.Int64
}

func newUnpacker(inputSize int64) *unpacker {
	u := &unpacker{}
	u.left.Store(max(inputSize*maxRatio, leastBudget))
	return u
}

// read returns the content of an entry of at most limit bytes.
func (u *unpacker) read(f *zip.File, where string, limit int64) ([]byte, error) {
	if f.Flags&1 != 0 {
		return nil, &KindError{where, "is encrypted: unpack it with its password first"}
	}
	if f.UncompressedSize64 > uint64(limit) {
		return nil, &LimitError{where, fmt.Sprintf("unpacks to %d bytes, more than the %d allowed for its kind", f.UncompressedSize64, limit)}
	}
	if u.left.Add(-int64(f.UncompressedSize64)) < 0 {
		return nil, &LimitError{where, fmt.Sprintf("the archive unpacks to more than %d times its size: taken for a zip bomb", maxRatio)}
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	defer func() { _ = r.Close() }() // only read
	// The size in the header is not trusted: it limits the bytes read, and the first
	// allocation only as far as it is small.
	var buf bytes.Buffer
	buf.Grow(int(min(f.UncompressedSize64+bytes.MinRead, 1<<20)))
	if _, err := buf.ReadFrom(io.LimitReader(r, int64(f.UncompressedSize64)+1)); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if uint64(buf.Len()) != f.UncompressedSize64 {
		return nil, fmt.Errorf("%s: %w", where, zip.ErrFormat)
	}
	return buf.Bytes(), nil
}

// errNotJar reports an entry that is named like a jar but is none. The program may use it
// for anything, so this is no defect of the input.
var errNotJar = errors.New("cannot be read as a jar")

// openNested reads an entry as a jar of its own.
func (u *unpacker) openNested(f *zip.File, where string, depth int) (*zip.Reader, error) {
	data, err := u.read(f, where, maxNestedJar)
	if err != nil {
		return nil, err
	}
	return parseNested(data, where, depth)
}

func parseNested(data []byte, where string, depth int) (*zip.Reader, error) {
	if depth >= maxDepth {
		return nil, &LimitError{where, fmt.Sprintf("jars nested more than %d deep: taken for a zip bomb", maxDepth)}
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", where, errNotJar, err)
	}
	return r, nil
}
