package classfile_test

import (
	"archive/zip"
	"bytes"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// oneIn is how many classes of the JDKs stand behind one that is looked at by
// default; modules are few and all looked at.
const oneIn = 40

// TestCorpusAttributes demands that each attribute of each class decodes, to a type
// of its own where the specification knows it, and comes back byte for byte.
// SONDE_CORPUS=full takes all classes and the jars of Debian packages as well.
func TestCorpusAttributes(t *testing.T) {
	full := os.Getenv("SONDE_CORPUS") == "full"
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		t.Skip("no JDK is installed: the attributes of real classes were not looked at")
	}
	law := &attributeLaw{TB: t, seen: map[classfile.Kind]int{}}
	for _, jdk := range jdks {
		image, err := jimage.Open(jdk.Image())
		if err != nil {
			t.Fatalf("JDK %s: %v", jdk.Version, err)
		}
		err = image.Each(func(module, path string, data []byte) error {
			if !strings.HasSuffix(path, ".class") {
				return nil
			}
			if full || strings.HasSuffix(path, "module-info.class") || chosen(module+"/"+path) {
				law.class(module+"/"+path, data)
			}
			return nil
		})
		if err != nil {
			t.Errorf("JDK %s: %v", jdk.Version, err)
		}
		if err := image.Close(); err != nil {
			t.Errorf("JDK %s: %v", jdk.Version, err)
		}
	}
	if full {
		law.jars("/usr/share/java/*.jar")
	}
	t.Logf("%d classes, %v", law.classes, law.seen)
	if law.classes < 1000 {
		t.Errorf("only %d classes were looked at", law.classes)
	}
}

func chosen(name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum32()%oneIn == 0
}

// attributeLaw checks that decoding and appending are inverse.
type attributeLaw struct {
	testing.TB
	classes int
	seen    map[classfile.Kind]int
}

func (l *attributeLaw) class(name string, data []byte) {
	c, err := classfile.Parse(data)
	if err != nil {
		l.Errorf("%s: %v", name, err)
		return
	}
	l.classes++
	l.attributes(name, c, c.Attributes)
	for _, members := range [][]classfile.Member{c.Fields, c.Methods} {
		for i := range members {
			l.attributes(name, c, members[i].Attributes)
		}
	}
}

func (l *attributeLaw) attributes(name string, c *classfile.Class, list []classfile.Attribute) {
	for _, a := range list {
		kind := c.Kind(a.Name)
		l.seen[kind]++
		contents, err := c.Decode(a)
		if err != nil {
			l.Errorf("%s: %v", name, err)
			continue
		}
		back, err := contents.AppendTo(nil)
		if err != nil || !bytes.Equal(back, a.Data) {
			l.Errorf("%s: %s: %x came back as %x, %v", name, kind, a.Data, back, err)
		}
		switch contents := contents.(type) {
		case classfile.Opaque:
			if kind != classfile.KindUnknown {
				l.Errorf("%s: %s is not decoded", name, kind)
			}
		case *classfile.Code:
			l.attributes(name, c, contents.Attributes)
		case classfile.Record:
			for i := range contents {
				l.attributes(name, c, contents[i].Attributes)
			}
		}
	}
}

func (l *attributeLaw) jars(pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		l.Fatal(err)
	}
	for _, file := range files {
		jar, err := zip.OpenReader(file)
		if err != nil {
			l.Logf("%s is left out: %v", file, err)
			continue
		}
		for _, entry := range jar.File {
			if !strings.HasSuffix(entry.Name, ".class") {
				continue
			}
			in, err := entry.Open()
			if err != nil {
				l.Errorf("%s!%s: %v", file, entry.Name, err)
				continue
			}
			data, err := io.ReadAll(in)
			_ = in.Close() // read to its end, its checksum tested
			if err != nil {
				l.Errorf("%s!%s: %v", file, entry.Name, err)
				continue
			}
			l.class(file+"!"+entry.Name, data)
		}
		_ = jar.Close() // only read
	}
}
