package weave_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

const (
	public       = 0x0001
	publicStatic = 0x0009
)

// handmade is a class no compiler writes, with a method run(int) that shows what it
// does. It is built for several class-file versions where that makes a difference.
type handmade struct {
	name   string
	majors []uint16
	build  func(b *classtest.Builder, self string)
	// left says which methods are left alone, and why; "*" is any method. A constructor
	// may be woven all the same, or by some templates: it must do then what it did.
	left map[string]weave.ReasonKind
	// leaves tells that a template which is entered is not always left again: a
	// constructor failed before its object was one.
	leaves bool
}

func asm() *classtest.Assembler { return classtest.NewAssembler() }

// at is a frame for a position.
type at struct {
	label         string
	locals, stack [][]byte
}

// Verification types.
var (
	intType    = []byte{1}
	doubleType = []byte{3}
	longType   = []byte{4}
	nullType   = []byte{5}
	thisType   = []byte{6} // uninitialised
)

func object(b *classtest.Builder, name string) []byte {
	return classtest.Cat(uint8(7), b.Class(name))
}

func made(offset uint16) []byte { return classtest.Cat(uint8(8), offset) }

// types is a list of verification types.
func types(list ...[]byte) [][]byte { return list }

// body is the Code attribute of what was assembled, with its frames told in full for
// a class that needs them.
func body(b *classtest.Builder, a *classtest.Assembler, stack, locals uint16, frames ...at) []byte {
	if b.Major < 50 || len(frames) == 0 {
		return a.Code(b, stack, locals)
	}
	last := -1
	var table [][]byte
	for _, f := range frames {
		offset := int(a.At(f.label))
		table = append(table, classtest.Cat(uint8(255), uint16(offset-last-1), classtest.Counted(f.locals...), classtest.Counted(f.stack...)))
		last = offset
	}
	return a.Code(b, stack, locals, b.Attribute("StackMapTable", classtest.Counted(table...)))
}

// run adds the method that is called.
func run(b *classtest.Builder, a *classtest.Assembler, stack, locals uint16, frames ...at) {
	b.AddMethod(publicStatic, "run", "(I)I", body(b, a, stack, locals, frames...))
}

// runNew adds a method run that makes an object by <init>(I)V and gives 7.
func runNew(b *classtest.Builder, class string) {
	run(b, asm().Op("new", b.Class(class)).Ops("dup", "iload_0").Op("invokespecial", b.Method(class, "<init>", "(I)V")).
		Op("pop").Op("bipush", int8(7)).Op("ireturn"), 3, 1)
}

func objectInit(b *classtest.Builder) uint16 { return b.Method("java/lang/Object", "<init>", "()V") }

var handmades = concat(returnShapes(), flowShapes(), constructorShapes(), sizeShapes(), oldShapes())

func concat(lists ...[]handmade) []handmade {
	var all []handmade
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

var (
	oldAndNew = []uint16{49, 52}
	onlyNew   = []uint16{52}
)

// returnShapes leave values on the stack when they return, which the JVM allows.
func returnShapes() []handmade {
	return []handmade{
		{name: "LeavesInt", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("iconst_5", "iload_0", "ireturn"), 2, 1)
		}},
		{name: "LeavesSeveral", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Ops("iconst_5", "lconst_1", "aconst_null", "dconst_1", "fconst_1", "iload_0", "ireturn"), 8, 1)
		}},
		{name: "LeavesUnlike", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Op("iload_0").Jump("ifgt", "more").Ops("lconst_1", "iload_0", "ireturn").
				Label("more").Ops("iconst_1", "dup", "iload_0", "iadd", "ireturn")
			run(b, a, 3, 1, at{"more", types(intType), nil})
		}},
		{name: "LeavesUnderLong", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Op("iload_0").Op("invokestatic", b.Method(self, "wide", "(I)J")).Ops("l2i", "ireturn"), 2, 1)
			b.AddMethod(publicStatic, "wide", "(I)J", asm().Ops("aconst_null", "dconst_0", "iload_0", "i2l", "lreturn").Code(b, 5, 1))
		}},
		{name: "LeavesUnderVoid", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			run(b, asm().Op("invokestatic", b.Method(self, "nothing", "()V")).Ops("iload_0", "ireturn"), 1, 1)
			b.AddMethod(publicStatic, "nothing", "()V", asm().Op("new", b.Class("java/lang/Object")).Ops("dup", "lconst_0", "return").Code(b, 4, 0))
		}},
		{name: "LeavesOnlySometimes", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm().Op("iload_0").Table(0, "other", "zero", "one").
				Label("zero").Ops("iconst_0", "ireturn").
				Label("one").Ops("lconst_0", "lconst_0", "iconst_1", "ireturn").
				Label("other").Ops("iconst_2", "iconst_3", "ireturn")
			run(b, a, 5, 1, at{"zero", types(intType), nil}, at{"one", types(intType), nil}, at{"other", types(intType), nil})
		}},
		{name: "ManyReturns", majors: oldAndNew, build: func(b *classtest.Builder, self string) {
			a := asm()
			var frames []at
			for i := range 20 {
				next := "after" + string(rune('a'+i))
				a.Op("iload_0").Op("bipush", int8(i)).Jump("if_icmpne", next).Ops("lconst_0", "iload_0", "ireturn").Label(next)
				frames = append(frames, at{next, types(intType), nil})
			}
			run(b, a.Ops("iconst_m1", "ireturn"), 3, 1, frames...)
		}},
	}
}

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

// weavings of the handmade classes; the plain one is what the others are held against.
var weavings = []struct {
	name      string
	templates []string
}{
	{"plain", nil},
	{"probe", []string{"probe"}},
	{"rich", []string{"rich"}},
	{"nested", []string{"rich", "probe"}},
	{"nestedOtherwise", []string{"probe", "rich"}},
	{"thrice", []string{"rich", "rich", "rich"}},
	{"behind", []string{"probe behind super"}},
	{"nestedBehind", []string{"rich", "probe behind super", "probe"}},
}

// TestHandmade weaves classes no compiler writes, has the JVM verify and run them,
// and demands what they do unwoven.
func TestHandmade(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			j := compileJava(t, jdk, "8")
			root := t.TempDir()
			for _, weaving := range weavings {
				pick := j.pick(t, weaving.templates...)
				for _, h := range handmades {
					for _, major := range h.majors {
						if int(major) > jdk.Major+44 {
							continue
						}
						name := fmt.Sprintf("%s_%d", h.name, major)
						file := filepath.Join(root, weaving.name, name+".class")
						h.write(t, file, major, weaving.name, pick)
					}
				}
			}
			compareRuns(t, j, root)
		})
	}
}

// write builds and weaves a class.
func (h handmade) write(t *testing.T, file string, major uint16, weaving string, pick func(weave.MethodInfo) []*weave.Template) {
	t.Helper()
	b := classtest.NewBuilder(major, h.name)
	h.build(b, h.name)
	data := b.Bytes()
	where := fmt.Sprintf("%s/%s", weaving, strings.TrimSuffix(filepath.Base(file), ".class"))
	result, err := weaveCalmly(data, pick)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	for _, m := range result.Methods {
		want, expected := h.left[m.Name]
		if !expected {
			want, expected = h.left["*"]
		}
		var reason *weave.Reason
		errors.As(m.Reason, &reason)
		switch {
		case m.Woven && expected && want != weave.OddConstructor && want != weave.DoesNotFit:
			t.Errorf("%s: %s%s is woven, should be left alone because %s", where, m.Name, m.Descriptor, want)
		case !m.Woven && !expected:
			t.Errorf("%s: %s%s is left alone: %v", where, m.Name, m.Descriptor, m.Reason)
		case !m.Woven && reason.Kind != want:
			t.Errorf("%s: %s%s is left alone because %v; want %s", where, m.Name, m.Descriptor, m.Reason, want)
		}
	}
	if result.Bytes != nil {
		if _, err := classtest.Describe(result.Bytes); err != nil {
			t.Errorf("%s: the reference parser refuses the woven class: %v", where, err)
		}
		checkMap(t, data, result)
		data = result.Bytes
	}
	writeFile(t, file, data)
}

// weaveCalmly weaves, a panic being one more error, so that one class does not hide
// the others.
func weaveCalmly(data []byte, pick func(weave.MethodInfo) []*weave.Template) (result *weave.Result, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the weaver panics: %v", panicked)
		}
	}()
	return weave.NewWeaver().Weave(data, pick)
}

var depth = regexp.MustCompile(` depth (-?\d+)$`)

// compareRuns runs all classes in one JVM.
func compareRuns(t *testing.T, j java, root string) {
	t.Helper()
	args := []string{"-Xverify:all", "-cp", j.dir, "RunAll"}
	for _, weaving := range weavings {
		args = append(args, filepath.Join(root, weaving.name))
	}
	outcome := jvmtest.RunBriefly(t, j.JDK, args...)
	if outcome.Exit != 0 {
		t.Fatalf("exit code %d\n%s\n%s", outcome.Exit, outcome.Stdout, outcome.Stderr)
	}
	leaves := map[string]bool{}
	for _, h := range handmades {
		leaves[h.name] = h.leaves
	}
	plain := map[string]string{}
	for line := range strings.Lines(outcome.Stdout) {
		if strings.HasPrefix(line, "| ") {
			t.Errorf("a template says: %s", line)
			continue
		}
		where, what, _ := strings.Cut(strings.TrimSpace(line), ":")
		weaving, file, _ := strings.Cut(where, "/")
		open := depth.FindString(what)
		what = strings.TrimSuffix(what, open)
		if weaving == "plain" {
			plain[file] = what
			if strings.Contains(what, "VerifyError") || strings.Contains(what, "ClassFormatError") {
				t.Errorf("%s is not sound itself: %s", file, what)
			}
			continue
		}
		if what != plain[file] {
			t.Errorf("%s\n gives  %s\n unwoven%s", where, what, plain[file])
		}
		name, _, _ := strings.Cut(file, "_")
		if open != " depth 0" && !leaves[name] {
			t.Errorf("%s: templates were entered and not left:%s", where, open)
		}
	}
	if len(plain) < len(handmades) {
		t.Errorf("%d classes ran, there are %d", len(plain), len(handmades))
	}
}
