package dump_test

import (
	"bytes"
	"errors"
	"flag"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before you commit it")

// TestGoldens dumps classes of the zoo.
func TestGoldens(t *testing.T) {
	for _, name := range []string{
		"8/Lambdas8", "8/Resources", "17/Annotated", "17/Annotated$All", "17/Arithmetic", "17/Concat",
		"17/Constructors", "17/Finally", "17/Interfaces", "17/Nested$1", "17/Records", "17/Sealed",
		"17/Switches", "17/TypeUse", "17/module/module-info", "25/PatternSwitch",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := dump.Class(&out, zoo(t, name), dump.Options{}); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.ReplaceAll(name, "/", "-")+".txt", out.Bytes())
		})
	}
}

func TestOffsetsAndPickedMethods(t *testing.T) {
	var out bytes.Buffer
	err := dump.Class(&out, zoo(t, "17/Finally"), dump.Options{
		Offsets:  true,
		NoHeader: true,
		Method:   func(name, desc string) bool { return name == "<init>" && desc == "()V" },
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "offsets.txt", out.Bytes())
}

func TestMethodIsThePartOfTheClass(t *testing.T) {
	c := zoo(t, "17/Switches")
	var whole, parts bytes.Buffer
	if err := dump.Class(&whole, c, dump.Options{NoHeader: true}); err != nil {
		t.Fatal(err)
	}
	for i := range c.Methods {
		parts.WriteByte('\n')
		if err := dump.Method(&parts, c, &c.Methods[i], dump.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasSuffix("\n"+whole.String(), parts.String()) {
		t.Error("methods dumped one by one are not what the class shows of them")
	}
}

// zoo reads a class that other packages test with too.
func zoo(t testing.TB, name string) *classfile.Class {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "zoo", filepath.FromSlash(name)+".class"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := classfile.Parse(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := 0; ; i++ {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("%s, line %d (-update rewrites it):\n got %s\nwant %s", path, i+1,
				strings.Join(gotLines[i:min(i+1, len(gotLines))], ""), strings.Join(wantLines[i:min(i+1, len(wantLines))], ""))
		}
	}
}

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
				data, _ = classfile.AppendContents(nil, classfile.Record(component))
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
	if a.Data, err = classfile.AppendContents(nil, bootstraps); err != nil {
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
	if c.Find(c.Methods[0].Attributes, classfile.KindCode).Data, err = classfile.AppendContents(nil, &body); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := dump.Class(&out, c, dump.Options{}); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 20<<20 || !strings.HasSuffix(out.String(), "<the rest is left out: it takes more than 16 MiB>\n") {
		t.Errorf("%d bytes, or no mention of the omitted part", out.Len())
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

// TestCorpusDump demands that nothing in the JDKs' classes is beyond the dump: no
// reason why something is not shown stands in any of them. SONDE_CORPUS=full takes
// all classes, otherwise one in 200; those are also compared with themselves.
func TestCorpusDump(t *testing.T) {
	full := os.Getenv("SONDE_CORPUS") == "full"
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		t.Skip("no JDK is installed: no real classes were dumped")
	}
	classes := 0
	for _, jdk := range jdks {
		image, err := jimage.Open(jdk.Image())
		if err != nil {
			t.Fatalf("JDK %s: %v", jdk.Version, err)
		}
		err = image.Each(func(module, path string, data []byte) error {
			if !strings.HasSuffix(path, ".class") {
				return nil
			}
			h := fnv.New32a()
			_, _ = h.Write([]byte(path)) // never fails
			chosen := h.Sum32()%200 == 0
			if full || chosen {
				classes++
				checkDump(t, module+"/"+path, data, chosen)
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
	t.Logf("%d classes", classes)
	if classes < 100 {
		t.Errorf("only %d classes were dumped", classes)
	}
}

func checkDump(t *testing.T, name string, data []byte, compare bool) {
	c, err := classfile.Parse(data)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var out bytes.Buffer
	if err := dump.Class(&out, c, dump.Options{}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for line := range strings.Lines(out.String()) {
		for _, reason := range []string{" at offset ", "<constant pool index", "<no such", "<bootstrap method", "frame same", "frame append", "frame chop"} {
			if strings.Contains(line, reason) && !strings.Contains(line, `"`) {
				t.Errorf("%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
	if !compare {
		return
	}
	if changed, err := dump.Diff(&out, c, c, dump.Options{}); err != nil || changed {
		t.Errorf("%s: differs from itself: %v", name, err)
	}
}
