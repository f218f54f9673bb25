package jimage

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// file is a resource of an image under test.
type file struct {
	module, parent, base, extension string
	data                            string
	zip                             bool
}

// build writes an image the way jlink does, save for the hash table, which is not read.
func build(t testing.TB, order binary.AppendByteOrder, files []file) []byte {
	t.Helper()
	table := []byte{0} // offset 0 is the empty string
	text := func(s string) uint32 {
		if s == "" {
			return 0
		}
		at := uint32(len(table))
		table = append(append(table, s...), 0)
		return at
	}
	method := text("zip")
	var records, content []byte
	starts := make([]uint32, len(files))
	for i, f := range files {
		body := []byte(f.data)
		packed := 0
		if f.zip {
			body = pack(t, order, f.data, method)
			packed = len(body)
		}
		starts[i] = uint32(len(records))
		for kind, value := range []uint32{0, text(f.module), text(f.parent), text(f.base), text(f.extension), uint32(len(content)), uint32(packed), uint32(len(f.data))} {
			if value != 0 {
				records = binary.BigEndian.AppendUint32(append(records, byte(kind<<3|3)), value)
			}
		}
		records = append(records, 0)
		content = append(content, body...)
	}
	b := order.AppendUint32(nil, magic)
	for _, v := range []uint32{version, 0, uint32(len(files)), uint32(len(files)), uint32(len(records)), uint32(len(table))} {
		b = order.AppendUint32(b, v)
	}
	b = append(b, make([]byte, 4*len(files))...)
	for _, start := range starts {
		b = order.AppendUint32(b, start)
	}
	return append(append(append(b, records...), table...), content...)
}

func pack(t testing.TB, order binary.AppendByteOrder, data string, method uint32) []byte {
	t.Helper()
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := order.AppendUint32(nil, resourceMagic)
	b = order.AppendUint64(b, uint64(z.Len()))
	b = order.AppendUint64(b, uint64(len(data)))
	b = order.AppendUint32(b, method)
	b = order.AppendUint32(b, 0)
	return append(append(b, 1), z.Bytes()...)
}

var sample = []file{
	{"java.base", "java/lang", "String", "class", "string", false},
	{"java.base", "java/lang", "Object", "class", strings.Repeat("object", 50), true},
	{"java.base", "", "module-info", "class", "module", false},
	{"java.xml", "META-INF", "LICENSE", "", "licence", false},
	{"packages", "", "java.lang", "", "12345678", false},
}

func TestReadAndEach(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		path := filepath.Join(t.TempDir(), "modules")
		if err := os.WriteFile(path, build(t, order, sample), 0o600); err != nil {
			t.Fatal(err)
		}
		im, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		err = im.Each(func(module, path string, data []byte) error {
			names = append(names, module+"/"+path)
			again, err := im.Read("/" + module + "/" + path)
			if err != nil || !bytes.Equal(again, data) {
				t.Errorf("Read(%s/%s) = %q, %v; Each had %q", module, path, again, err, data)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := "java.base/java/lang/Object.class java.base/java/lang/String.class java.base/module-info.class java.xml/META-INF/LICENSE"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("entries %s, want %s", got, want)
		}
		if data, err := im.Read("java.base/java/lang/Object.class"); err != nil || string(data) != sample[1].data {
			t.Errorf("compressed entry: %q, %v", data, err)
		}
		if _, err := im.Read("java.base/java/lang/Missing.class"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing entry: error %v", err)
		}
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDefects(t *testing.T) {
	whole := build(t, binary.LittleEndian, sample)
	change := func(pos int, value uint32) []byte {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[pos:], value)
		return b
	}
	for name, data := range map[string][]byte{
		"no magic":         change(0, 7),
		"version":          change(4, 2<<16),
		"huge table":       change(16, 0xFFFFFFFF),
		"huge strings":     change(24, 0xFFFFFFFF),
		"offset outside":   change(headerSize+4*len(sample), 0xFFFFFFF0),
		"content cut":      whole[:len(whole)-40],
		"header cut":       whole[:20],
		"zip content lies": bytes.Replace(whole, []byte("\x78\x9c"), []byte("\xff\xff"), 1),
	} {
		im, err := parse("modules", bytes.NewReader(data), int64(len(data)))
		if err == nil {
			err = im.Each(func(_, _ string, _ []byte) error { return nil })
		}
		var format *FormatError
		if !errors.As(err, &format) {
			t.Errorf("%s: error %v, want a FormatError", name, err)
		}
	}
}

// sparse is the beginning of a file that has nothing but zeros after it.
type sparse []byte

func (s sparse) ReadAt(data []byte, at int64) (int, error) {
	clear(data)
	if at < int64(len(s)) {
		copy(data, s[at:])
	}
	return len(data), nil
}

// TestIndexesThatLie: what is declared is not allocated.
func TestIndexesThatLie(t *testing.T) {
	header := func(length, attributes, strings uint32) []byte {
		b := binary.LittleEndian.AppendUint32(nil, magic)
		for _, v := range []uint32{version, 0, length, length, attributes, strings} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	const names = 65000
	bomb := append(header(1<<13, 30, names+1), make([]byte, 8<<13)...)
	record := []byte{attrModule<<3 | 3, 0, 0, 0, 0, attrParent<<3 | 3, 0, 0, 0, 0, attrBase<<3 | 3, 0, 0, 0, 0, 0}
	bomb = append(append(bomb, record...), make([]byte, 30-len(record))...)
	bomb = append(append(bomb, bytes.Repeat([]byte("a"), names)...), 0)
	for name, tt := range map[string]struct {
		begin []byte
		size  int64
	}{
		"many resources": {header(0xF0000000, 0, 0), 32 << 30},
		"large strings":  {header(1, 1, 0xF0000000), 32 << 30},
		"names repeated": {bomb, int64(len(bomb))},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parse("modules", sparse(tt.begin), tt.size)
		runtime.ReadMemStats(&after)
		var format *FormatError
		if took := after.TotalAlloc - before.TotalAlloc; !errors.As(err, &format) || took > 3*maxNames {
			t.Errorf("%s: %v, %d bytes allocated; want a FormatError, and little", name, err, took)
		}
	}
	im := &Image{from: sparse(nil), size: 1 << 40, order: binary.LittleEndian}
	if data, err := im.read(&resource{size: maxResource + 1}); err == nil {
		t.Errorf("a resource of %d bytes was read", len(data))
	}
}

// TestImageCutShort: a file that its owner cuts off while it is open causes an error.
func TestImageCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "modules")
	if err := os.WriteFile(path, build(t, binary.LittleEndian, sample), 0o600); err != nil {
		t.Fatal(err)
	}
	im, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = im.Close() }()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	var format *FormatError
	if data, err := im.Read("java.base/java/lang/String.class"); !errors.As(err, &format) {
		t.Errorf("%q, %v; want a FormatError", data, err)
	}
}

// FuzzImage holds that a damaged image gives content or a typed error.
func FuzzImage(f *testing.F) {
	f.Add(build(f, binary.LittleEndian, sample), "java.base/java/lang/String.class")
	f.Add(build(f, binary.BigEndian, sample[:1]), "java.base/x")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		im, err := parse("modules", bytes.NewReader(data), int64(len(data)))
		if err == nil {
			err = im.Each(func(_, _ string, _ []byte) error { return nil })
			if _, readErr := im.Read(name); err == nil && readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
				err = readErr
			}
		}
		var format *FormatError
		if err != nil && !errors.As(err, &format) {
			t.Errorf("error %v is not a FormatError", err)
		}
	})
}

// TestInstalledJDKs reads the image of each JDK: every class must be one, and
// looking its name up must lead back to it.
func TestInstalledJDKs(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { readWhole(t, jdk.Image()) })
	}
}

func readWhole(t *testing.T, image string) {
	im, err := Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	}()
	classes := 0
	err = im.Each(func(module, name string, data []byte) error {
		again, err := im.Read(module + "/" + name)
		if err != nil || len(again) != len(data) {
			t.Errorf("%s/%s: %d bytes, then %d, %v", module, name, len(data), len(again), err)
		}
		if path.Ext(name) == ".class" {
			classes++
			if len(data) < 4 || string(data[:4]) != "\xca\xfe\xba\xbe" {
				t.Errorf("%s/%s is no class file", module, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if classes < 1000 {
		t.Errorf("only %d classes", classes)
	}
	t.Logf("%d classes", classes)
}
