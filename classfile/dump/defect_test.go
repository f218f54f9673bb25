package dump_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
)

// TestDefectsAreShownInPlace breaks one thing at a time: the reason stands where the
// thing would, and the rest of the class is as it was.
func TestDefectsAreShownInPlace(t *testing.T) {
	var out bytes.Buffer
	for _, defect := range []struct {
		name string
		make func(c *classfile.Class)
	}{
		{"a jump into the void", func(c *classfile.Class) {
			a := c.Find(c.Methods[0].Attributes, classfile.KindCode)
			// Over the call of super(): goto +64.
			a.Data = append(append(bytes.Clone(a.Data[:9]), 0xA7, 0, 64), a.Data[12:]...)
		}},
		{"a body cut short", func(c *classfile.Class) {
			a := c.Find(c.Methods[0].Attributes, classfile.KindCode)
			a.Data = a.Data[:7]
		}},
		{"indices that lead nowhere", func(c *classfile.Class) {
			c.Super, c.Methods[0].Descriptor = 9999, c.This
		}},
		{"an attribute that is too long", func(c *classfile.Class) {
			a := c.Find(c.Attributes, classfile.KindSourceFile)
			a.Data = append(bytes.Clone(a.Data), 1)
		}},
		{"attributes within attributes", func(c *classfile.Class) {
			name := c.Pool.AddUtf8("Record")
			data := []byte{}
			for range 20 {
				component := []classfile.RecordComponent{{Name: name, Descriptor: name,
					Attributes: []classfile.Attribute{{Name: name, Data: data}}}}
				data, _ = classfile.Record(component).AppendTo(nil)
			}
			c.Attributes = append(c.Attributes, classfile.Attribute{Name: name, Data: data})
		}},
	} {
		c := zoo(t, "17/Finally")
		c.Methods = c.Methods[:1]
		defect.make(c)
		out.WriteString("# " + defect.name + "\n")
		if err := dump.Class(&out, c, dump.Options{}); err != nil {
			t.Fatal(err)
		}
		if changed, err := dump.Diff(&bytes.Buffer{}, c, c, dump.Options{}); err != nil || changed {
			t.Errorf("%s: a class differs from itself: %v", defect.name, err)
		}
	}
	golden(t, "defects.txt", out.Bytes())
}

// TestDynamicConstantsMayBeCyclic: a constant whose bootstrap argument is itself.
func TestDynamicConstantsMayBeCyclic(t *testing.T) {
	c := zoo(t, "17/Concat")
	dynamic := c.Pool.AddPair(classfile.TagDynamic, 0, c.Pool.AddNameAndType("self", "I"))
	a := c.Find(c.Attributes, classfile.KindBootstrapMethods)
	contents, err := c.Decode(*a)
	if err != nil {
		t.Fatal(err)
	}
	bootstraps := contents.(classfile.BootstrapMethods)
	for range 100 {
		bootstraps[0].Arguments = append(bootstraps[0].Arguments, dynamic)
	}
	if a.Data, err = bootstraps.AppendTo(nil); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := dump.Class(&out, c, dump.Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "dynamic self I by") || !strings.Contains(out.String(), "…") {
		t.Error("the cycle is not shown, or not cut")
	}
}

// TestTextIsBounded: thousands of instructions that each ask for a long text.
func TestTextIsBounded(t *testing.T) {
	c := zoo(t, "17/Finally")
	text := c.Pool.AddString(strings.Repeat("x", 65535))
	c.Methods = c.Methods[:1]
	body := classfile.Code{MaxStack: 1, Bytes: bytes.Repeat([]byte{0x13, byte(text >> 8), byte(text)}, 20000)}
	var err error
	if c.Find(c.Methods[0].Attributes, classfile.KindCode).Data, err = body.AppendTo(nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := dump.Class(&out, c, dump.Options{}); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 20<<20 || !strings.HasSuffix(out.String(), "<the rest is left out: it takes more than 16 MiB>\n") {
		t.Errorf("%d bytes, or no word of what is left out", out.Len())
	}
	if changed, err := dump.Diff(&out, c, c, dump.Options{}); err != nil || changed {
		t.Errorf("the class differs from itself: %v", err)
	}
}

func TestWriterErrorIsTold(t *testing.T) {
	full := errors.New("disk full")
	c := zoo(t, "17/Arithmetic")
	if err := dump.Class(failing{full}, c, dump.Options{}); !errors.Is(err, full) {
		t.Errorf("Class: error is %v", err)
	}
	other := zoo(t, "17/Concat")
	if _, err := dump.Diff(failing{full}, c, other, dump.Options{}); !errors.Is(err, full) {
		t.Errorf("Diff: error is %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// FuzzClass: what parses, dumps, and does not differ from itself.
func FuzzClass(f *testing.F) {
	for _, pattern := range []string{"zoo/*/*.class", "invalid/*.class"} {
		files, _ := filepath.Glob(filepath.Join("..", "testdata", pattern)) // the pattern is well formed
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := classfile.Parse(data)
		if err != nil {
			return
		}
		if err := dump.Class(&bytes.Buffer{}, c, dump.Options{Offsets: true}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if changed, err := dump.Diff(&out, c, c, dump.Options{}); err != nil || changed {
			t.Fatalf("changed %v, %v:\n%s", changed, err, out.Bytes())
		}
	})
}
