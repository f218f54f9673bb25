package condition_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// fixture is testdata/java, compiled, and the JDK beside it.
type fixture struct {
	jvmtest.JDK
	dir     string
	classes map[string]*condition.Class
	own     []string // of the fixture
	image   *jimage.Image
	major   uint16 // the version that class Many is said to be of; 0 for its own
}

// compileFixture compiles testdata/java and further sources.
func compileFixture(t testing.TB, jdk jvmtest.JDK, more ...string) *fixture {
	t.Helper()
	var sources []string
	for _, pattern := range []string{"testdata/java/*/*.java", "testdata/java/*/*/*.java"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, files...)
	}
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: append(sources, more...),
		Flags:   []string{"--release", "17", "-Xlint:none", "-parameters"},
	})
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = image.Close() }) // only read
	f := &fixture{JDK: jdk, dir: dir, classes: make(map[string]*condition.Class), image: image}
	for _, pattern := range []string{"*/*.class"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no classes: %v", err)
		}
		for _, file := range files {
			c := parsed(t, readFile(t, file))
			f.classes[c.Name()] = &condition.Class{File: c, Loader: 1}
			f.own = append(f.own, c.Name())
		}
	}
	return f
}

func parsed(t testing.TB, data []byte) *classfile.Class {
	t.Helper()
	c, err := classfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// bytesOf returns a class of package app.
func (f *fixture) bytesOf(t testing.TB, class string) []byte {
	t.Helper()
	data := readFile(t, filepath.Join(f.dir, "app", class+".class"))
	if class == "Many" && f.major != 0 {
		binary.BigEndian.PutUint16(data[6:], f.major)
	}
	return data
}

// age lets class Many be of an older version.
func (f *fixture) age(t testing.TB, major uint16) {
	t.Helper()
	f.major = major
	f.classes["app/Many"] = &condition.Class{File: parsed(t, f.bytesOf(t, "Many")), Loader: 1}
}

// lookup finds a class of the fixture, or of java.base.
func (f *fixture) lookup(name string) *condition.Class {
	if c, ok := f.classes[name]; ok {
		return c
	}
	var c *condition.Class
	if data, err := f.image.Read("/java.base/" + name + ".class"); err == nil {
		if file, err := classfile.Parse(bytes.Clone(data)); err == nil {
			c = &condition.Class{File: file}
		}
	}
	f.classes[name] = c
	return c
}

// subtypes are the fixture's classes below one.
func (f *fixture) subtypes(name string) ([]*condition.Class, bool) {
	var list []*condition.Class
	for _, own := range f.own {
		if own != name && f.below(own, name) {
			list = append(list, f.classes[own])
		}
	}
	return list, true
}

func (f *fixture) below(name, super string) bool {
	c := f.lookup(name)
	if c == nil || name == super {
		return name == super
	}
	if s := c.File.SuperName(); s != "" && f.below(s, super) {
		return true
	}
	for _, i := range c.File.Interfaces {
		if in, err := c.File.Pool.ClassName(i); err == nil && f.below(string(in), super) {
			return true
		}
	}
	return false
}

// scope is that of a method of a class of package app.
func (f *fixture) scope(t testing.TB, class, method string, at condition.Moment) condition.Scope {
	t.Helper()
	c := f.classes["app/"+class]
	for i := range c.File.Methods {
		m := &c.File.Methods[i]
		if name, _, err := c.File.MemberName(m); err == nil && string(name) == method {
			return condition.Scope{Class: c, Method: m, Moment: at, Lookup: f.lookup, Subtypes: f.subtypes,
				Exported: func(c *condition.Class) bool { return !strings.HasPrefix(c.Name(), "jdk/internal/") },
				Probed:   func(m classfile.MethodRef) bool { return m.Class == "shop/Customer" && m.Name == "getAge" },
				Tags:     map[string]int32{"tier": 1, "tenant": 2}, TagCall: condition.TagCall{Class: "app/Recorder", Method: "tag"}}
		}
	}
	t.Fatalf("no method %s.%s", class, method)
	return condition.Scope{}
}

// check reads and checks a condition.
func check(text string, scope condition.Scope) (*condition.Checked, error) {
	expr, err := expr.Parse(text)
	if err != nil {
		return nil, err
	}
	return condition.Check(expr, scope)
}

// template is one of app.Templates.
func (f *fixture) template(t testing.TB, name string) *weave.Template {
	t.Helper()
	tmpl, err := weave.CompileTemplate(readFile(t, filepath.Join(f.dir, "app/Templates.class")), name)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// weave weaves methods of a class of package app, each with a template of its own,
// and writes the class below a directory.
func (f *fixture) weave(t testing.TB, class, dir string, templates map[string]*weave.Template) {
	t.Helper()
	data := f.bytesOf(t, class)
	pick := func(m weave.MethodInfo) []*weave.Template {
		if tmpl := templates[m.Name]; tmpl != nil {
			return []*weave.Template{tmpl}
		}
		return nil
	}
	var woven []byte
	for range 2 { // the same bytes every time
		result, err := weave.NewWeaver().Weave(data, pick)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range result.Methods {
			if !m.Woven {
				t.Errorf("%s is left alone: %v", m.Name, m.Reason)
			}
		}
		if woven != nil && !bytes.Equal(woven, result.Bytes) {
			t.Errorf("%s is woven differently the second time", class)
		}
		woven = result.Bytes
	}
	file := filepath.Join(dir, "app", class+".class")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, woven, 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a class of the fixture with woven classes before the others.
func (f *fixture) run(t *testing.T, woven string, args ...string) string {
	t.Helper()
	path := woven + string(os.PathListSeparator) + f.dir
	out := jvmtest.RunBriefly(t, f.JDK, append([]string{"-Xverify:all", "-Xshare:auto", "-cp", path}, args...)...)
	if out.Exit != 0 {
		t.Fatalf("exit code %d\n%s\n%s", out.Exit, tail(out.Stdout), tail(out.Stderr))
	}
	return out.Stdout
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func onOneJDK(t *testing.T, f func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { f(t, jdk) })
	}
}

// anyFixture is compiled by the oldest supported JDK here.
func anyFixture(t testing.TB) *fixture {
	t.Helper()
	for _, jdk := range jvmtest.Installed() {
		if jdk.Major >= 17 {
			return compileFixture(t, jdk)
		}
	}
	t.Skip("NOT TESTED: no supported JDK is installed")
	return nil
}
