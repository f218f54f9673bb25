package main

import "github.com/sonde-jvm/sonde/classfile/classtest"

// frame is a stack map frame at a label. Its kind may depend on the distance
// from the one before, so the bytes are made when that is known.
type frame struct {
	label string
	bytes func(delta uint16) []byte
}

// stackMap lays frames out; they must be in the order of their labels.
func stackMap(b *classtest.Builder, a *classtest.Assembler, frames ...frame) []byte {
	var all [][]byte
	next := uint16(0)
	for _, f := range frames {
		at := a.At(f.label)
		all = append(all, f.bytes(at-next))
		next = at + 1
	}
	return b.Attribute("StackMapTable", classtest.Counted(all...))
}

// short is a frame of a kind that holds the distance in its own byte.
func short(label string, kind uint8, rest ...any) frame {
	return frame{label, func(delta uint16) []byte {
		return classtest.Cat(kind+uint8(delta), classtest.Cat(rest...))
	}}
}

// long is a frame of a kind that is followed by the distance.
func long(label string, kind uint8, rest ...any) frame {
	return frame{label, func(delta uint16) []byte {
		return classtest.Cat(kind, delta, classtest.Cat(rest...))
	}}
}

// Verification types without operand.
const (
	vTop               = uint8(0)
	vInt               = uint8(1)
	vFloat             = uint8(2)
	vDouble            = uint8(3)
	vLong              = uint8(4)
	vNull              = uint8(5)
	vUninitializedThis = uint8(6)
)

// frames: every kind of frame, in long forms where short ones would do, every
// verification type, and distances that need the long forms.
func frames() []specimen {
	b := classtest.NewBuilder(52, "FrameShapes")
	object := classtest.Cat(uint8(7), b.Class("java/lang/Object"))
	a := classtest.NewAssembler()
	onto := func(label string) { a.Op("iload_0").Jump("ifeq", label).Op("nop").Label(label) }

	onto("same")
	onto("sameLong")
	a.Ops("iconst_0").Op("istore", uint8(4)).Op("fconst_0").Op("fstore", uint8(5)).Op("dconst_0").Op("dstore", uint8(6))
	onto("append3")
	onto("chop3")
	onto("fullAsSame")
	a.Op("aload_3")
	onto("stack")
	a.Op("pop").Op("lload_1")
	onto("stackLong")
	a.Op("pop2")
	onto("appendTop")
	a.Label("new").Op("new", b.Class("java/lang/Object")).Op("dup")
	onto("fresh")
	a.Op("invokespecial", b.Method("java/lang/Object", "<init>", "()V")).Op("pop")
	a.Op("iload_0").Jump("ifeq", "far").Fill(300, "nop").Label("far")
	a.Op("aconst_null").Op("iload_0").Jump("ifeq", "last").Fill(100, "nop").Label("last").Op("pop").Op("return")

	newAt := classtest.Cat(uint8(8), a.At("new"))
	locals := classtest.Cat(vInt, vLong, object)
	table := stackMap(b, a,
		short("same", 0),
		long("sameLong", 251),
		long("append3", 254, vInt, vFloat, vDouble),
		long("chop3", 248),
		long("fullAsSame", 255, uint16(3), locals, uint16(0)),
		short("stack", 64, object),
		long("stackLong", 247, vLong),
		long("appendTop", 252, vTop),
		long("fresh", 255, uint16(4), locals, vTop, uint16(2), newAt, newAt),
		long("far", 251),
		long("last", 255, uint16(0), uint16(1), vNull),
	)
	b.AddMethod(publicStatic, "all", "(IJLjava/lang/Object;)V", a.Code(b, 3, 8, table))

	c := classtest.NewAssembler().Op("aload_0").Op("iload_1").Jump("ifeq", "merge").Op("nop").Label("merge").
		Op("invokespecial", b.Method("java/lang/Object", "<init>", "()V")).Op("return")
	b.AddMethod(public, "<init>", "(I)V", c.Code(b, 2, 2, stackMap(b, c,
		long("merge", 255, uint16(2), vUninitializedThis, vInt, uint16(1), vUninitializedThis))))

	none := classtest.NewAssembler().Op("return")
	b.AddMethod(publicStatic, "emptyTable", "()V", none.Code(b, 0, 0, b.Attribute("StackMapTable", uint16(0))))
	return []specimen{made("FrameShapes", b)}
}
