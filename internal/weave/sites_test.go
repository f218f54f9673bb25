package weave_test

import (
	"bytes"
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
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
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
	return weave.MethodID(classfile.MethodRef{Class: c.Owner, Name: c.Name, Descriptor: c.Descriptor}), c.Owner != "SiteHooks" && (c.Owner != "java/lang/StringBuilder" || c.Name == "append" && c.Descriptor[1] == 'J')
}

func noTemplates(weave.MethodInfo) []*weave.Template { return nil }

// TestSites wraps every call of the program Sites and runs it under the verifier: it
// prints what it prints unwoven, each call is left as it was entered, and those it
// counts itself are told as often as it says.
func TestSites(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
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
	for _, jdk := range jvmtest.OneJDK(t) {
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
	outcome := jvmtest.RunBriefly(t, j.jdk, "-Xverify:all", "-cp", dir+string(os.PathListSeparator)+j.dir, program)
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
	if err := new(code.Lifter).Check(parse(t, result.Bytes)); err != nil {
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
		returned += counts[weave.MethodID(classfile.MethodRef{Class: "Sites", Name: name, Descriptor: "(" + desc})][1]
	}
	thrown := counts[weave.MethodID(classfile.MethodRef{Class: "Sites", Name: "fails", Descriptor: "(Ljava/lang/String;)Ljava/lang/Object;"})]
	// Derived(String) runs three times and calls tick three times before super(...);
	// Derived() runs once and calls real before this(...).
	const beforeSuper = 3*3 + 1
	if returned != ticks-beforeSuper || thrown != [3]int{failures, 0, failures} {
		t.Errorf("the program counts %d calls and %d that throw; told are %d (and %d before super) and %v", ticks, failures, returned, beforeSuper, thrown)
	}
	if native := counts[weave.MethodID(classfile.MethodRef{Class: "java/lang/System", Name: "arraycopy", Descriptor: "(Ljava/lang/Object;ILjava/lang/Object;II)V"})]; native != [3]int{2, 1, 1} {
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
		if a.Data, err = classfile.AppendContents(nil, body); err != nil {
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

// TestSitesKeepAnnotations: an annotation on a type argument stays with its
// instruction, be it a call, and one on a caught type with its handler, though blocks
// were put before it.
func TestSitesKeepAnnotations(t *testing.T) {
	jdk := anyJDK(t)
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/java/Annotated.java"}, Flags: []string{"--release", "8", "-Xlint:none"}})
	data := readFile(t, filepath.Join(dir, "Annotated.class"))
	result, err := compileSites(t, jdk, "8").weaver(t, "site").Weave(data, noTemplates)
	if err != nil {
		t.Fatal(err)
	}
	before, after := annotations(t, parse(t, data)), annotations(t, parse(t, result.Bytes))
	calls := 0
	for i, a := range before {
		now := after[i]
		if a.at < 0 {
			if a.caught != "java/lang/IllegalStateException" || now.caught != a.caught {
				t.Errorf("a handler's annotation is at one of %s, was at one of %s", now.caught, a.caught)
			}
			continue
		}
		if was, ok := result.Methods[0].Offsets.Old(now.at); !ok || was != a.at {
			t.Errorf("an annotation of offset %d is at %d, where offset %d was", a.at, now.at, was)
		}
		if a.call {
			calls++
		}
	}
	if len(before) != 4 || len(after) != 4 || calls != 1 || len(result.Methods) != 1 {
		t.Errorf("annotations %v, then %v", before, after)
	}
}

// annotated is where an annotation is: an offset, or else what a handler catches.
type annotated struct {
	at     int
	call   bool
	caught string
}

func annotations(t *testing.T, class *classfile.Class) []annotated {
	t.Helper()
	var list []annotated
	for i := range class.Methods {
		body, err := code.Lift(class, &class.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range body.TypeAnnotations {
			if a.At == nil {
				name, err := class.Pool.ClassName(body.Handlers[a.Target.Index].Catch)
				if err != nil {
					t.Error(err)
				}
				list = append(list, annotated{at: -1, caught: string(name)})
				continue
			}
			n := a.At
			for n.Kind != code.Instruction {
				n = n.Next()
			}
			_, _, _, err := class.Pool.Member(n.Index())
			list = append(list, annotated{at: n.Offset(), call: err == nil})
		}
	}
	return list
}

// siteModules are those of a JDK of which some classes have every call wrapped; they
// can be replaced in a JVM without its noticing before they are used.
var siteModules = map[string]int{"java.xml": 8, "jdk.compiler": 6, "java.desktop": 40}

// TestSitesCorpus wraps every call of some hundred classes of each JDK, and has the
// JVM verify them.
func TestSitesCorpus(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			j := compileSites(t, jdk, "8")
			w, probe := j.weaver(t, "site"), j.pick(t, "probe")
			root := t.TempDir()
			var names []string
			wrapped, left := 0, make(map[weave.ReasonKind]int)
			eachOfModules(t, jdk, func(module, path string, data []byte) {
				pick := noTemplates
				if len(names)%2 == 0 {
					pick = probe
				}
				result, err := w.Weave(data, pick)
				if err != nil {
					t.Errorf("%s: %v", path, err)
				}
				if err != nil || result.Bytes == nil {
					return // it has no calls
				}
				judge(t, result)
				if len(names)%4 == 0 {
					checkMap(t, data, result)
				}
				for _, m := range result.Methods {
					wrapped += m.Sites
					if len(m.Left) > 0 && m.Sites == 0 && m.Woven != (len(names)%2 == 0) {
						t.Errorf("%s: %s%s, whose calls are left alone, is woven: %v, %v", path, m.Name, m.Descriptor, m.Woven, m.Reason)
					}
					for _, l := range m.Left {
						left[kindOf(l.Reason)]++
					}
				}
				writeFile(t, filepath.Join(root, module, path), result.Bytes)
				names = append(names, strings.ReplaceAll(strings.TrimSuffix(path, ".class"), "/", "."))
			})
			t.Logf("%d classes, %d calls wrapped; left alone: %v", len(names), wrapped, left)
			if len(names) < 200 || wrapped < 10000 {
				t.Error("too few")
			}
			for kind := range left {
				if kind != weave.TooLarge && kind != weave.BeforeSuper {
					t.Errorf("left alone: %s", kind)
				}
			}
			list := filepath.Join(root, "list")
			writeFile(t, list, []byte(strings.Join(names, "\n")))
			args := []string{"-Xverify:all", "-Xshare:off"}
			for module := range siteModules {
				args = append(args, "--patch-module", module+"="+filepath.Join(root, module))
			}
			outcome := jvmtest.RunBriefly(t, jdk, append(args, "-cp", j.dir, "LinkAll", list)...)
			if want := fmt.Sprintf("linked %d\n", len(names)); outcome.Stdout != want {
				t.Errorf("%.2000s\n%.2000s", outcome.Stdout, outcome.Stderr)
			}
		})
	}
}

// eachOfModules visits a sample of classes that have calls.
func eachOfModules(t *testing.T, jdk jvmtest.JDK, visit func(module, path string, data []byte)) {
	t.Helper()
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = image.Close() }() // only read
	count := make(map[string]int)
	err = image.Each(func(module, path string, data []byte) error {
		if siteModules[module] == 0 || !strings.HasSuffix(path, ".class") || len(data) < 3000 {
			return nil
		}
		if count[module]++; count[module]%siteModules[module] == 0 {
			visit(module, path, bytes.Clone(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSitesDeterminism: the same class is woven to the same bytes, by whichever
// weaver, whatever it wove before.
func TestSitesDeterminism(t *testing.T) {
	j := compileSites(t, anyJDK(t), "17")
	classes := someClasses(t, j.java)
	w := j.weaver(t, "site")
	first := weaveEach(t, w, classes, j.pick(t, "probe"))
	weaveEach(t, w, classes, noTemplates)
	wantSame(t, "again", first, weaveEach(t, w, classes, j.pick(t, "probe")))
	wantSame(t, "by another weaver", first, weaveEach(t, j.weaver(t, "site"), classes, j.pick(t, "probe")))
}

// TestLiveTemplateFitsCalls: what sessions weave around methods can be woven around
// calls too.
func TestLiveTemplateFitsCalls(t *testing.T) {
	j := compileSites(t, anyJDK(t), "17")
	w := weave.NewWeaver()
	var err error
	if w.SiteTemplate, err = weave.CompileSiteTemplate(agent.LiveTemplate()); err != nil {
		t.Fatal(err)
	}
	w.Sites = everyCall
	class, method := agent.LiveTemplate()
	live := compiled(t, class, method)
	woven := weaveSites(t, w, readFile(t, filepath.Join(j.dir, "Sites.class")), func(weave.MethodInfo) []*weave.Template {
		return []*weave.Template{live}
	})
	if !bytes.Contains(woven, []byte(agent.HookClass())) {
		t.Errorf("the woven class does not name %s", agent.HookClass())
	}
}

// siteShapes are calls as no compiler places them. Each class has run(int); what is
// left alone is a call, not a method.
func siteShapes() []handmade {
	abs := func(b *classtest.Builder) uint16 { return b.Method("java/lang/Math", "abs", "(I)I") }
	exact := func(b *classtest.Builder) uint16 { return b.Method("java/lang/Math", "toIntExact", "(J)I") }
	return []handmade{
		{name: "JumpsToCall", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("lconst_1", "iload_0", "iload_0").Jump("ifgt", "call").Ops("iconst_3", "imul").
				Label("call").Op("invokestatic", abs(b)).Ops("i2l", "ladd", "l2i", "ireturn")
			run(b, a, 4, 1, at{"call", types(intType), types(longType, intType)})
		}},
		{name: "BlocksAtCall", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			// The first block that encloses the call catches, though one that begins
			// right behind it and one that ends right before it would too.
			a := asm().Label("before").Op("ldc2_w", b.Long(1, 0)).Ops("iload_0", "i2l", "lmul").
				Label("call").Op("invokestatic", exact(b)).
				Label("behind").Ops("ireturn").
				Label("wrong").Ops("pop", "iconst_m1", "ireturn").
				Label("right").Ops("pop", "bipush").Raw(uint8(42)).Op("ireturn").
				Label("late").Ops("pop", "iconst_2", "ireturn").
				Catch("before", "call", "wrong", 0).
				Catch("behind", "wrong", "wrong", 0).
				Catch("call", "behind", "wrong", b.Class("java/lang/NullPointerException")).
				Catch("call", "behind", "right", b.Class("java/lang/ArithmeticException")).
				Catch("call", "behind", "late", 0)
			throwable := types(object(b, "java/lang/Throwable"))
			run(b, a, 4, 1, at{"wrong", types(intType), throwable}, at{"right", types(intType), throwable}, at{"late", types(intType), throwable})
		}},
		{name: "NeverCalls", majors: oldAndNew, left: map[string]weave.ReasonKind{"run": weave.Unreachable}, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("iload_0", "ireturn").Label("dead").Op("iload_0").Op("invokestatic", abs(b)).Op("ireturn")
			// The walk follows control, and a frame alone leads nowhere.
			run(b, a, 1, 1, at{"dead", types(intType), nil})
		}},
		{name: "CallOverAddress", majors: []uint16{48}, left: map[string]weave.ReasonKind{"run": weave.OddStack}, build: func(b *classtest.Builder, self string) {
			a := asm().Jump("jsr", "sub").Ops("iload_0", "ireturn").
				Label("sub").Op("iload_0").Op("invokestatic", abs(b)).Ops("istore_0", "astore_1").Op("ret", uint8(1))
			run(b, a, 2, 2)
		}},
		{name: "CallInSubroutine", majors: []uint16{46, 48}, build: func(b *classtest.Builder, self string) {
			a := asm().Label("try").Jump("jsr", "sub").Ops("iload_0", "ireturn").
				Label("sub").Op("astore_1").Op("ldc2_w", b.Long(1, 0)).Ops("iload_0", "i2l", "lmul").Op("invokestatic", exact(b)).
				Op("istore_0").Op("ret", uint8(1)).
				Label("handler").Ops("pop", "iconst_4", "ireturn").
				Catch("try", "handler", "handler", 0)
			run(b, a, 4, 2)
		}},
		{name: "ForgetsThis", majors: oldAndNew, left: map[string]weave.ReasonKind{"<init>": weave.BeforeSuper}, build: func(b *classtest.Builder, self string) {
			runNew(b, self)
			a := asm().Ops("aload_0", "aconst_null", "astore_0", "iload_1").Op("invokestatic", abs(b)).Op("istore_1").
				Op("invokespecial", objectInit(b)).Op("iload_1").Op("invokestatic", abs(b)).Ops("pop", "return")
			b.AddMethod(public, "<init>", "(I)V", a.Code(b, 2, 2))
		}},
	}
}

// TestSitesOfHandmade wraps every call of classes no compiler writes, alone and with
// templates around the methods, and demands what they do unwoven.
func TestSitesOfHandmade(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			j := compileSites(t, jdk, "8")
			root := t.TempDir()
			folders := []string{"plain", "site", "site+rich", "tangled+probe"}
			args := []string{"-Xverify:all", "-Xint", "-cp", j.dir, "RunAll"}
			for _, folder := range folders {
				site, around, _ := strings.Cut(folder, "+")
				pick, w := noTemplates, weave.NewWeaver()
				if around != "" {
					pick = j.pick(t, around)
				}
				if site != "plain" {
					w = j.weaver(t, site)
				}
				for _, h := range concat(handmades, siteShapes()) {
					for _, major := range h.majors {
						b := classtest.NewBuilder(major, h.name)
						h.build(b, h.name)
						result, err := w.Weave(b.Bytes(), pick)
						if err != nil {
							t.Fatalf("%s %s: %v", folder, h.name, err)
						}
						h.checkSites(t, result, major)
						data := b.Bytes()
						if result.Bytes != nil {
							judge(t, result)
							checkMap(t, data, result)
							data = result.Bytes
						}
						writeFile(t, filepath.Join(root, folder, fmt.Sprintf("%s_%d.class", h.name, major)), data)
					}
				}
				args = append(args, filepath.Join(root, folder))
			}
			compareSiteRuns(t, jvmtest.RunBriefly(t, jdk, args...), len(folders))
		})
	}
}

// checkSites: of the classes made for it, those calls are left alone that are to be.
func (h handmade) checkSites(t *testing.T, result *weave.Result, major uint16) {
	t.Helper()
	for _, m := range result.Methods {
		for _, l := range m.Left {
			if kind := kindOf(l.Reason); kind != h.left[m.Name] && kind != weave.BeforeSuper && kind != weave.TooLarge {
				t.Errorf("%s_%d: the call of %s in %s is left alone: %v", h.name, major, l.Call.Name, m.Name, l.Reason)
			}
		}
		if want := h.left[m.Name]; (want == weave.Unreachable || want == weave.OddStack || want == weave.BeforeSuper) && len(m.Left) == 0 && m.Sites > 0 {
			t.Errorf("%s_%d: a call in %s is wrapped, should be left alone because %s", h.name, major, m.Name, want)
		}
	}
}

func compareSiteRuns(t *testing.T, outcome jvmtest.Outcome, folders int) {
	t.Helper()
	plain, ran := make(map[string]string), 0
	for line := range strings.Lines(outcome.Stdout) {
		where, what, _ := strings.Cut(strings.TrimSpace(line), ":")
		what, _, _ = strings.Cut(what, " depth ")
		folder, file, _ := strings.Cut(where, "/")
		ran++
		if folder == "plain" {
			plain[file] = what
			if strings.Contains(what, "VerifyError") {
				t.Errorf("%s is not sound itself: %s", file, what)
			}
		} else if what != plain[file] {
			t.Errorf("%s\n    woven:   %s\n    unwoven: %s", where, what, plain[file])
		}
	}
	if ran != folders*len(plain) || ran == 0 {
		t.Errorf("%d classes ran\n%s", ran, outcome.Stderr)
	}
}

// TestSiteTemplateRefusals: a template that asks for what a call has not is refused.
func TestSiteTemplateRefusals(t *testing.T) {
	j := compileSites(t, anyJDK(t), "8")
	class := readFile(t, filepath.Join(j.dir, "SiteHooks.class"))
	for method, detail := range map[string]string{"asksForResult": "asks for more", "neverReturns": "never returns"} {
		_, err := weave.CompileSiteTemplate(class, method)
		var refused *weave.TemplateError
		if !errors.As(err, &refused) || !strings.Contains(refused.Detail, detail) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
