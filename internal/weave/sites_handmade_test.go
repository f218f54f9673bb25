package weave_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

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
	for _, jdk := range jvmtest.JDKs(t) {
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
			compareSiteRuns(t, jvmtest.Run(t, jdk, args...), len(folders))
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
