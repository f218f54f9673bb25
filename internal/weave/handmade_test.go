package weave_test

import (
	"github.com/sonde-jvm/sonde/classfile/classtest"
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
