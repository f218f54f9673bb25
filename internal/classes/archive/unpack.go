package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// Bounds no honest input reaches. Only what is unpacked counts: entries copied
// as they are cost nothing.
const (
	maxClassFile = 256 << 20
	maxNestedJar = 1 << 30
	maxManifest  = 64 << 20
	maxDepth     = 8         // jars within jars
	maxRatio     = 100       // unpacked to packed, over a whole input; classes reach 3
	leastBudget  = 512 << 20 // small inputs may exceed the ratio up to here
)

// unpacker reads entries and keeps account of what an input unpacked to.
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
	// The size in the header is a promise: it bounds what is read, and is
	// believed for the first allocation only as far as it is small.
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

// errNotJar says that an entry named like a jar is none. What it is then is for
// the program that holds it to know; nothing is wrong with the input.
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
