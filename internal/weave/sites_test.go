package weave_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// siteJava is a JDK with what the tests of calls need, compiled by it.
type siteJava struct {
	java
	jdk jvmtest.JDK
}

func compileSites(t *testing.T, jdk jvmtest.JDK, release string) siteJava {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{
			"testdata/java/SiteHooks.java", "testdata/java/Sites.java", "testdata/java/Shapes.java",
			"testdata/java/Log.java", "testdata/java/Templates.java", "testdata/java/RunAll.java",
			"testdata/java/LinkAll.java",
		},
		Classpath: []string{jar},
		Flags:     []string{"--release", release, "-Xlint:none"},
	})
	return siteJava{java{jdk, dir, filepath.Join(dir, "Templates.class")}, jdk}
}

// weaver returns one that wraps every call with a method of SiteHooks.
func (j siteJava) weaver(t testing.TB, template string) *weave.Weaver {
	t.Helper()
	w := weave.NewWeaver()
	var err error
	if w.SiteTemplate, err = weave.CompileSiteTemplate(readFile(t, filepath.Join(j.dir, "SiteHooks.class")), template); err != nil {
		t.Fatal(err)
	}
	w.Sites = everyCall
	return w
}

// everyCall wraps all calls but those javac makes of a sum of strings, which are too
// many for a method to bear a large template.
func everyCall(_ weave.MethodInfo, c weave.Call) (int32, bool) {
	return weave.MethodID(c.Owner, c.Name, c.Descriptor), c.Owner != "SiteHooks" && (c.Owner != "java/lang/StringBuilder" || c.Name == "append" && c.Descriptor[1] == 'J')
}

func noTemplates(weave.MethodInfo) []*weave.Template { return nil }

// TestSites wraps every call of the program Sites and runs it under the verifier: it
// prints what it prints unwoven, each call is left as it was entered, and those it
// counts itself are told as often as it says.
func TestSites(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		release := "17"
		if jdk.Major == 17 {
			release = "8"
		}
		j := compileSites(t, jdk, release)
		plain, _ := split(j.runProgram(t, "Sites", nil, noTemplates, nil))
		for _, weaving := range []struct{ site, around string }{{"site", ""}, {"site", "rich"}, {"tangled", "probe"}} {
			t.Run(fmt.Sprintf("jdk%d/%s%s", jdk.Major, weaving.site, weaving.around), func(t *testing.T) {
				pick := noTemplates
				if weaving.around != "" {
					pick = j.pick(t, weaving.around)
				}
				own, told := split(j.runProgram(t, "Sites", j.weaver(t, weaving.site), pick, nil))
				if own != plain {
					t.Errorf("the woven program prints something else\n%s", difference(plain, own))
				}
				checkCounts(t, own, told)
			})
		}
	}
}

// TestSitesOfOldClasses is TestSites for classes without frames, which another
// verifier looks at.
func TestSitesOfOldClasses(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		j := compileSites(t, jdk, "8")
		old := func(data []byte) []byte { return ofVersion(t, data, 49) }
		w := j.weaver(t, "site")
		plain, _ := split(j.runProgram(t, "Sites", nil, noTemplates, nil))
		own, told := split(j.runProgram(t, "Sites", w, j.pick(t, "probe"), old))
		if own != plain {
			t.Errorf("jdk%d: the woven program prints something else\n%s", jdk.Major, difference(plain, own))
		}
		checkCounts(t, own, told)
	}
}

// TestSitesOnFullStack: a program does not notice that a hook behind a call found no
// room on the stack.
func TestSitesOnFullStack(t *testing.T) {
	j := compileSites(t, anyJDK(t), "17")
	plain, _ := split(j.runProgram(t, "Sites", nil, noTemplates, nil))
	own, told := split(j.runProgram(t, "Sites", j.weaver(t, "full"), noTemplates, nil))
	if own != plain || !strings.HasPrefix(told, "| wrong 0 open 0\n") {
		t.Errorf("%.60s\n%s", told, difference(plain, own))
	}
}

// TestSitesOfShapes wraps the calls of another program, with templates around its
// methods, and has the templates tell what they tell where no call is wrapped.
func TestSitesOfShapes(t *testing.T) {
	j := compileSites(t, anyJDK(t), "17")
	for _, names := range [][]string{{"rich"}, {"outer", "middle", "inner"}} {
		pick := j.pickMost(t, names...)
		plain := j.runProgram(t, "Shapes", weave.NewWeaver(), pick, nil)
		if woven := j.runProgram(t, "Shapes", j.weaver(t, "site"), pick, nil); woven != plain {
			t.Errorf("%v: %s", names, difference(plain, woven))
		}
	}
}

// runProgram weaves the classes of a program, each changed before, and runs it.
func (j siteJava) runProgram(t *testing.T, program string, w *weave.Weaver, pick func(weave.MethodInfo) []*weave.Template, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(j.dir, program+"*.class"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no classes in %s: %v", j.dir, err)
	}
	for _, file := range files {
		data := readFile(t, file)
		if w != nil {
			if change != nil {
				data = change(data)
			}
			data = weaveSites(t, w, data, pick)
		}
		writeFile(t, filepath.Join(dir, filepath.Base(file)), data)
	}
	outcome := jvmtest.Run(t, j.jdk, "-Xverify:all", "-cp", dir+string(os.PathListSeparator)+j.dir, program)
	if outcome.Exit != 0 {
		t.Fatalf("exit code %d\n%s\n%s", outcome.Exit, outcome.Stdout, outcome.Stderr)
	}
	return outcome.Stdout
}

// weaveSites weaves a class in which nothing may be left alone but calls before
// super(...), and has the reference parser read the result.
func weaveSites(t *testing.T, w *weave.Weaver, data []byte, pick func(weave.MethodInfo) []*weave.Template) []byte {
	t.Helper()
	result, err := w.Weave(data, pick)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Methods {
		for _, left := range m.Left {
			if kindOf(left.Reason) != weave.BeforeSuper || m.Name != "<init>" {
				t.Errorf("%s%s: the call of %s at %d is left alone: %v", m.Name, m.Descriptor, left.Call.Name, left.Offset, left.Reason)
			}
		}
		if !m.Woven && len(m.Left) == 0 {
			t.Errorf("%s%s is left alone: %v", m.Name, m.Descriptor, m.Reason)
		}
	}
	if result.Bytes == nil {
		return data
	}
	judge(t, result)
	checkMap(t, data, result)
	return result.Bytes
}

// kindOf is the kind of the reason that an error is.
func kindOf(err error) weave.ReasonKind {
	var reason *weave.Reason
	if errors.As(err, &reason) {
		return reason.Kind
	}
	return ""
}

// judge has a woven class read by the reference parser and checked.
func judge(t *testing.T, result *weave.Result) {
	t.Helper()
	if _, err := classtest.Describe(result.Bytes); err != nil {
		t.Errorf("the reference parser refuses the woven class: %v", err)
	}
	if err := code.Check(parse(t, result.Bytes)); err != nil {
		t.Errorf("the woven class is not sound: %v", err)
	}
}

// checkCounts holds what SiteHooks tells against what the program says of itself.
func checkCounts(t *testing.T, own, told string) {
	t.Helper()
	if !strings.HasPrefix(told, "| wrong 0 open 0\n") {
		t.Errorf("calls are not left as they were entered: %.60s", told)
	}
	var ticks, failures int
	line := own[strings.LastIndex(own, "ticks"):]
	if _, err := fmt.Sscanf(line, "ticks %d failures %d", &ticks, &failures); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	counts := make(map[int32][3]int)
	for line := range strings.Lines(told) {
		var id int32
		var c [3]int
		if n, _ := fmt.Sscanf(line, "| %d %d %d %d", &id, &c[0], &c[1], &c[2]); n == 4 {
			if counts[id] = c; c[0] != c[1]+c[2] {
				t.Errorf("call %d was entered %d times, left %d and thrown out of %d times", id, c[0], c[1], c[2])
			}
		}
	}
	returned := 0
	for _, method := range []string{"tick(I)I", "wide(J)J", "real(D)D", "count()V", "odd()Z"} {
		name, desc, _ := strings.Cut(method, "(")
		returned += counts[weave.MethodID("Sites", name, "("+desc)][1]
	}
	thrown := counts[weave.MethodID("Sites", "fails", "(Ljava/lang/String;)Ljava/lang/Object;")]
	// Derived(String) runs three times and calls tick three times before super(...);
	// Derived() runs once and calls real before this(...).
	const beforeSuper = 3*3 + 1
	if returned != ticks-beforeSuper || thrown != [3]int{failures, 0, failures} {
		t.Errorf("the program counts %d calls and %d that throw; told are %d (and %d before super) and %v", ticks, failures, returned, beforeSuper, thrown)
	}
	if native := counts[weave.MethodID("java/lang/System", "arraycopy", "(Ljava/lang/Object;ILjava/lang/Object;II)V")]; native != [3]int{2, 1, 1} {
		t.Errorf("System.arraycopy was called %v times", native)
	}
}

// ofVersion makes a class one of an older version, without frames, unless it has
// what no such class may have.
func ofVersion(t testing.TB, data []byte, major uint16) []byte {
	t.Helper()
	c := parse(t, data)
	if c.Access.Has(classfile.AccInterface) || c.Find(c.Attributes, classfile.KindBootstrapMethods) != nil {
		return data
	}
	for i := range c.Methods {
		a := c.Find(c.Methods[i].Attributes, classfile.KindCode)
		if a == nil {
			continue
		}
		contents, err := c.Decode(*a)
		if err != nil {
			t.Fatal(err)
		}
		body := contents.(*classfile.Code)
		body.Attributes = slices.DeleteFunc(body.Attributes, func(inner classfile.Attribute) bool {
			return c.Kind(inner.Name) == classfile.KindStackMapTable
		})
		if a.Data, err = body.AppendTo(nil); err != nil {
			t.Fatal(err)
		}
	}
	c.Major = major
	out, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
