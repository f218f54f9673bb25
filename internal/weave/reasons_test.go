package weave_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

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
		{"none", true, 0, "arg", object, "argument 0 of 0"},
		{"none", true, -1, "self", "()Ljava/lang/Object;", ""},
		{"none", false, -1, "result", "()Ljava/lang/Object;", ""},
		{"none", false, -1, "resultInt", "()I", "the result is of another type"},
		{"none", true, -1, "argCount", "()I", ""},
		{"mixed", true, 5, "arg", object, ""},
		{"mixed", false, 6, "arg", object, "argument 6 of 6"},
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
		{"<init>", true, -1, "self", "()Ljava/lang/Object;", "this, before it is initialised"},
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
		if want := weave.MethodID("some/where/Target", m.Name, m.Descriptor); have != want {
			t.Errorf("%s: woven is %d, MethodID gives %d", m.Name, have, want)
		}
		seen[have] = true
	}
	if len(seen) != len(result.Methods) {
		t.Errorf("%d methods have %d numbers", len(result.Methods), len(seen))
	}
	want := int32(crc32.Checksum([]byte("some/where/Target.m0()V"), crc32.MakeTable(crc32.Castagnoli)))
	if have := weave.MethodID("some/where/Target", "m0", "()V"); have != want {
		t.Errorf("MethodID gives %d, the CRC-32C is %d", have, want)
	}
}
