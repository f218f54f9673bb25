package weave_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// mostSeed keeps the seeds small, so that changing one byte of them means something.
const mostSeed = 6 << 10

// addClasses makes seeds of the zoo, the broken classes and the handmade ones.
func addClasses(f *testing.F) {
	f.Helper()
	err := filepath.WalkDir("../../classfile/testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".class") {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && len(data) < mostSeed {
			f.Add(data)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, h := range handmades {
		for _, major := range h.majors {
			b := classtest.NewBuilder(major, h.name)
			h.build(b, h.name)
			if data := b.Bytes(); len(data) < mostSeed {
				f.Add(data)
			}
		}
	}
}

// handmadeTemplates need no compiler: fuzzing machines may have none.
func handmadeTemplates(t testing.TB) map[string]*weave.Template {
	t.Helper()
	class, method, _ := agent.Template("probe")
	return map[string]*weave.Template{
		"probe": compiled(t, class, method),
		"rich":  compiled(t, richTemplate(), "t"),
	}
}

// richTemplate has variables across the target, a loop before it, a block around it,
// and asks for what fits every method.
func richTemplate() []byte {
	const api = "sonde/template/Template"
	b := classtest.NewBuilder(52, "RichTemplate")
	call := func(a *classtest.Assembler, name, descriptor string) *classtest.Assembler {
		return a.Op("invokestatic", b.Method(api, name, descriptor))
	}
	a := asm().Ops("lconst_1", "lstore_0")
	call(a, "methodName", "()Ljava/lang/String;").Op("astore_2")
	call(a, "argCount", "()I").Op("istore_3")
	a.Label("loop").Op("iload_3").Jump("ifle", "ready").Op("iinc", uint8(3), int8(-1)).Jump("goto", "loop").Label("ready")
	call(a.Label("try"), "target", "()V").Label("end")
	call(a, "result", "()Ljava/lang/Object;").Op("pop")
	call(a, "self", "()Ljava/lang/Object;").Ops("pop", "lload_0", "pop2", "return").Label("catch").Op("astore", uint8(4))
	call(a, "thrown", "()Ljava/lang/Throwable;").Ops("pop").Op("aload", uint8(4)).Op("athrow").
		Catch("try", "end", "catch", 0)
	locals := types(longType, object(b, "java/lang/String"), intType)
	b.AddMethod(publicStatic, "t", "()V", body(b, a, 2, 5,
		at{"loop", locals, nil}, at{"ready", locals, nil}, at{"catch", locals, types(object(b, "java/lang/Throwable"))}))
	return b.Bytes()
}

// FuzzWeave: weaving any bytes gives an error or a class with the same members,
// which the library reads again; and one the reference parser reads, if it reads the
// original.
func FuzzWeave(f *testing.F) {
	addClasses(f)
	made := handmadeTemplates(f)
	weavings := [][]*weave.Template{{made["probe"]}, {made["rich"]}, {made["rich"], made["probe"]}}
	weaver := weave.NewWeaver()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, templates := range weavings {
			result, err := weaver.Weave(data, func(weave.MethodInfo) []*weave.Template { return templates })
			if err != nil || result.Bytes == nil {
				continue
			}
			woven, err := classfile.Parse(result.Bytes)
			if err != nil {
				t.Fatalf("the woven class cannot be read: %v", err)
			}
			wantMembers(t, parse(t, data), woven)
			before, err := classtest.Describe(data)
			if err != nil {
				continue
			}
			after, err := classtest.Describe(result.Bytes)
			if err != nil {
				t.Fatalf("the reference parser reads the class and not the woven one: %v", err)
			}
			if b, a := members(before), members(after); a != b {
				t.Fatalf("the reference parser finds other members\n%s", difference(b, a))
			}
		}
	})
}

func members(description string) string {
	var list strings.Builder
	for line := range strings.Lines(description) {
		if strings.HasPrefix(line, "field ") || strings.HasPrefix(line, "method ") {
			list.WriteString(line)
		}
	}
	return list.String()
}

func wantMembers(t *testing.T, before, after *classfile.Class) {
	t.Helper()
	if len(before.Methods) != len(after.Methods) || len(before.Fields) != len(after.Fields) {
		t.Fatalf("%d methods and %d fields became %d and %d",
			len(before.Methods), len(before.Fields), len(after.Methods), len(after.Fields))
	}
	for i := range before.Methods {
		b, a := &before.Methods[i], &after.Methods[i]
		if b.Name != a.Name || b.Descriptor != a.Descriptor || b.Access != a.Access || len(b.Attributes) != len(a.Attributes) {
			t.Fatalf("method %d is another", i)
		}
	}
}

// FuzzTemplate: any bytes are a template or give an error, also as a template of a user; a template weaves.
func FuzzTemplate(f *testing.F) {
	addClasses(f)
	f.Add(richTemplate())
	for _, name := range agent.TemplateNames() {
		class, _, _ := agent.Template(name)
		f.Add(class)
	}
	b := classtest.NewBuilder(52, "Target")
	run(b, asm().Label("top").Ops("iload_0").Jump("ifgt", "top").Ops("iload_0", "ireturn"), 1, 1, at{"top", types(intType), nil})
	target := b.Bytes()
	weaver := weave.NewWeaver()
	f.Fuzz(func(t *testing.T, data []byte) {
		var all []*weave.Template
		if template, err := weave.CompileTemplate(data, ""); err == nil {
			all = append(all, template)
		}
		if user, err := weave.CompileUser(data, "", weave.UserOptions{File: "T.java", Trusted: true, Hooks: "Hooks"}); err == nil {
			all = append(all, user.Recording(make([]int32, len(user.Records))))
		}
		if user, err := weave.CompileUser(data, "", weave.UserOptions{File: "T.java", Trusted: true, Hooks: "Hooks", Conditional: true}); err == nil {
			if bound, err := user.Recording(make([]int32, len(user.Records))).Bind(make([]weave.Lowered, 32)...); err == nil {
				all = append(all, bound)
			}
		}
		for _, template := range all {
			result, err := weaver.Weave(target, func(weave.MethodInfo) []*weave.Template { return []*weave.Template{template} })
			if err != nil {
				t.Fatal(err)
			}
			if result.Bytes != nil {
				if _, err := classfile.Parse(result.Bytes); err != nil {
					t.Fatalf("the woven class cannot be read: %v", err)
				}
			}
		}
	})
}
