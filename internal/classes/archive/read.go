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
	"slices"
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
	return newReader(ctx, fn).read(kind, name)
}

// newReader returns a rewriter that writes nothing and calls fn in the order of the input.
func newReader(ctx context.Context, fn func(Entry) error) *rewriter {
	transform := func(e Entry) ([]byte, error) { return nil, fn(e) }
	return &rewriter{ctx: ctx, pool: &pool{only: &worker{transform: transform}}}
}

func (w *rewriter) read(kind Kind, name string) error {
	switch kind {
	case ClassFile:
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return w.pool.only.transformed(Entry{Path: name, Data: data}).err
	case Tree:
		files, err := list(name, true)
		if err != nil {
			return err
		}
		return w.files(name, "", files)
	case Image:
		return w.image(name)
	default:
		return w.jarFile(name, "", "")
	}
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

func (w *rewriter) image(name string) error {
	im, err := jimage.Open(name)
	if err != nil {
		return err
	}
	err = im.Each(func(module, path string, data []byte) error {
		if err := w.ctx.Err(); err != nil || !isClassName(path) {
			return err
		}
		return w.pool.only.transformed(Entry{Path: module + "/" + path, Data: data, Seq: w.nextSeq()}).err
	})
	return errors.Join(err, im.Close())
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
func Find(name, entry string) (found Entry, err error) {
	kind, err := Detect(name)
	if err != nil {
		return Entry{}, err
	}
	switch kind {
	case Jar:
		jars, class := "", entry
		if at := strings.LastIndexByte(entry, '!'); at >= 0 {
			jars = strings.ReplaceAll(strings.ReplaceAll(entry[:at+1], "!/", "!"), "!", "!/")
			class = strings.TrimPrefix(entry[at+1:], "/")
		}
		w := newReader(context.Background(), func(e Entry) error {
			found = e
			return errFound
		})
		w.wanted = func(path string) bool {
			return path == jars+class || path == jars+classPath(class) || strings.HasSuffix(path, "!/") && strings.HasPrefix(jars, path)
		}
		err = w.jarFile(name, "", "")
	case Image:
		found, err = findInImage(name, entry)
	default:
		return Entry{}, fmt.Errorf("%s: has no entries: ! is only for jars and JDK run-time images", name)
	}
	if err == nil {
		err = fmt.Errorf("%s has no entry %s: %w", name, entry, fs.ErrNotExist)
	}
	if !errors.Is(err, errFound) {
		return Entry{}, err
	}
	return found, nil
}

// errFound ends the search for a class.
var errFound = errors.New("the class was found")

// findInImage also takes a class without its module. Where it finds the class the error is
// errFound.
func findInImage(name, entry string) (Entry, error) {
	im, err := jimage.Open(name)
	if err != nil {
		return Entry{}, err
	}
	defer func() { _ = im.Close() }() // only read
	class := strings.TrimSuffix(classPath(entry), ".class")
	path := im.Module(class) + "/" + class + ".class"
	data, err := im.Read(entry)
	if err == nil {
		path = entry
	} else if data = im.Class(class); data == nil {
		return Entry{}, nil
	}
	return Entry{Path: path, Data: slices.Clone(data)}, errFound
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
		return nil, fmt.Errorf("%s: is encrypted: unpack it with its password first", where)
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
