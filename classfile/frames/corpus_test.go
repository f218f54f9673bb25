package frames_test

import (
	"bytes"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// oneIn is the sampling rate: of oneIn classes of a JDK, one is tested.
const oneIn = 150

// eachClass visits the classes of the zoo and a sample of the installed JDKs'.
func eachClass(t *testing.T, visit func(t *testing.T, name string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir("../testdata/zoo", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".class") {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			visit(t, path, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, jdk := range jvmtest.Installed() {
		image, err := jimage.Open(jdk.Image())
		if err != nil {
			t.Fatal(err)
		}
		err = image.Each(func(module, path string, data []byte) error {
			h := fnv.New32a()
			_, _ = h.Write([]byte(path)) // never fails
			if strings.HasSuffix(path, ".class") && h.Sum32()%oneIn == 0 {
				visit(t, jdk.Version+"/"+module+"/"+path, bytes.Clone(data))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := image.Close(); err != nil {
			t.Error(err)
		}
	}
}

// eachBody visits every body of a class.
func eachBody(t *testing.T, name string, data []byte, visit func(where string, m *classfile.Member, b *code.Body)) *classfile.Class {
	t.Helper()
	class, err := classfile.Parse(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i := range class.Methods {
		m := &class.Methods[i]
		body, err := code.Lift(class, m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body == nil {
			continue
		}
		method, descriptor, _ := class.MemberName(m)
		visit(name+" "+string(method)+string(descriptor), m, body)
	}
	return class
}

// TestExpand expands all frames and lowers them: the reference parser, adding
// up the frames of both classes by itself, finds the same.
func TestExpand(t *testing.T) {
	count := 0
	eachClass(t, func(t *testing.T, name string, data []byte) {
		class := eachBody(t, name, data, func(where string, m *classfile.Member, b *code.Body) {
			initial, err := frames.Initial(nil, b.Class, m)
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			if !b.HasFrames() {
				return
			}
			if err := frames.Expand(b, initial); err != nil {
				t.Errorf("%s: %v", where, err)
				return
			}
			for _, f := range b.Frames() {
				if f.Form != code.Absolute {
					t.Errorf("%s: a frame is still of form %d", where, f.Form)
				}
			}
			count += len(b.Frames())
			out, err := b.Append(nil)
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			b.Class.Find(m.Attributes, classfile.KindCode).Data = out
		})
		written, err := class.Append(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before, after := fullFrames(t, name, data), fullFrames(t, name, written)
		if before != after {
			t.Errorf("%s: the expanded frames differ\n%s", name, firstDifference(before, after))
		}
	})
	t.Logf("%d frames", count)
	if count < 500 {
		t.Errorf("only %d frames were looked at", count)
	}
}

func firstDifference(a, b string) string {
	before, after := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range before {
		if i >= len(after) || before[i] != after[i] {
			return "- " + before[i] + "\n+ " + strings.Join(after[min(i, len(after)):min(i+1, len(after))], "")
		}
	}
	return "the second has more"
}

// fullFrames describes a class by the reference parser and adds its frames up, each
// to "position locals stack".
func fullFrames(t *testing.T, name string, data []byte) string {
	t.Helper()
	text, err := classtest.Describe(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out strings.Builder
	sum := adder{class: lineAfter(text, "this ")}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if method, ok := strings.CutPrefix(line, "method "); ok {
			sum.enter(method)
			out.WriteString(line + "\n")
			continue
		}
		if frame, ok := sum.add(line); ok {
			out.WriteString(frame + "\n")
		}
	}
	return out.String()
}

func lineAfter(text, prefix string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
