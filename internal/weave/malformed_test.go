package weave_test

import (
	"errors"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

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
