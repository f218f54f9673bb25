package weave_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// someClasses are woven in the tests of determinism: ours, the zoo's, and a sample of
// the JDK's, whose pools are large.
func someClasses(t *testing.T, j java) [][]byte {
	t.Helper()
	var all [][]byte
	for _, pattern := range []string{filepath.Join(j.dir, "*.class"), "../../classfile/testdata/zoo/17/*.class", "../../classfile/testdata/zoo/25/*.class"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			all = append(all, readFile(t, file))
		}
	}
	image, err := jimage.Open(j.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = image.Close() }() // only read
	count := 0
	err = image.Each(func(module, path string, data []byte) error {
		if module == "java.base" && strings.HasSuffix(path, ".class") {
			if count++; count%25 == 0 {
				all = append(all, bytes.Clone(data))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// weaveEach weaves classes with one weaver and returns the results.
func weaveEach(t testing.TB, w *weave.Weaver, classes [][]byte, pick func(weave.MethodInfo) []*weave.Template) [][]byte {
	t.Helper()
	var all [][]byte
	for _, class := range classes {
		result, err := w.Weave(class, pick)
		if err != nil {
			t.Error(err)
			return nil
		}
		all = append(all, result.Bytes)
	}
	return all
}

func wantSame(t testing.TB, what string, want, have [][]byte) {
	t.Helper()
	for i := range want {
		if i >= len(have) || !bytes.Equal(want[i], have[i]) {
			t.Errorf("%s: class %d is woven to other bytes", what, i)
			return
		}
	}
}

// TestDeterminism: what comes out depends on the class and the templates alone.
func TestDeterminism(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	classes := someClasses(t, j)
	originals := make([][]byte, len(classes))
	for i := range classes {
		originals[i] = bytes.Clone(classes[i])
	}
	rich, probe, all := j.pick(t, "rich", "tangled"), j.pick(t, "probe"), j.pick(t, "all")
	w := weave.NewWeaver()
	first := weaveEach(t, w, classes, rich)
	wantSame(t, "again", first, weaveEach(t, w, classes, rich))
	probed := weaveEach(t, w, classes, probe)
	weaveEach(t, w, classes, all)
	wantSame(t, "after other templates", first, weaveEach(t, w, classes, rich))
	wantSame(t, "the other template, after this", probed, weaveEach(t, w, classes, probe))
	wantSame(t, "by another weaver", first, weaveEach(t, weave.NewWeaver(), classes, rich))
	wantSame(t, "by a template compiled anew", first, weaveEach(t, w, classes, j.pick(t, "rich", "tangled")))

	backwards := make([][]byte, len(classes))
	for i := range classes {
		result, err := w.Weave(classes[len(classes)-1-i], rich)
		if err != nil {
			t.Fatal(err)
		}
		backwards[len(classes)-1-i] = result.Bytes
	}
	wantSame(t, "in another order", first, backwards)
	wantSame(t, "the input", originals, classes)
}

// TestDeterminismOfProcesses: another process weaves the same bytes, though hashes are
// seeded anew in each.
func TestDeterminismOfProcesses(t *testing.T) {
	const inner = "SONDE_TEST_WEAVE_DIGEST"
	j := compileJava(t, anyJDK(t), "17")
	if os.Getenv(inner) != "" {
		sum := sha256.New()
		for _, pick := range []func(weave.MethodInfo) []*weave.Template{j.pick(t, "tangled"), j.pick(t, "all", "rich")} {
			for _, woven := range weaveEach(t, weave.NewWeaver(), someClasses(t, j), pick) {
				_, _ = sum.Write(woven) // never fails
			}
		}
		fmt.Printf("digest %x\n", sum.Sum(nil))
		return
	}
	var first string
	for range 5 {
		command := exec.Command(os.Args[0], "-test.run=^TestDeterminismOfProcesses$")
		command.Env = append(os.Environ(), inner+"=1")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		digest, _, _ := strings.Cut(string(out), "\n")
		if !strings.HasPrefix(digest, "digest ") {
			t.Fatalf("no digest in %s", out)
		}
		if first == "" {
			first = digest
		}
		if digest != first {
			t.Fatalf("one process gives %s, another %s", first, digest)
		}
	}
}

// TestConcurrency: weavers share templates and nothing else. Under -race this also
// shows that weaving writes to no template.
func TestConcurrency(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	classes := someClasses(t, j)
	pick := j.pick(t, "rich", "tangled", "all")
	want := weaveEach(t, weave.NewWeaver(), classes, pick)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			wantSame(t, "concurrently", want, weaveEach(t, weave.NewWeaver(), classes, pick))
		})
	}
	workers.Wait()
}

// TestAppend: the woven class stands behind what was there, and in the memory that
// was there; a class that is not woven leaves it as it is.
func TestAppend(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	pick := j.pick(t, "rich")
	w := weave.NewWeaver()
	for i, class := range someClasses(t, j) {
		want, err := w.Weave(class, pick)
		if err != nil {
			t.Fatal(err)
		}
		wanted := bytes.Clone(want.Bytes)
		dst := append(make([]byte, 0, 1<<20), "before"...)
		have, err := w.Append(dst, class, pick)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have.Bytes, wanted) {
			t.Fatalf("class %d: Append and Weave differ", i)
		}
		if have.Bytes != nil && (&have.Bytes[0] != &dst[:7][6] || string(dst) != "before") {
			t.Fatalf("class %d was not written behind what was there", i)
		}
	}
}

// TestDeterminismOfHistory: what a weaver wove before, and how its tables have grown
// by that, does not show in what it weaves.
func TestDeterminismOfHistory(t *testing.T) {
	jdk := anyJDK(t)
	pick := compileGrid(t, jdk).pick(t, "nested", "across")
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	old, done, n := weave.NewWeaver(), errors.New("enough"), 0
	err = image.Each(func(module, path string, data []byte) error {
		if module != "java.base" || !strings.HasSuffix(path, ".class") {
			return nil
		}
		with, err := old.Weave(data, pick)
		if err != nil {
			return err
		}
		without, err := weave.NewWeaver().Weave(data, pick)
		if err != nil {
			return err
		}
		if !bytes.Equal(with.Bytes, without.Bytes) {
			t.Errorf("%s: a weaver with a past gives %d bytes, a new one %d", path, len(with.Bytes), len(without.Bytes))
		}
		if n++; n == 1000 {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Errorf("after %d classes: %v", n, err)
	}
}

// TestArgumentsAreTold: a debugger that stops at the method's entry, which is now the
// prolog's, finds the arguments' variables there.
func TestArgumentsAreTold(t *testing.T) {
	j := compileGrid(t, anyJDK(t))
	data := readFile(t, filepath.Join(j.dir, "GridTarget.class"))
	result, err := weave.NewWeaver().Weave(data, j.pick(t, "across", "loopBefore"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := classfile.Parse(result.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range c.Methods {
		body, err := code.Lift(c, &c.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		for k := range body.Vars {
			v := &body.Vars[k]
			name, _ := c.Pool.Utf8(v.Name)
			if told++; v.Start.Offset() != 0 {
				t.Errorf("%s begins at %d", name, v.Start.Offset())
			}
		}
		if first := body.First(); first == nil || lineAt(body) != 0 {
			t.Errorf("method %d: the first line begins at %d", i, lineAt(body))
		}
	}
	if told == 0 {
		t.Error("no variable is told at all")
	}
}

// lineAt returns where the first line number of a body begins.
func lineAt(body *code.Body) int {
	for n := body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Line {
			return n.Offset()
		}
	}
	return -1
}

// TestFailingEpilog: blocks nest, the target's inside the template's. What an epilog
// throws goes to the caller, and never to a handler of the target, though that covers
// the target's return.
func TestFailingEpilog(t *testing.T) {
	jdk := anyJDK(t)
	j := compileJava(t, jdk, "8")
	for _, major := range oldAndNew {
		for _, templates := range [][]string{{"failing"}, {"probe", "failing"}, {"rich", "failing"}, {"failing", "probe"}, {"failing", "rich"}} {
			b := classtest.NewBuilder(major, "Covered")
			a := asm().Label("top").Ops("iload_0", "ireturn").
				Label("handler").Op("pop").Op("bipush", int8(9)).Op("ireturn").Catch("top", "handler", "handler", 0)
			run(b, a, 2, 1, at{"handler", types(intType), types(object(b, "java/lang/Throwable"))})
			result, err := weaveCalmly(b.Bytes(), j.pick(t, templates...))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "Covered.class"), result.Bytes)
			outcome := jvmtest.RunBriefly(t, jdk, "-cp", j.dir, "RunAll", dir)
			const thrown = " java.lang.IllegalStateException: the epilog failed"
			own, told := split(outcome.Stdout)
			if want := "Covered.class:" + strings.Repeat(thrown, 5) + " depth 0"; !strings.HasSuffix(strings.TrimSpace(own), want) {
				t.Errorf("version %d, %v\n gives %s want  …%s\n%s", major, templates, own, want, outcome.Stderr)
			}
			if n := strings.Count(told, "failing"); n != 5 {
				t.Errorf("version %d, %v: five calls, and %d epilogs ran", major, templates, n)
			}
		}
	}
}

// farBranches is a class with n branches that come out of reach when the thousand
// returns they leap over become jumps.
func farBranches(n int) []byte {
	const returns = 1000
	b := classtest.NewBuilder(52, "Far")
	a := asm()
	var frames []at
	for range n {
		a.Op("iload_0").Jump("ifgt", "far")
	}
	for i := range returns {
		next := fmt.Sprint("return", i)
		a.Op("iload_0").Jump("ifle", next).Ops("iconst_0", "ireturn").Label(next)
		frames = append(frames, at{next, types(intType), nil})
	}
	a.Fill(32750-4*n-6*returns, "nop").Label("far").Ops("iload_0", "ireturn")
	run(b, a, 1, 1, append(frames, at{"far", types(intType), nil})...)
	return b.Bytes()
}

// TestFarBranches: each branch that is widened gets a frame behind it.
func TestFarBranches(t *testing.T) {
	const n = 20
	template := handmadeTemplates(t)["rich"]
	data := farBranches(n)
	result, err := weave.NewWeaver().Weave(data, func(weave.MethodInfo) []*weave.Template { return []*weave.Template{template} })
	if err != nil || !result.Methods[0].Woven {
		t.Fatalf("%v, %v", err, result)
	}
	checkMap(t, data, result)
	if _, err := classtest.Describe(result.Bytes); err != nil {
		t.Error(err)
	}
}

// BenchmarkFarBranches shows whether the time grows with the number of far branches,
// and not with its square.
func BenchmarkFarBranches(b *testing.B) {
	template := handmadeTemplates(b)["rich"]
	for _, n := range []int{100, 200, 400} {
		data := farBranches(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			weaver := weave.NewWeaver()
			for b.Loop() {
				if _, err := weaver.Weave(data, func(weave.MethodInfo) []*weave.Template { return []*weave.Template{template} }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMalformedBodies: code no verifier would let pass is woven or left alone; it
// never makes the weaver panic, and the other methods of the class are woven.
func TestMalformedBodies(t *testing.T) {
	templates := handmadeTemplates(t)
	for _, test := range []struct {
		name, descriptor string
		access           uint16
		body             func(b *classtest.Builder) *classtest.Assembler
	}{
		{"returnsNothing", "()I", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("ireturn") }},
		{"returnsHalf", "()J", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Ops("iconst_0", "lreturn") }},
		{"returnsOther", "()V", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Ops("iconst_0", "ireturn") }},
		{"returnsBehindJump", "()I", publicStatic, func(*classtest.Builder) *classtest.Assembler {
			return asm().Jump("goto", "end").Op("nop").Label("end").Op("ireturn")
		}},
		{"runsOff", "()V", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("nop") }},
		{"popsTooMuch", "()I", publicStatic, func(*classtest.Builder) *classtest.Assembler {
			return asm().Jump("goto", "end").Label("end").Ops("pop2", "iadd", "ireturn")
		}},
		{"namelessArray", "()V", public, func(b *classtest.Builder) *classtest.Assembler {
			return asm().Ops("iconst_0").Op("anewarray", b.Class("")).Jump("goto", "end").Label("end").Ops("iconst_0", "return")
		}},
		{"<init>", "()V", public, func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("iconst_0").Op("anewarray", b.Class("")).Jump("ifnull", "end").Label("end").Op("return")
		}},
		{"<init>", "(I)V", public, func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("aload_0").Jump("ifnull", "end").Label("end").Op("invokespecial", uint16(0)).Op("return")
		}},
		{"takesMore", "(JJJ)V", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("return") }},
		{"odd", "I", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("return") }},
		{"odd", "(L)V", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("return") }},
		{"odd", "()L", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Ops("aconst_null", "areturn") }},
		{"odd", "()", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("return") }},
		{"odd", "", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("return") }},
		{"odd", "()[", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Ops("aconst_null", "areturn") }},
		{"", "()V", publicStatic, func(*classtest.Builder) *classtest.Assembler { return asm().Op("return") }},
	} {
		for _, major := range oldAndNew {
			b := classtest.NewBuilder(major, "Malformed")
			b.AddMethod(test.access, test.name, test.descriptor, test.body(b).Code(b, 4, 2))
			b.AddMethod(publicStatic, "sound", "()V", asm().Op("return").Code(b, 0, 0))
			for _, list := range [][]*weave.Template{
				{templates["probe"]}, {templates["rich"]}, {templates["probe"], templates["rich"]}, {templates["rich"], templates["rich"]},
			} {
				result, err := weaveCalmly(b.Bytes(), func(weave.MethodInfo) []*weave.Template { return list })
				if err != nil {
					t.Errorf("%s%s, version %d, %d templates: %v", test.name, test.descriptor, major, len(list), err)
					continue
				}
				if !result.Methods[1].Woven {
					t.Errorf("%s%s, version %d: the method behind it is left alone: %v", test.name, test.descriptor, major, result.Methods[1].Reason)
				}
				var reason *weave.Reason
				if m := result.Methods[0]; !m.Woven && !errors.As(m.Reason, &reason) {
					t.Errorf("%s%s is left alone for a reason of type %T: %v", test.name, test.descriptor, m.Reason, m.Reason)
				}
			}
		}
	}
}

// checkMap holds the offset maps of a woven class against its code: at the new place
// of each original instruction stands the same instruction, unless it was a return or
// a branch, which may have become something else.
func checkMap(t *testing.T, original []byte, result *weave.Result) {
	t.Helper()
	before, after := parse(t, original), parse(t, result.Bytes)
	for _, r := range result.Methods {
		if !r.Woven {
			continue
		}
		old, now := instructions(t, before, r.Name, r.Descriptor), instructions(t, after, r.Name, r.Descriptor)
		for at, n := range old {
			if n.Op().IsReturn() {
				continue
			}
			place, ok := movedTo(r.Offsets, at)
			if !ok {
				t.Errorf("%s%s: nothing is known of offset %d", r.Name, r.Descriptor, at)
				return
			}
			there := now[place]
			if there == nil || there.Op() != n.Op() && !(n.Op().IsConditional() && there.Op() == n.Op().Inverse()) {
				t.Errorf("%s%s: %s at %d should stand at %d, where %v stands", r.Name, r.Descriptor, n.Op(), at, place, opcodeOf(there))
				return
			}
			if back, ok := r.Offsets.Old(place); !ok || back != at {
				t.Errorf("%s%s: what stands at %d stood at %d; the map says %d, %v", r.Name, r.Descriptor, place, at, back, ok)
				return
			}
		}
	}
}

func opcodeOf(n *code.Node) any {
	if n == nil {
		return "nothing"
	}
	return n.Op()
}

func parse(t testing.TB, data []byte) *classfile.Class {
	t.Helper()
	class, err := classfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return class
}

// instructions lists the instructions of a method by offset.
func instructions(t testing.TB, class *classfile.Class, name, descriptor string) map[int]*code.Node {
	t.Helper()
	for i := range class.Methods {
		n, d, err := class.MemberName(&class.Methods[i])
		if err != nil || string(n) != name || string(d) != descriptor {
			continue
		}
		body, err := code.Lift(class, &class.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		list := map[int]*code.Node{}
		for n := body.First(); n != nil; n = n.Next() {
			if n.Kind == code.Instruction {
				list[n.Offset()] = n
			}
		}
		return list
	}
	t.Fatalf("no method %s%s", name, descriptor)
	return nil
}

// TestMapOfReturns: a return that became a jump or a store is found where the jump
// or the store stands.
func TestMapOfReturns(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	data := readFile(t, j.dir+"/Shapes.class")
	result, err := weave.NewWeaver().Weave(data, j.pick(t, "rich"))
	if err != nil {
		t.Fatal(err)
	}
	before, after := parse(t, data), parse(t, result.Bytes)
	for _, r := range result.Methods {
		now := instructions(t, after, r.Name, r.Descriptor)
		for at, n := range instructions(t, before, r.Name, r.Descriptor) {
			if !n.Op().IsReturn() || n.Op() == opcode.Return {
				continue
			}
			place, _ := movedTo(r.Offsets, at)
			if there := now[place]; there == nil || there.Op() != n.Op()-opcode.Ireturn+opcode.Istore {
				t.Errorf("%s%s: %s at %d should be a store at %d, where %v stands", r.Name, r.Descriptor, n.Op(), at, place, opcodeOf(there))
			}
		}
	}
}

// intrinsicTemplate calls one method of Template before the target or behind it, and
// drops what it gives.
func intrinsicTemplate(t *testing.T, before bool, argument int8, name, descriptor string) *weave.Template {
	t.Helper()
	const api = "sonde/template/Template"
	b := classtest.NewBuilder(52, "Intrinsic")
	call := asm()
	if argument >= 0 {
		call.Op("bipush", argument)
	}
	call.Op("invokestatic", b.Method(api, name, descriptor))
	switch descriptor[len(descriptor)-1] {
	case 'J', 'D':
		call.Op("pop2")
	default:
		call.Op("pop")
	}
	target := asm().Op("invokestatic", b.Method(api, "target", "()V"))
	first, second := target, call
	if before {
		first, second = call, target
	}
	whole := asm().Raw(bytesOf(first), bytesOf(second)).Op("return")
	b.AddMethod(publicStatic, "t", "()V", whole.Code(b, 2, 0))
	return compiled(t, b.Bytes(), "t")
}

// bytesOf are the instructions of a body that has no jumps.
func bytesOf(a *classtest.Assembler) []byte {
	const header, tail = 6 + 8, 4
	attribute := a.Code(classtest.NewBuilder(52, "X"), 0, 0)
	return attribute[header : len(attribute)-tail]
}

// TestFits asks methods for what they have and for what they have not.
func TestFits(t *testing.T) {
	b := classtest.NewBuilder(52, "Target")
	b.AddMethod(publicStatic, "none", "()V", asm().Op("return").Code(b, 0, 0))
	b.AddMethod(publicStatic, "mixed", "(ZJFDLjava/lang/String;[I)J", asm().Op("lload_1").Op("lreturn").Code(b, 2, 9))
	b.AddMethod(public, "<init>", "(C)V", asm().Op("aload_0").Op("invokespecial", objectInit(b)).Op("return").Code(b, 1, 2))
	class := b.Bytes()
	object, integer := "(I)Ljava/lang/Object;", "(I)I"
	for _, test := range []struct {
		method           string
		before           bool
		argument         int8
		name, descriptor string
		refused          string // detail of the reason, "" where it fits
	}{
		{"none", true, 0, "arg", object, "it uses argument 0, counted from 0, and the method has only 0"},
		{"none", true, -1, "self", "()Ljava/lang/Object;", ""},
		{"none", false, -1, "result", "()Ljava/lang/Object;", ""},
		{"none", false, -1, "resultInt", "()I", "the result is of another type"},
		{"none", true, -1, "argCount", "()I", ""},
		{"mixed", true, 5, "arg", object, ""},
		{"mixed", false, 6, "arg", object, "it uses argument 6, counted from 0, and the method has only 6"},
		{"mixed", true, 0, "argInt", integer, ""},
		{"mixed", true, 1, "argInt", integer, "argument 1 is of another type"},
		{"mixed", false, 1, "argLong", "(I)J", ""},
		{"mixed", false, 2, "argFloat", "(I)F", ""},
		{"mixed", false, 3, "argDouble", "(I)D", ""},
		{"mixed", false, 3, "argFloat", "(I)F", "argument 3 is of another type"},
		{"mixed", false, 4, "argInt", integer, "argument 4 is of another type"},
		{"mixed", false, -1, "resultLong", "()J", ""},
		{"mixed", false, -1, "resultDouble", "()D", "the result is of another type"},
		{"<init>", true, 0, "argInt", integer, ""},
		{"<init>", true, -1, "self", "()Ljava/lang/Object;", "it uses this before super(...) has initialised it"},
		{"<init>", false, -1, "self", "()Ljava/lang/Object;", ""},
	} {
		template := intrinsicTemplate(t, test.before, test.argument, test.name, test.descriptor)
		result, err := weave.NewWeaver().Weave(class, func(m weave.MethodInfo) []*weave.Template {
			if m.Name != test.method {
				return nil
			}
			return []*weave.Template{template}
		})
		if err != nil {
			t.Fatal(err)
		}
		m := result.Methods[0]
		var reason *weave.Reason
		errors.As(m.Reason, &reason)
		switch {
		case test.refused == "" && !m.Woven:
			t.Errorf("%s, %s%s %d: %v", test.method, test.name, test.descriptor, test.argument, m.Reason)
		case test.refused != "" && (reason == nil || reason.Kind != weave.DoesNotFit || reason.Detail != test.refused):
			t.Errorf("%s, %s%s %d: %v; want %s", test.method, test.name, test.descriptor, test.argument, m.Reason, test.refused)
		case test.refused != "" && result.Bytes != nil:
			t.Errorf("%s, %s%s %d: nothing was woven, yet there are bytes", test.method, test.name, test.descriptor, test.argument)
		}
	}
}

// TestNeedsNewerClass: what an old class cannot say is not woven into it.
func TestNeedsNewerClass(t *testing.T) {
	const target = "sonde/template/Template"
	for _, test := range []struct {
		name  string
		needs uint16
		use   func(b *classtest.Builder) *classtest.Assembler
	}{
		{"nothing", 45, func(*classtest.Builder) *classtest.Assembler { return asm() }},
		{"a class", 49, func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("ldc_w", b.Class("X")).Op("pop")
		}},
		{"a method type", 51, func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("ldc_w", b.Entry(16, b.Utf8("()V"))).Op("pop")
		}},
		{"a method handle", 51, func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("ldc_w", b.Handle(6, b.Method("X", "m", "()V"))).Op("pop")
		}},
		{"a static call of an interface", 52, func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokestatic", b.InterfaceMethod("X", "m", "()V"))
		}},
	} {
		b := classtest.NewBuilder(52, "Template")
		a := test.use(b).Op("invokestatic", b.Method(target, "target", "()V")).Op("return")
		b.AddMethod(publicStatic, "t", "()V", a.Code(b, 1, 0))
		template := compiled(t, b.Bytes(), "t")
		for major := uint16(45); major <= 53; major++ {
			c := classtest.NewBuilder(major, "Target")
			c.AddMethod(publicStatic, "m", "()V", asm().Op("return").Code(c, 0, 0))
			result, err := weave.NewWeaver().Weave(c.Bytes(), func(weave.MethodInfo) []*weave.Template { return []*weave.Template{template} })
			if err != nil {
				t.Fatal(err)
			}
			var reason *weave.Reason
			m := result.Methods[0]
			if woven := m.Woven; woven != (major >= test.needs) {
				t.Errorf("%s, version %d: woven is %v, %v", test.name, major, woven, m.Reason)
			}
			if !m.Woven && (!errors.As(m.Reason, &reason) || reason.Kind != weave.NeedsNewerClass) {
				t.Errorf("%s, version %d: %v", test.name, major, m.Reason)
			}
		}
	}
}

// TestMethodID: the number in woven code is the one MethodID gives, however large.
func TestMethodID(t *testing.T) {
	template := intrinsicTemplate(t, true, -1, "methodId", "()I")
	b := classtest.NewBuilder(52, "some/where/Target")
	for i := range 50 {
		b.AddMethod(publicStatic, fmt.Sprint("m", i), "()V", asm().Op("return").Code(b, 0, 0))
	}
	result, err := weave.NewWeaver().Weave(b.Bytes(), func(weave.MethodInfo) []*weave.Template { return []*weave.Template{template} })
	if err != nil {
		t.Fatal(err)
	}
	woven := parse(t, result.Bytes)
	seen := map[int32]bool{}
	for _, m := range result.Methods {
		n := instructions(t, woven, m.Name, m.Descriptor)[0]
		if !n.Is(opcode.Ldc) {
			t.Fatalf("%s begins with %s", m.Name, n.Op())
		}
		have, err := woven.Pool.Int(n.Index())
		if err != nil {
			t.Fatal(err)
		}
		if want := weave.MethodID(classfile.MethodRef{Class: "some/where/Target", Name: m.Name, Descriptor: m.Descriptor}); have != want {
			t.Errorf("%s: woven is %d, MethodID gives %d", m.Name, have, want)
		}
		seen[have] = true
	}
	if len(seen) != len(result.Methods) {
		t.Errorf("%d methods have %d numbers", len(result.Methods), len(seen))
	}
	want := int32(crc32.Checksum([]byte("some/where/Target.m0()V"), crc32.MakeTable(crc32.Castagnoli)))
	if have := weave.MethodID(classfile.MethodRef{Class: "some/where/Target", Name: "m0", Descriptor: "()V"}); have != want {
		t.Errorf("MethodID gives %d, the CRC-32C is %d", have, want)
	}
}

// movedTo returns the new offset of the instruction at an old offset. A changed instruction may
// make a run longer than it was, so the last run that begins before the offset counts.
func movedTo(m code.OffsetMap, old int) (int, bool) {
	for i := len(m) - 1; i >= 0; i-- {
		if in := old - int(m[i].Old); in >= 0 {
			return int(m[i].New) + in, in < int(m[i].Size)
		}
	}
	return 0, false
}
