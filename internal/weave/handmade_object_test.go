package weave_test

import (
	"fmt"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// constructorShapes are constructors that initialise their object in unusual ways.
func constructorShapes() []handmade {
	constructor := func(b *classtest.Builder, self string, a *classtest.Assembler, stack uint16, frames ...at) {
		b.AddMethod(public, "<init>", "(I)V", body(b, a, stack, 2, frames...))
		runNew(b, self)
	}
	return []handmade{
		{name: "TwoSuperCalls", majors: oldAndNew, left: map[string]weave.ReasonKind{"<init>": weave.OddConstructor},
			build: func(b *classtest.Builder, self string) {
				a := asm().Op("iload_1").Jump("ifgt", "other").
					Op("aload_0").Op("invokespecial", objectInit(b)).Jump("goto", "end").
					Label("other").Op("aload_0").Op("invokespecial", objectInit(b)).Label("end").Op("return")
				constructor(b, self, a, 1, at{"other", types(thisType, intType), nil}, at{"end", types(object(b, self), intType), nil})
			}},
		{name: "NoSuperCall", majors: oldAndNew, leaves: true, build: func(b *classtest.Builder, self string) {
			a := asm().Op("new", b.Class("java/lang/Error")).Op("dup").
				Op("invokespecial", b.Method("java/lang/Error", "<init>", "()V")).Op("athrow")
			constructor(b, self, a, 2)
		}},
		{name: "NoSuperCallLoops", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Label("top").Jump("goto", "top")
			b.AddMethod(public, "<init>", "(I)V", body(b, a, 0, 2, at{"top", types(thisType, intType), nil}))
			run(b, asm().Ops("iload_0", "ireturn"), 1, 1)
		}},
		{name: "MadeAndDropped", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Op("new", b.Class("java/lang/Error")).Op("pop").Op("aload_0").Op("invokespecial", objectInit(b)).
				Op("new", b.Class("java/lang/Error")).Op("dup").Op("invokespecial", b.Method("java/lang/Error", "<init>", "()V")).Ops("pop", "return")
			constructor(b, self, a, 2)
		}},
		{name: "ThisElsewhere", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("aload_0", "astore_1", "aload_1").Op("invokespecial", objectInit(b)).Op("return")
			constructor(b, self, a, 1)
		}},
		{name: "ThisOverwrittenByInt", majors: oldAndNew, left: map[string]weave.ReasonKind{"<init>": weave.DoesNotFit},
			build: func(b *classtest.Builder, self string) {
				a := asm().Ops("aload_0", "iload_1", "istore_0").Op("invokespecial", objectInit(b)).Op("return")
				constructor(b, self, a, 2)
			}},
		{name: "ThisOverwrittenByNull", majors: oldAndNew, left: map[string]weave.ReasonKind{"<init>": weave.DoesNotFit},
			build: func(b *classtest.Builder, self string) {
				a := asm().Ops("aload_0", "aconst_null", "astore_0").Op("invokespecial", objectInit(b)).Op("return")
				constructor(b, self, a, 2)
			}},
		{name: "ThisOverwrittenBehindBranch", majors: oldAndNew, left: map[string]weave.ReasonKind{"<init>": weave.DoesNotFit},
			build: func(b *classtest.Builder, self string) {
				a := asm().Ops("aload_0", "iload_1").Jump("ifgt", "on").Op("nop").
					Label("on").Ops("lconst_0", "lstore_0").Op("invokespecial", objectInit(b)).Op("return")
				constructor(b, self, a, 3, at{"on", types(thisType, intType), types(thisType)})
			}},
		{name: "ReturnBeforeSuper", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Jump("goto", "super").Label("end").Op("return").
				Label("super").Op("aload_0").Op("invokespecial", objectInit(b)).Jump("goto", "end")
			constructor(b, self, a, 1, at{"end", types(object(b, self), intType), nil}, at{"super", types(thisType, intType), nil})
		}},
		{name: "ArgumentsBehindSuper", majors: oldAndNew, left: map[string]weave.ReasonKind{"<init>": weave.OddConstructor},
			build: func(b *classtest.Builder, self string) {
				a := asm().Op("iload_1").Jump("ifgt", "later").
					Label("super").Op("aload_0").Op("invokespecial", objectInit(b)).Op("return").
					Label("later").Op("iinc", uint8(1), int8(1)).Jump("goto", "super")
				constructor(b, self, a, 1, at{"super", types(thisType, intType), nil}, at{"later", types(thisType, intType), nil})
			}},
		{name: "ThrowsBehindSuper", majors: oldAndNew, leaves: true, left: map[string]weave.ReasonKind{"<init>": weave.OddConstructor},
			build: func(b *classtest.Builder, self string) {
				a := asm().Op("iload_1").Jump("ifgt", "later").
					Op("aload_0").Op("invokespecial", objectInit(b)).Op("return").
					Label("later").Ops("aconst_null", "athrow")
				constructor(b, self, a, 1, at{"later", types(thisType, intType), nil})
			}},
		{name: "HandlerBeforeSuper", majors: []uint16{69}, build: func(b *classtest.Builder, self string) {
			a := asm().Label("try").Ops("iconst_1", "iload_1", "idiv", "istore_1").Label("end").Jump("goto", "super").
				Label("handler").Ops("pop").
				Label("super").Op("aload_0").Op("invokespecial", objectInit(b)).Op("return").
				Catch("try", "end", "handler", 0)
			constructor(b, self, a, 2, at{"handler", types(thisType, intType), types(object(b, "java/lang/Throwable"))},
				at{"super", types(thisType, intType), nil})
		}},
	}
}

// sizeShapes come near the limits of the format.
func sizeShapes() []handmade {
	return []handmade{
		{name: "ManyLocals", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Op("iload_0").Op("wide", uint8(0x36), uint16(299)).
				Label("top").Op("wide", uint8(0x84), uint16(299), int16(-1)).
				Op("wide", uint8(0x15), uint16(299)).Jump("ifgt", "top").Op("wide", uint8(0x15), uint16(299)).Op("ireturn")
			locals := types(intType)
			for range 298 {
				locals = append(locals, []byte{0})
			}
			run(b, a, 1, 300, at{"top", append(locals, intType), nil})
		}},
		{name: "MostLocals", majors: oldAndNew, left: map[string]weave.ReasonKind{"run": weave.TooLarge}, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("iload_0", "ireturn"), 1, 65535)
		}},
		{name: "NearlyFull", majors: oldAndNew, left: map[string]weave.ReasonKind{"run": weave.TooLarge}, build: func(b *classtest.Builder, self string) {
			run(b, asm().Fill(65530, "nop").Ops("iload_0", "ireturn"), 1, 1)
		}},
		{name: "FullPool", majors: oldAndNew, left: map[string]weave.ReasonKind{"*": weave.PoolFull}, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("iload_0", "ireturn"), 1, 1)
			b.AddMethod(publicStatic, "other", "()V", asm().Op("return").Code(b, 0, 0))
			for i := range 65515 {
				b.Utf8(fmt.Sprint("entry ", i))
			}
		}},
		{name: "FarBranches", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Op("iload_0").Jump("ifgt", "far").Op("iload_0").Jump("iflt", "far").
				Ops("iconst_5", "ireturn").
				Label("middle").Fill(32740, "nop").Label("far").Op("iload_0").Jump("ifeq", "middle").Ops("iload_0", "ireturn")
			run(b, a, 1, 1, at{"middle", types(intType), nil}, at{"far", types(intType), nil})
		}},
		{name: "FarWithUninitialized", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			str := "java/lang/String"
			a := asm().Op("new", b.Class(str)).Ops("dup", "lconst_0", "iload_0").Jump("ifgt", "far").
				Op("iload_0").Jump("ifge", "near").Ops("iconst_5", "ireturn").
				Label("near").Fill(32745, "nop").
				Label("far").Op("pop2").Op("invokespecial", b.Method(str, "<init>", "()V")).
				Op("invokevirtual", b.Method(str, "length", "()I")).Op("ireturn")
			stack := types(made(0), made(0), longType)
			run(b, a, 5, 1, at{"near", types(intType), stack}, at{"far", types(intType), stack})
		}},
		{name: "ManyArguments", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm()
			descriptor := "("
			for range 127 {
				a.Op("lconst_1")
				descriptor += "J"
			}
			descriptor += "I)I"
			run(b, a.Op("iload_0").Op("invokestatic", b.Method(self, "many", descriptor)).Op("ireturn"), 255, 1)
			b.AddMethod(publicStatic, "many", descriptor, asm().Op("iload", uint8(254)).Op("ireturn").Code(b, 1, 255))
		}},
		{name: "DoublesInLocals", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("iload_0", "i2d", "dstore_1").Label("top").Ops("dload_1", "dconst_1", "dsub", "dup2", "dstore_1", "dconst_0", "dcmpg").
				Jump("ifgt", "top").Ops("dload_1", "d2i", "ireturn")
			run(b, a, 4, 3, at{"top", types(intType, doubleType), nil})
		}},
	}
}
