package original

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestWhatRedefinitionLoses shows the bugs of the table on real JDKs: what reflection
// no longer sees after the transformer answered nothing, what it was given, the file.
func TestWhatRedefinitionLoses(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			v := mustParse(t, jdk.Version)
			classpath, names := shapes(t, jdk, "-parameters")
			w := newWitness(t, jdk, classpath)
			lost, refused := map[string]bool{}, map[string]bool{}
			for _, r := range w.tell(t, []string{"null", "given", "file"}, names...) {
				switch {
				case r.step == "2:file":
					t.Errorf("true bytes do not help: %v", r)
				case r.kind == "failed":
					refused[r.class] = true
				case r.kind == "lost" && strings.HasPrefix(r.fact, "parameter "):
					lost[r.step] = true
				case r.kind == "lost":
					t.Errorf("lost by no bug of the table: %v", r)
				}
			}
			want := parameterNames.In(v)
			if lost["0:null"] != want || lost["1:given"] != want {
				t.Errorf("parameter names lost: %v, the table says %v", lost, want)
			}
			unmarked := "fixture.Shapes$Unmarked"
			if refused[unmarked] != componentCount.In(v) || len(refused) > 1 {
				t.Errorf("refused: %v; the table says of %s %v", refused, unmarked, componentCount.In(v))
			}
		})
	}
}

// TestRecordsWithAnnotatedTypes shows that JDK-8376185 harms records whose constants
// move, and none whose constants keep their places, whatever is added behind them.
func TestRecordsWithAnnotatedTypes(t *testing.T) {
	const class = "fixture.Shapes$Typed"
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			classpath, _ := shapes(t, jdk)
			file, err := os.ReadFile(filepath.Join(classpath, "fixture", "Shapes$Typed.class"))
			if err != nil {
				t.Fatal(err)
			}
			w := newWitness(t, jdk, classpath)
			w.answer(t, class, "a", answering(t, file, "a"))
			w.answer(t, class, "b", answering(t, file, "other", "b"))
			w.answer(t, class, "moved", moved(t, jdk))
			for _, r := range w.tell(t, []string{"@a", "file", "@b", "file", "@a", "@b", "file"}, class) {
				text := "answer = " + strings.TrimLeft(r.step, "0123456789:@")
				if r.kind == "gained" && r.fact != text || r.kind == "lost" && r.fact != "answer = base" || r.kind == "failed" {
					t.Errorf("harmed although its constants kept their places: %v", r)
				}
			}
			// The JVM reads texts through stale indices: most often it dies of that.
			remarks, broken := w.watch(t, []string{"@moved"}, class)
			harmed := broken != ""
			for _, r := range remarks {
				harmed = harmed || r.kind == "failed" || r.kind == "lost"
			}
			if v := mustParse(t, jdk.Version); harmed != componentTypes.In(v) {
				t.Errorf("with constants moved, harmed: %v; the table says %v", harmed, componentTypes.In(v))
			}
		})
	}
}

// moved is the record compiled from a source that brings its constants into another
// order, and changes nothing that reflection sees.
func moved(t *testing.T, jdk jvmtest.JDK) []byte {
	t.Helper()
	source, err := os.ReadFile("testdata/fixture/Shapes.java")
	if err != nil {
		t.Fatal(err)
	}
	const marker = "list, int n) {\n"
	text := strings.Replace(string(source), marker, marker+"        Typed { System.setProperty(\"moved\", \"constants\"); }\n", 1)
	path := filepath.Join(t.TempDir(), "Shapes.java")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	directory := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{path, "testdata/fixture/Use.java"}})
	data, err := os.ReadFile(filepath.Join(directory, "fixture", "Shapes$Typed.class"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// answering is a class with text() made to answer the last of these texts, by constants
// added at the end, as weaving does.
func answering(t *testing.T, file []byte, texts ...string) []byte {
	t.Helper()
	c, err := classfile.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	var index uint16
	for _, text := range texts {
		index = c.Pool.AddString(text)
	}
	for i := range c.Methods {
		if name, _, _ := c.MemberName(&c.Methods[i]); string(name) != "text" {
			continue
		}
		code := c.Find(c.Methods[i].Attributes, classfile.KindCode)
		data := append([]byte(nil), code.Data...)
		if first := data[8]; first != 0x12 || index > 255 {
			t.Fatalf("%s: text() begins with %#x, not ldc, or entry %d is out of its reach", c.Name(), first, index)
		}
		data[9] = byte(index)
		code.Data = data
	}
	out, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
