package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// member is an entry of a jar under test.
type member struct {
	name   string
	data   string
	method uint16
}

var longAgo = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// jar builds a jar whose entries all have a time, a comment and attributes
// worth keeping.
func jar(t testing.TB, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, m := range members {
		head := &zip.FileHeader{Name: m.name, Method: m.method, Modified: longAgo, Comment: "about " + m.name, ExternalAttrs: 0o640 << 16}
		if m.method == zip.Store {
			head.CRC32 = crc32.ChecksumIEEE([]byte(m.data))
			head.CompressedSize64, head.UncompressedSize64 = uint64(len(m.data)), uint64(len(m.data))
			raw, err := w.CreateRaw(head)
			write(t, raw, m.data, err)
			continue
		}
		packed, err := w.CreateHeader(head)
		write(t, packed, m.data, err)
	}
	if err := w.SetComment("the jar"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func write(t testing.TB, w io.Writer, data string, err error) {
	t.Helper()
	if err == nil && data != "" {
		_, err = io.WriteString(w, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// classes are only told by their names here, so any text serves as one.
func class(name, text string) member { return member{name, text, zip.Deflate} }

func stored(name string, data []byte) member { return member{name, string(data), zip.Store} }

// change is a transform that marks classes whose text says so and fails on
// those that ask for it.
func change(e Entry) ([]byte, error) {
	switch {
	case bytes.Contains(e.Data, []byte("weave")):
		return append([]byte("WOVEN "), e.Data...), nil
	case bytes.Contains(e.Data, []byte("fail")):
		return nil, os.ErrInvalid
	}
	return nil, nil
}

func options() Options {
	return Options{NewTransform: func() Transform { return change }, Jobs: 3}
}

// rewriteJar runs Rewrite over a jar and opens the result.
func rewriteJar(t *testing.T, data []byte, o Options) (*Report, []byte) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.jar"), filepath.Join(dir, "out.jar")
	writeBytes(t, in, data)
	report, err := Rewrite(context.Background(), in, out, o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	noLeftovers(t, dir, 2)
	return report, result
}

func writeBytes(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// noLeftovers checks that a directory holds as many files as it should.
func noLeftovers(t *testing.T, dir string, want int) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != want {
		t.Errorf("%d files in the directory of the output, want %d: %v", len(names), want, names)
	}
}

func openJar(t *testing.T, data []byte) *zip.Reader {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func content(t *testing.T, f *zip.File) string {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return string(data)
}

func names(r *zip.Reader) string {
	var all []string
	for _, f := range r.File {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}
