package main

import (
	"slices"

	"github.com/sonde-jvm/sonde/classfile/classtest"
)

// Flags of classes and members.
const (
	public       = 0x0001
	static       = 0x0008
	final        = 0x0010
	publicStatic = public | static
)

// handmadeSpecimens are sound class files that javac does not write.
func handmadeSpecimens() []specimen {
	return slices.Concat(
		oldVersions(), subroutines(), longForms(), switches(), constants(),
		frames(), tables(), attributes(),
	)
}

// made names a finished class after its own file.
func made(name string, b *classtest.Builder) specimen { return specimen{name, b.Bytes()} }

// addDefaultConstructor gives the class what javac gives every class.
func addDefaultConstructor(b *classtest.Builder) {
	code := classtest.NewAssembler().Op("aload_0").
		Op("invokespecial", b.Method("java/lang/Object", "<init>", "()V")).Op("return")
	b.AddMethod(public, "<init>", "()V", code.Code(b, 1, 1))
}

// oldVersions: what the first compilers wrote, one class for each version
// before stack maps.
func oldVersions() []specimen {
	var all []specimen
	for _, v := range []struct {
		name         string
		major, minor uint16
	}{{"Java10", 45, 3}, {"Java10Early", 45, 0}, {"Java12", 46, 0}, {"Java13", 47, 0}, {"Java14", 48, 0}, {"Java5", 49, 0}} {
		b := classtest.NewBuilder(v.major, v.name)
		b.Minor = v.minor
		b.AddField(static, "count", "I", b.Attribute("Synthetic"))
		addDefaultConstructor(b)
		loop := classtest.NewAssembler().
			Label("start").Op("iload_0").Jump("ifle", "done").
			Op("getstatic", b.Field(v.name, "count", "I")).Ops("iload_0", "iadd").
			Op("putstatic", b.Field(v.name, "count", "I")).
			Op("iinc", uint8(0), int8(-1)).Jump("goto", "start").
			Label("done").Op("getstatic", b.Field(v.name, "count", "I")).Op("ireturn")
		b.AddMethod(publicStatic, "sum", "(I)I", loop.Code(b, 2, 1))
		b.AddAttribute(b.Attribute("SourceFile", b.Utf8(v.name+".java")))
		all = append(all, made(v.name, b))
	}
	return all
}

// subroutines: jsr and ret in all their forms, as the first compilers wrote
// finally.
func subroutines() []specimen {
	b := classtest.NewBuilder(48, "Subroutines")
	body := classtest.NewAssembler().
		Label("try").Op("iload_0").Op("istore_1").Jump("jsr", "finally").Ops("iload_1", "ireturn").
		Label("handler").Op("astore_2").Jump("jsr_w", "finally").Ops("aload_2", "athrow").
		Label("finally").Op("astore_3").Op("iinc", uint8(0), int8(1)).Op("ret", uint8(3)).
		Catch("try", "handler", "handler", 0)
	b.AddMethod(publicStatic, "once", "(I)I", body.Code(b, 1, 4))

	wide := classtest.NewAssembler().
		Jump("jsr", "outer").Op("return").
		Label("outer").Op("wide", uint8(0x3a), uint16(300)). // astore
		Jump("jsr", "inner").Op("wide", uint8(0xa9), uint16(300)).
		Label("inner").Op("astore", uint8(5)).Op("wide", uint8(0xa9), uint16(5))
	b.AddMethod(publicStatic, "nested", "()V", wide.Code(b, 1, 301))
	return []specimen{made("Subroutines", b)}
}

// longForms: instructions in forms longer than they need be, or as long as they
// can be.
func longForms() []specimen {
	wide := classtest.NewBuilder(49, "WideForms")
	body := classtest.NewAssembler()
	for _, kind := range []string{"i", "l", "f", "d", "a"} {
		for _, slot := range []uint16{2, 300} { // the first would fit without wide
			load, store := wideOperand(kind+"load"), wideOperand(kind+"store")
			body.Op(map[string]string{"i": "iconst_0", "l": "lconst_0", "f": "fconst_0", "d": "dconst_0", "a": "aconst_null"}[kind])
			body.Op("wide", store, slot).Op("wide", load, slot)
			if kind == "l" || kind == "d" {
				body.Op("pop2")
			} else {
				body.Op("pop")
			}
		}
	}
	body.Op("iconst_0").Op("istore_1").Op("wide", uint8(0x84), uint16(1), int16(-32768)).
		Op("wide", uint8(0x84), uint16(1), int16(1)).Op("return")
	wide.AddMethod(publicStatic, "all", "()V", body.Code(wide, 2, 302))

	long := classtest.NewBuilder(49, "LongerThanNeeded")
	small := classtest.NewAssembler().
		Op("iload", uint8(0)).Op("bipush", int8(3)).Op("iadd").Op("sipush", int16(5)).Op("iadd").
		Op("istore", uint8(1)).Jump("goto_w", "on").Op("nop").Label("on").
		Op("ldc_w", long.Integer(7)).Op("ldc", uint8(long.Integer(7))).Op("iadd").Op("ireturn")
	long.AddMethod(publicStatic, "sum", "(I)I", small.Code(long, 2, 2))

	far := classtest.NewBuilder(49, "FarJumps")
	jumps := classtest.NewAssembler().
		Jump("goto_w", "end").Label("back").Op("return").Fill(40000, "nop").Label("end").Jump("goto_w", "back")
	far.AddMethod(publicStatic, "jump", "()V", jumps.Code(far, 0, 0))
	edge := classtest.NewAssembler().Op("iload_0").Jump("ifeq", "end").Fill(32763, "nop").Label("end").Op("iload_0").
		Jump("ifne", "here").Op("return").Label("here").Op("return")
	far.AddMethod(publicStatic, "furthestShort", "(I)V", edge.Code(far, 1, 1))

	full := classtest.NewBuilder(49, "LongestBody")
	full.AddMethod(publicStatic, "full", "()V", classtest.NewAssembler().Fill(65534, "nop").Op("return").Code(full, 0, 0))
	return []specimen{made("WideForms", wide), made("LongerThanNeeded", long), made("FarJumps", far), made("LongestBody", full)}
}

func wideOperand(mnemonic string) uint8 {
	return map[string]uint8{
		"iload": 0x15, "lload": 0x16, "fload": 0x17, "dload": 0x18, "aload": 0x19,
		"istore": 0x36, "lstore": 0x37, "fstore": 0x38, "dstore": 0x39, "astore": 0x3a,
	}[mnemonic]
}
