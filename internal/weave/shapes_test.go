package weave_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// java is a JDK with the classes of testdata/java compiled by it.
type java struct {
	jvmtest.JDK
	dir       string // of the classes
	templates string // class file of Templates
}

// compileJava compiles testdata/java for a release: strings are joined by
// invokedynamic from 9 on, private members of inner classes reached without bridges from 11.
func compileJava(t testing.TB, jdk jvmtest.JDK, release string) java {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources:   []string{"testdata/java/Log.java", "testdata/java/Templates.java", "testdata/java/Shapes.java", "testdata/java/RunAll.java"},
		Classpath: []string{jar},
		Flags:     []string{"--release", release, "-Xlint:none"},
	})
	return java{jdk, dir, filepath.Join(dir, "Templates.class")}
}

// template compiles a method of Templates.
func (j java) template(t testing.TB, method string) *weave.Template {
	t.Helper()
	return compiled(t, readFile(t, j.templates), method)
}

// pick chooses the same templates, by their names, for each method that has code.
func (j java) pick(t testing.TB, methods ...string) func(weave.MethodInfo) []*weave.Template {
	t.Helper()
	var templates []*weave.Template
	for _, text := range methods {
		method, isBehind := strings.CutSuffix(text, " behind super")
		template := j.template(t, method)
		if isBehind {
			template = template.AfterSuper()
		}
		templates = append(templates, template)
	}
	return func(weave.MethodInfo) []*weave.Template { return templates }
}

func compiled(t testing.TB, class []byte, method string) *weave.Template {
	t.Helper()
	template, err := weave.CompileTemplate(class, method)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// anyJDK is the oldest supported JDK here, for what does not depend on which.
func anyJDK(t *testing.T) jvmtest.JDK {
	t.Helper()
	jdks := jvmtest.JDKs(t)
	if len(jdks) == 0 {
		t.Skip("NOT TESTED: no supported JDK is installed")
	}
	return jdks[0]
}

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// byMethod is which templates of Templates.java fit which method of Shapes.
var byMethod = map[string][]string{
	"add": {"ints", "second"}, "wide": {"longs", "second"}, "third": {"floats", "second"}, "half": {"doubles", "second"},
	"not": {"ints", "first"}, "next": {"ints", "first"}, "low": {"ints", "second"}, "twice": {"ints", "first"},
	"join": {"first", "second"}, "array": {"first"}, "me": {"self", "first"}, "sum": {"longs", "self", "second"},
	"fails": {"first"}, "maybe": {"first"}, "max": {"second"}, "greet": {"self", "first"}, "shout": {"first"},
}

// TestShapes weaves the program Shapes in several ways and runs it under the
// verifier. What the program prints by itself never changes; what the templates
// print is held against a golden file.
func TestShapes(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		for _, release := range []string{"8", "17"} {
			j := compileJava(t, jdk, release)
			plain := j.runShapes(t, func(weave.MethodInfo) []*weave.Template { return nil })
			for _, weaving := range []struct {
				name string
				pick func(weave.MethodInfo) []*weave.Template
			}{
				{"probe", j.pick(t, "probe")},
				{"rich", j.pick(t, "rich")},
				{"tangled", butConstructors(j.pick(t, "tangled"), nil)},
				{"nested", butConstructors(j.pick(t, "rich", "tangled", "probe"), j.pick(t, "rich", "probe"))},
				{"all", j.pickMost(t, "all")},
				{"arguments", j.pickByMethod(t)},
				{"order", j.pickMost(t, "outer", "middle", "inner")},
			} {
				t.Run(fmt.Sprintf("jdk%d/release%s/%s", jdk.Major, release, weaving.name), func(t *testing.T) {
					woven := j.runShapes(t, weaving.pick)
					own, told := split(woven)
					if own != plain {
						t.Errorf("the woven program prints something else\n%s", difference(plain, own))
					}
					if told == "" {
						return
					}
					golden(t, "testdata/shapes-"+weaving.name+".txt", woven)
				})
			}
		}
	}
}

// butConstructors chooses otherwise for constructors: see TestMonitorAroundConstructor.
func butConstructors(pick, other func(weave.MethodInfo) []*weave.Template) func(weave.MethodInfo) []*weave.Template {
	return func(m weave.MethodInfo) []*weave.Template {
		switch {
		case m.Name != "<init>":
			return pick(m)
		case other != nil:
			return other(m)
		}
		return nil
	}
}

// TestMonitorAroundConstructor: no block can release a monitor when super(...) throws,
// and the JVM throws IllegalMonitorStateException instead of what was thrown. So a
// template that holds a monitor across its target does not fit a constructor.
func TestMonitorAroundConstructor(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	for file, fits := range map[string]bool{"Shapes.class": true, "Shapes$Sub.class": false} {
		result, err := weave.NewWeaver().Weave(readFile(t, filepath.Join(j.dir, file)), j.pick(t, "tangled"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range result.Methods {
			var reason *weave.Reason
			if m.Name == "<init>" && !fits && (m.Woven || !errors.As(m.Reason, &reason) || reason.Kind != weave.DoesNotFit) {
				t.Errorf("%s: %s%s should be left alone because the template does not fit; woven is %v, %v", file, m.Name, m.Descriptor, m.Woven, m.Reason)
			}
			if m.Name != "<init>" && !m.Woven {
				t.Errorf("%s: %s%s: %v", file, m.Name, m.Descriptor, m.Reason)
			}
		}
	}
}

// pickMost chooses templates for all methods but the program's scaffold, which
// differs from compiler to compiler.
func (j java) pickMost(t *testing.T, methods ...string) func(weave.MethodInfo) []*weave.Template {
	t.Helper()
	pick := j.pick(t, methods...)
	return func(m weave.MethodInfo) []*weave.Template {
		if m.Name == "main" || m.Name == "show" || strings.HasPrefix(m.Name, "lambda$") || m.Class == "Shapes$1" {
			return nil
		}
		return pick(m)
	}
}

func (j java) pickByMethod(t *testing.T) func(weave.MethodInfo) []*weave.Template {
	t.Helper()
	made := map[string]*weave.Template{}
	return func(m weave.MethodInfo) []*weave.Template {
		var templates []*weave.Template
		for _, name := range byMethod[m.Name] {
			if made[name] == nil {
				made[name] = j.template(t, name)
			}
			templates = append(templates, made[name])
		}
		return templates
	}
}

// runShapes weaves Shapes and its inner classes, runs the program and returns what
// it prints.
func (j java) runShapes(t *testing.T, pick func(weave.MethodInfo) []*weave.Template) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(j.dir, "Shapes*.class"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no classes in %s: %v", j.dir, err)
	}
	weaver := weave.NewWeaver()
	for _, file := range files {
		data := readFile(t, file)
		if woven := weaveSoundly(t, weaver, data, pick); woven != nil {
			data = woven
		}
		writeFile(t, filepath.Join(dir, filepath.Base(file)), data)
	}
	path := dir + string(os.PathListSeparator) + j.dir
	outcome := jvmtest.RunBriefly(t, j.JDK, "-Xverify:all", "-cp", path, "Shapes")
	if outcome.Exit != 0 {
		t.Fatalf("exit code %d\n%s\n%s", outcome.Exit, outcome.Stdout, outcome.Stderr)
	}
	return outcome.Stdout
}

// weaveSoundly weaves a class all of whose chosen methods can be woven, and has the
// reference parser read the result.
func weaveSoundly(t *testing.T, weaver *weave.Weaver, data []byte, pick func(weave.MethodInfo) []*weave.Template) []byte {
	t.Helper()
	result, err := weaver.Weave(data, pick)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Methods {
		if !m.Woven {
			t.Errorf("%s%s is left alone: %v", m.Name, m.Descriptor, m.Reason)
		}
	}
	if result.Bytes != nil {
		if _, err := classtest.Describe(result.Bytes); err != nil {
			t.Errorf("the reference parser refuses the woven class: %v", err)
		}
		checkMap(t, data, result)
	}
	return result.Bytes
}

// split parts what the program prints from what templates print.
func split(output string) (own, told string) {
	var program, templates strings.Builder
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "| ") {
			templates.WriteString(line)
		} else {
			program.WriteString(line)
		}
	}
	return program.String(), templates.String()
}

func golden(t *testing.T, file, have string) {
	t.Helper()
	if *update {
		writeFile(t, file, []byte(have))
		return
	}
	if want := string(readFile(t, file)); have != want {
		t.Errorf("%s has something else (go test -update writes it anew)\n%s", file, difference(want, have))
	}
}

// difference shows the first line in which two texts differ.
func difference(want, have string) string {
	w, h := strings.Split(want, "\n"), strings.Split(have, "\n")
	for i := range min(len(w), len(h)) {
		if w[i] != h[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, w[i], h[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d\n+ %s", len(h), len(w), strings.Join(h[min(len(h), len(w)):], "\n+ "))
}

// gridTemplates are the methods of Grid.java.
var gridTemplates = []string{
	"loopBefore", "newInCatch", "thrownOnly", "deny", "split", "ifAround", "newBefore", "nested",
	"resultLoop", "locked", "switches", "selfFinally", "selfBehind", "across", "nullAcross",
}

// TestGrid weaves each template of Grid.java, alone and around others, around every
// handmade class and one of javac's, and runs them all in one JVM: each must load
// under -Xverify:all and do what it did unwoven.
func TestGrid(t *testing.T) {
	jdk := anyJDK(t)
	j := compileGrid(t, jdk)
	target := readFile(t, filepath.Join(j.dir, "GridTarget.class"))
	root := t.TempDir()
	weaver := weave.NewWeaver()
	build := func(folder string, templates []*weave.Template) string {
		put := func(name string, data []byte) {
			result, err := weaver.Weave(data, func(weave.MethodInfo) []*weave.Template { return templates })
			if err != nil {
				t.Fatalf("%s %s: %v", folder, name, err)
			}
			if result.Bytes != nil {
				data = result.Bytes
			}
			writeFile(t, filepath.Join(root, folder, name+".class"), data)
		}
		put("GridTarget", target)
		for _, h := range handmades {
			for _, major := range h.majors {
				if int(major) <= 44+jdk.Major {
					b := classtest.NewBuilder(major, h.name)
					h.build(b, h.name)
					put(fmt.Sprintf("%s_%d", h.name, major), b.Bytes())
				}
			}
		}
		return filepath.Join(root, folder)
	}
	args := []string{"-Xverify:all", "-cp", j.dir, "RunAll", build("plain", nil)}
	for i, outer := range gridTemplates {
		args = append(args, build(outer, []*weave.Template{j.template(t, outer)}))
		for _, inner := range innerTemplates(i) {
			args = append(args, build(outer+"+"+inner, []*weave.Template{j.template(t, outer), j.template(t, inner)}))
		}
	}
	compareGrid(t, jvmtest.RunBriefly(t, jdk, args...))
}

// innerTemplates returns the templates that stand inside template i: all of them in
// a soak, otherwise itself and another, so that each template is also inside another.
func innerTemplates(i int) []string {
	if jvmtest.Soak() {
		return gridTemplates
	}
	n := len(gridTemplates)
	return []string{gridTemplates[i], gridTemplates[(i+4)%n]}
}

func compareGrid(t *testing.T, outcome jvmtest.Outcome) {
	t.Helper()
	plain := make(map[string]string)
	ran := 0
	for line := range strings.Lines(outcome.Stdout) {
		where, what, _ := strings.Cut(strings.TrimSpace(line), ":")
		folder, file, _ := strings.Cut(where, "/")
		if folder == "plain" {
			plain[file] = what
			continue
		}
		if ran++; plain[file] != what {
			t.Errorf("%s\n    woven:   %s\n    unwoven: %s", where, what, plain[file])
		}
	}
	if want := len(plain) * len(gridTemplates) * (1 + len(innerTemplates(0))); ran != want || ran == 0 {
		t.Errorf("%d classes ran, want %d\n%s", ran, want, outcome.Stderr)
	}
}

// compileGrid compiles the templates of Grid.java and what they need.
func compileGrid(t *testing.T, jdk jvmtest.JDK) java {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, name := range []string{"Grid", "GridHooks", "GridTarget", "RunAll", "Log"} {
		sources = append(sources, "testdata/java/"+name+".java")
	}
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: sources, Classpath: []string{jar}, Flags: []string{"--release", "8", "-Xlint:none"},
	})
	return java{jdk, dir, filepath.Join(dir, "Grid.class")}
}
