package original

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestBugsByVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.8.0_402":     "8240908 8277444",
		"11.0.20":       "8240908 8277444",
		"17.0.15":       "8240908 8315575 8376185 8277444",
		"17.0.20":       "8315575 8376185 8277444",
		"17.0.20-ea":    "8240908 8315575 8376185 8277444",
		"18.0.2":        "8240908 8315575 8376185 8277444",
		"19":            "8315575 8376185 8277444",
		"21.0.1":        "8315575 8376185 8277444",
		"25.0.1":        "8376185 8277444",
		"25.0.3+9-LTS":  "8376185",
		"25.0.4":        "",
		"26":            "8376185",
		"27":            "",
		"28-ea+1-build": "",
	} {
		var got []string
		for _, b := range jdk.Bugs(mustParse(t, version)) {
			got = append(got, strings.TrimPrefix(b.ID, "JDK-"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", version, got, want)
		}
	}
}

// shape is the file of one class of testdata/fixture, and what a JDK before 19 rebuilds
// of it: no MethodParameters.
func shape(t *testing.T, name string, flags ...string) (file, rebuilt []byte) {
	t.Helper()
	directory, _ := shapes(t, jvmtest.Need(t, 17), flags...)
	file, err := os.ReadFile(filepath.Join(directory, "fixture", name+".class"))
	if err != nil {
		t.Fatal(err)
	}
	return file, edit(t, file, func(c *classfile.Class) {
		for i := range c.Methods {
			m := &c.Methods[i]
			var kept []classfile.Attribute
			for _, a := range m.Attributes {
				if c.Kind(a.Name) != classfile.KindMethodParameters {
					kept = append(kept, a)
				}
			}
			m.Attributes = kept
		}
	})
}

func edit(t *testing.T, data []byte, change func(*classfile.Class)) []byte {
	t.Helper()
	c, err := classfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	out, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestChoose(t *testing.T) {
	file, rebuilt := shape(t, "Shapes$Friend", "-parameters")
	bare, bareRebuilt := shape(t, "Shapes$Square")
	other, _ := shape(t, "Shapes$Inner", "-parameters")
	later := edit(t, rebuilt, func(c *classfile.Class) { c.Pool.AddString("of another agent") })
	changed := edit(t, later, func(c *classfile.Class) {
		code := c.Find(c.Methods[0].Attributes, classfile.KindCode)
		code.Data = bytes.Clone(code.Data)
		code.Data[1]++ // max_stack
	})
	linking := edit(t, rebuilt, func(c *classfile.Class) {
		code := c.Find(c.Methods[0].Attributes, classfile.KindCode)
		code.Data = bytes.Clone(code.Data)
		code.Data[10] ^= 0xff
	})
	for _, test := range []struct {
		name        string
		jdk         string
		file, given []byte
		source      string
		restore     bool
		damage      string
	}{
		{"the file, to be put back", "17.0.15", file, rebuilt, fromFile, true, ""},
		{"with constants of an earlier redefinition", "17.0.15", file, later, fromFile, true, ""},
		{"a JDK that keeps names", "25.0.3", file, file, fromFile, false, ""},
		{"no names to lose", "17.0.15", bare, bareRebuilt, fromFile, false, ""},
		{"no file, names at stake", "17.0.15", nil, rebuilt, fromGiven, false, jdk.ParameterNames.ID},
		{"no file, never had names", "17.0.15", nil, bareRebuilt, fromGiven, false, ""},
		{"no file, a JDK that keeps names", "25.0.3", nil, file, fromGiven, false, ""},
		{"no file, shown whole", "17.0.15", nil, file, fromGiven, false, ""},
		{"another class's file", "17.0.15", other, rebuilt, fromGiven, false, jdk.ParameterNames.ID},
		{"no class file", "17.0.15", []byte("<html>"), rebuilt, fromGiven, false, jdk.ParameterNames.ID},
		{"changed by another agent", "17.0.15", file, changed, fromGraft, true, ""},
		{"changed, names kept", "25.0.3", file, edit(t, file, func(c *classfile.Class) { c.Methods = c.Methods[:1] }), fromGiven, false, ""},
		{"linked meanwhile", "17.0.15", file, linking, fromGiven, false, jdk.LinkingRace.ID},
	} {
		in := Input{JDK: mustParse(t, test.jdk), File: test.file, Given: test.given}
		choice, err := Choose(in)
		var damage *Damage
		id := ""
		if errors.As(err, &damage) {
			id = damage.Bug.ID
		} else if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if sourceOf(choice, in) != test.source || (choice.Restore != nil) != test.restore || id != test.damage {
			t.Errorf("%s: from %s (%s), restore %v, %v", test.name, sourceOf(choice, in), choice.Unproven, choice.Restore != nil, err)
		}
		if test.source == fromGraft {
			c, err := classfile.Parse(choice.Weave)
			if err != nil || !hasParameters(c) || c.Check() != nil {
				t.Errorf("%s: the graft has no parameters or is no class: %v", test.name, err)
			}
		}
	}
}

func TestDamageNamesWhatIsLost(t *testing.T) {
	_, rebuilt := shape(t, "Shapes$Friend", "-parameters")
	_, err := Choose(Input{JDK: mustParse(t, "17.0.15"), Given: rebuilt})
	want := "redefining fixture.Shapes$Friend loses the parameter names (JDK-8240908, a bug of JDK 17.0.15), which cannot be avoided because its class file cannot be found"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestChooseRefusesWhatIsNoClass(t *testing.T) {
	var damage *Damage
	if _, err := Choose(Input{JDK: mustParse(t, "25"), Given: []byte("no")}); err == nil || errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
}

// TestAnotherAgentsChangeIsKept gives a JVM what is chosen for a class that another
// agent has changed, and demands that the change runs and nothing is forgotten.
func TestAnotherAgentsChangeIsKept(t *testing.T) {
	const class = "fixture.Shapes$Plain"
	for _, home := range jvmtest.JDKs(t) {
		t.Run(home.Version, func(t *testing.T) {
			v := mustParse(t, home.Version)
			classpath, _ := shapes(t, home, "-parameters")
			w := newWitness(t, home, classpath)
			w.tell(t, []string{"null"}, class)
			changed := answering(t, w.left(t, class, "0"), "chosen")
			in := Input{JDK: v, File: w.left(t, class, "file"), Given: changed}
			choice, err := Choose(in)
			if err != nil {
				t.Fatal(err)
			}
			want := fromGiven
			if jdk.ParameterNames.In(v) {
				want = fromGraft
			}
			if got := sourceOf(choice, in); got != want {
				t.Errorf("woven from %s, want %s", got, want)
			}
			w.answer(t, class, "chosen", choice.Weave)
			runs := false
			for _, r := range w.tell(t, []string{"@chosen"}, class) {
				if !strings.HasPrefix(r.fact, "answer = ") {
					t.Errorf("not as it was: %v", r)
				}
				runs = runs || r.kind == "gained" && r.fact == "answer = chosen"
			}
			if !runs {
				t.Error("the other agent's change does not run")
			}
		})
	}
}

// TestWhatRedefinitionLoses shows the bugs of the table on real JDKs: what reflection
// no longer sees after the transformer answered nothing, what it was given, the file.
func TestWhatRedefinitionLoses(t *testing.T) {
	for _, home := range jvmtest.JDKs(t) {
		t.Run(home.Version, func(t *testing.T) {
			v := mustParse(t, home.Version)
			classpath, names := shapes(t, home, "-parameters")
			w := newWitness(t, home, classpath)
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
			want := jdk.ParameterNames.In(v)
			if lost["0:null"] != want || lost["1:given"] != want {
				t.Errorf("parameter names lost: %v, the table says %v", lost, want)
			}
			unmarked := "fixture.Shapes$Unmarked"
			if refused[unmarked] != jdk.ComponentCount.In(v) || len(refused) > 1 {
				t.Errorf("refused: %v; the table says of %s %v", refused, unmarked, jdk.ComponentCount.In(v))
			}
		})
	}
}

// TestRecordsWithAnnotatedTypes shows that JDK-8376185 harms records whose constants
// move, and none whose constants keep their places, whatever is added behind them.
func TestRecordsWithAnnotatedTypes(t *testing.T) {
	const class = "fixture.Shapes$Typed"
	for _, home := range jvmtest.JDKs(t) {
		t.Run(home.Version, func(t *testing.T) {
			classpath, _ := shapes(t, home)
			file, err := os.ReadFile(filepath.Join(classpath, "fixture", "Shapes$Typed.class"))
			if err != nil {
				t.Fatal(err)
			}
			w := newWitness(t, home, classpath)
			w.answer(t, class, "a", answering(t, file, "a"))
			w.answer(t, class, "b", answering(t, file, "other", "b"))
			w.answer(t, class, "moved", moved(t, home))
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
			if v := mustParse(t, home.Version); harmed != jdk.ComponentTypes.In(v) {
				t.Errorf("with constants moved, harmed: %v; the table says %v", harmed, jdk.ComponentTypes.In(v))
			}
		})
	}
}

// moved is the record compiled from a source that brings its constants into another
// order, and changes nothing that reflection sees.
func moved(t *testing.T, home jvmtest.JDK) []byte {
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
	directory := jvmtest.Compile(t, home, jvmtest.Fixture{Sources: []string{path, "testdata/fixture/Use.java"}})
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

const (
	fromFile  = "its class file"
	fromGiven = "the class as the JVM shows it"
	fromGraft = "the class as the JVM shows it, completed from its class file"
)

func sourceOf(c Choice, in Input) string {
	switch {
	case c.Unproven == "" && bytes.Equal(c.Weave, in.File):
		return fromFile
	case bytes.Equal(c.Weave, in.Given):
		return fromGiven
	}
	return fromGraft
}

// FuzzChoose compares any class in a JVM with any file. There is an error or a choice of one of both.
func FuzzChoose(f *testing.F) {
	files, _ := filepath.Glob("../../../classfile/testdata/zoo/*/*.class") // the pattern is well formed
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 2<<10 { // long ones only slow the search down
			f.Add(data, data, false)
		}
	}
	versions := map[bool]jdk.Version{}
	for isOld, text := range map[bool]string{true: "17.0.15", false: "25.0.4"} {
		var err error
		if versions[isOld], err = jdk.ParseVersion(text); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, given, file []byte, isOld bool) {
		choice, err := Choose(Input{JDK: versions[isOld], Given: given, File: file})
		var damage *Damage
		switch _, parseErr := classfile.Parse(given); {
		case parseErr != nil:
			if err == nil || errors.As(err, &damage) {
				t.Errorf("a class that cannot be read: %v", err)
			}
			return
		case err != nil && !errors.As(err, &damage):
			t.Errorf("error is a %T: %v", err, err)
		}
		if _, err := classfile.Parse(choice.Weave); err != nil {
			t.Errorf("the choice cannot be read: %v", err)
		}
		if bytes.Equal(given, file) && choice.Unproven != "" && isSound(given) {
			t.Errorf("a file that is the class is unproven: %s", choice.Unproven)
		}
	})
}

// isSound reports whether a class can be read with all its code and attributes.
func isSound(data []byte) bool {
	c, err := classfile.Parse(data)
	return err == nil && new(code.Lifter).Check(c) == nil
}
