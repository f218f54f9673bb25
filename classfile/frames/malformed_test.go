package frames_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
)

// TestMalformed walks bodies whose constants or flow make no sense. Each walk gives a
// result or an error; none panics.
func TestMalformed(t *testing.T) {
	asm := classtest.NewAssembler
	for name, body := range map[string]func(b *classtest.Builder) *classtest.Assembler{
		"array of nameless class": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("iconst_0").Op("anewarray", b.Class(""))
		},
		"element of half an array": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("aconst_null").Op("checkcast", b.Class("[L")).Ops("iconst_0", "aaload")
		},
		"element of bare brackets": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("aconst_null").Op("checkcast", b.Class("[")).Ops("iconst_0", "aaload")
		},
		"field of half a type": func(b *classtest.Builder) *classtest.Assembler { return asm().Op("getstatic", b.Field("X", "f", "L")) },
		"field of no type":     func(b *classtest.Builder) *classtest.Assembler { return asm().Op("getstatic", b.Field("X", "f", "")) },
		"call giving half a type": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokestatic", b.Method("X", "m", "()L"))
		},
		"call giving nothing": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokestatic", b.Method("X", "m", "()"))
		},
		"call of a field": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokestatic", b.Field("X", "f", "I"))
		},
		"call of a class":         func(b *classtest.Builder) *classtest.Assembler { return asm().Op("invokestatic", b.Class("X")) },
		"call of entry 0":         func(*classtest.Builder) *classtest.Assembler { return asm().Op("invokestatic", uint16(0)) },
		"constant 0":              func(*classtest.Builder) *classtest.Assembler { return asm().Op("ldc_w", uint16(0)) },
		"constant of half a type": func(b *classtest.Builder) *classtest.Assembler { return asm().Op("ldc_w", b.Dynamic(0, "x", "L")) },
		"empty stack":             func(*classtest.Builder) *classtest.Assembler { return asm().Op("pop2") },
		"empty stack duplicated":  func(*classtest.Builder) *classtest.Assembler { return asm().Op("dup2_x2") },
		"local past the last":     func(*classtest.Builder) *classtest.Assembler { return asm().Op("aload", uint8(200)) },
		"long in the last local":  func(*classtest.Builder) *classtest.Assembler { return asm().Ops("lconst_0", "lstore_3") },
		"array of 300 dimensions": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("multianewarray", b.Class("[I"), uint8(255))
		},
		"constructor on nothing": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokespecial", b.Method("X", "<init>", "()V"))
		},
		"object made and made over": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("new", b.Class("")).Op("invokespecial", b.Method("", "<init>", "()V"))
		},
	} {
		for _, major := range []uint16{49, 52} {
			b := classtest.NewBuilder(major, "Malformed")
			b.AddMethod(0x0009, "m", "()V", body(b).Op("return").Code(b, 10, 4))
			t.Run(name, func(t *testing.T) { walkAll(t, b.Bytes()) })
		}
	}
}

// walkAll walks each body with and without classes.
func walkAll(t *testing.T, data []byte) {
	t.Helper()
	eachBody(t, t.Name(), data, func(where string, m *classfile.Member, b *code.Body) {
		for _, resolve := range []bool{false, true} {
			if panicked := walkPanics(b, m, resolve); panicked != nil {
				t.Errorf("%s: with classes %v the walk panics: %v", where, resolve, panicked)
			}
		}
	})
}

// walkPanics returns what a walk panicked with, so that one case does not hide the next.
func walkPanics(b *code.Body, m *classfile.Member, resolve bool) (panicked any) {
	defer func() { panicked = recover() }()
	_, _ = frames.Walk(b, m, resolve, nil) // an error is as good as a result here
	return nil
}

func TestExpandRefusesToDropWhatIsNotThere(t *testing.T) {
	b := classtest.NewBuilder(52, "Chopped")
	b.AddMethod(0x0009, "m", "(I)V", classtest.NewAssembler().Op("return").
		Code(b, 0, 1, b.Attribute("StackMapTable", uint16(1), uint8(249), uint16(0))))
	eachBody(t, "Chopped", b.Bytes(), func(_ string, m *classfile.Member, b *code.Body) {
		initial, err := frames.Initial(nil, b.Class, m)
		if err != nil {
			t.Fatal(err)
		}
		if err := frames.Expand(b, initial); err == nil {
			t.Error("two locals were dropped of one")
		}
	})
}
