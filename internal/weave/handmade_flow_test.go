package weave_test

import (
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// flowShapes go unusual ways.
func flowShapes() []handmade {
	return []handmade{
		{name: "Empty", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Op("invokestatic", b.Method(self, "nothing", "()V")).Ops("iload_0", "ireturn"), 1, 1)
			b.AddMethod(publicStatic, "nothing", "()V", asm().Op("return").Code(b, 0, 0))
		}},
		{name: "OnlyThrows", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Op("new", b.Class("java/lang/Error")).Op("dup").
				Op("invokespecial", b.Method("java/lang/Error", "<init>", "()V")).Op("athrow"), 2, 1)
		}},
		{name: "ThrowsNull", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("aconst_null", "athrow"), 1, 1)
		}},
		{name: "NeverEnds", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("iload_0", "ireturn"), 1, 1)
			for name, descriptor := range map[string]string{"spin": "()V", "spinLong": "()J", "spinObject": "()Ljava/lang/String;"} {
				a := asm().Label("top").Jump("goto", "top")
				b.AddMethod(publicStatic, name, descriptor, body(b, a, 0, 0, at{"top", nil, nil}))
			}
		}},
		{name: "FrameAtStart", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Label("top").Op("iinc", uint8(0), int8(-1)).Op("iload_0").Jump("ifgt", "top").Ops("iload_0", "ireturn")
			run(b, a, 1, 1, at{"top", types(intType), nil})
		}},
		{name: "ForgetsArguments", majors: onlyNew, build: func(b *classtest.Builder, self string) {
			a := asm().Label("top").Op("nop").Op("iconst_3").Jump("ifeq", "top").Ops("iconst_4", "ireturn")
			run(b, a, 1, 1, at{"top", nil, nil})
		}},
		{name: "BackwardBlocks", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Jump("goto", "third").
				Label("first").Ops("iload_0", "ireturn").
				Label("second").Op("iinc", uint8(0), int8(1)).Jump("goto", "first").
				Label("third").Op("iinc", uint8(0), int8(10)).Jump("goto", "second")
			run(b, a, 1, 1, at{"first", types(intType), nil}, at{"second", types(intType), nil}, at{"third", types(intType), nil})
		}},
		{name: "BackwardWithStack", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("lconst_1", "iload_0").Jump("goto", "add").
				Label("end").Op("ireturn").
				Label("add").Ops("iconst_1", "iadd").Jump("goto", "end")
			stack := types(longType, intType)
			run(b, a, 4, 1, at{"end", types(intType), stack}, at{"add", types(intType), stack})
		}},
		{name: "CoversEverything", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Label("top").Ops("iconst_m1", "iload_0", "idiv", "ireturn").
				Label("handler").Op("pop").Op("bipush", int8(9)).Op("ireturn").Label("end").
				Catch("top", "handler", "handler", 0)
			run(b, a, 2, 1, at{"handler", types(intType), types(object(b, "java/lang/Throwable"))})
		}},
		{name: "CoversItsHandler", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Label("top").Ops("iconst_m1", "iload_0", "idiv", "ireturn").
				Label("handler").Ops("pop").Op("iinc", uint8(0), int8(1)).Op("bipush", int8(9)).Ops("iload_0", "idiv", "ireturn").Label("end").Op("nop").
				Ops("iconst_0", "ireturn").
				Catch("top", "end", "handler", 0)
			run(b, a, 2, 1, at{"handler", types(intType), types(object(b, "java/lang/Throwable"))}, at{"end", types(intType), nil})
		}},
		{name: "HandlerBefore", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Jump("goto", "try").
				Label("handler").Op("pop").Op("bipush", int8(9)).Op("ireturn").
				Label("try").Ops("iconst_m1", "iload_0", "idiv", "ireturn").Label("end").Op("nop").Ops("iconst_0", "ireturn").
				Catch("try", "end", "handler", b.Class("java/lang/ArithmeticException"))
			run(b, a, 2, 1, at{"handler", types(intType), types(object(b, "java/lang/ArithmeticException"))},
				at{"try", types(intType), nil}, at{"end", types(intType), nil})
		}},
		{name: "UninitializedAcross", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			str := "java/lang/String"
			a := asm().Op("new", b.Class(str)).Ops("dup", "iload_0").Jump("ifgt", "some").
				Op("ldc", uint8(b.String("none"))).Jump("goto", "make").
				Label("some").Op("ldc", uint8(b.String("some of it"))).
				Label("make").Op("invokespecial", b.Method(str, "<init>", "(Ljava/lang/String;)V")).
				Op("invokevirtual", b.Method(str, "length", "()I")).Op("ireturn")
			run(b, a, 3, 1, at{"some", types(intType), types(made(0), made(0))},
				at{"make", types(intType), types(made(0), made(0), object(b, str))})
		}},
		{name: "UninitializedLocal", majors: onlyNew, build: func(b *classtest.Builder, self string) {
			str := "java/lang/String"
			a := asm().Op("nop").Op("new", b.Class(str)).Op("astore_1").Op("iload_0").Jump("ifgt", "some").Op("nop").
				Label("some").Ops("aload_1").Op("invokespecial", b.Method(str, "<init>", "()V")).
				Op("aload_1").Op("invokevirtual", b.Method(str, "length", "()I")).Op("ireturn")
			run(b, a, 2, 2, at{"some", types(intType, made(1)), nil})
		}},
		{name: "DeadCode", majors: onlyNew, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("iload_0", "ireturn").
				Label("dead").Ops("l2i", "ireturn").Label("dead2").Op("athrow")
			run(b, a, 2, 1, at{"dead", types(intType), types(longType)}, at{"dead2", nil, types(nullType)})
		}},
		{name: "DeadNonsense", majors: []uint16{49}, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("iload_0", "ireturn", "iadd", "pop2", "areturn"), 1, 1)
		}},
		{name: "SwapsAndDups", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("lconst_1", "iload_0", "dup_x2", "pop", "l2i", "iadd", "dconst_1", "dup2", "dadd", "d2i", "dup_x1", "swap", "iadd", "iadd", "ireturn")
			run(b, a, 6, 1)
		}},
		{name: "MonitorLeftOpen", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Op("ldc_w", b.String("lock")).Op("monitorenter").Ops("iload_0", "ireturn"), 1, 1)
		}},
		{name: "Finalizer", majors: onlyNew, left: map[string]weave.ReasonKind{"finalize": weave.EmptyFinalizer}, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("iload_0", "ireturn"), 1, 1)
			b.AddMethod(public, "finalize", "()V", asm().Op("return").Code(b, 0, 1))
		}},
	}
}

// oldShapes are of classes before stack maps, or that may do without.
func oldShapes() []handmade {
	old := []uint16{45, 46, 47, 48}
	return []handmade{
		{name: "Subroutine", majors: old, build: func(b *classtest.Builder, self string) {
			a := asm().Ops("iconst_0", "istore_1").
				Label("try").Ops("iconst_m1", "iload_0", "idiv", "istore_1").Jump("jsr", "finally").Ops("iload_1", "ireturn").
				Label("handler").Op("astore_2").Jump("jsr_w", "finally").Ops("aload_2", "athrow").
				Label("finally").Op("astore_3").Op("iinc", uint8(1), int8(1)).Op("ret", uint8(3)).
				Catch("try", "handler", "handler", 0)
			run(b, a, 2, 4)
		}},
		{name: "SubroutineReturns", majors: old, build: func(b *classtest.Builder, self string) {
			a := asm().Jump("jsr", "sub").Ops("iconst_5", "ireturn").
				Label("sub").Op("astore_1").Op("iload_0").Jump("ifgt", "back").Ops("iload_0", "ireturn").
				Label("back").Op("ret", uint8(1))
			run(b, a, 1, 2)
		}},
		{name: "SubroutineNested", majors: old, build: func(b *classtest.Builder, self string) {
			a := asm().Jump("jsr", "outer").Ops("iload_0", "ireturn").
				Label("outer").Op("astore_1").Jump("jsr", "inner").Jump("jsr", "inner").Op("ret", uint8(1)).
				Label("inner").Op("astore_2").Op("iinc", uint8(0), int8(1)).Op("ret", uint8(2))
			run(b, a, 1, 3)
		}},
		{name: "Java6WithoutFrames", majors: []uint16{50}, build: func(b *classtest.Builder, self string) {
			a := asm().Op("iload_0").Jump("ifgt", "more").Ops("iconst_0", "ireturn").Label("more").Ops("lconst_0", "iload_0", "ireturn")
			run(b, a, 3, 1)
		}},
		{name: "Java6Subroutine", majors: []uint16{50}, build: func(b *classtest.Builder, self string) {
			a := asm().Jump("jsr", "sub").Ops("iload_0", "ireturn").
				Label("sub").Op("astore_1").Op("iinc", uint8(0), int8(1)).Op("ret", uint8(1))
			run(b, a, 1, 2)
		}},
	}
}
