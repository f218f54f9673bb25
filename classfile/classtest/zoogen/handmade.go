package main

import (
	"fmt"
	"math"
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

func attributes() []specimen {
	return []specimen{
		made("EveryAttribute", everyAttribute()), made("TypeAnnotationTargets", typeAnnotationTargets()),
		made("UnknownAttributes", unknownAttributes()), made("PreviewFlag", previewFlag()),
		made("module-info", moduleInfo()),
	}
}

// everyAttribute has all that the specification knows, modules aside, wherever
// it may stand, in no usual order.
func everyAttribute() *classtest.Builder {
	b := classtest.NewBuilder(69, "EveryAttribute")
	annotation := classtest.Counted(classtest.Cat(b.Utf8("LNote;"), classtest.Counted(classtest.Cat(
		b.Utf8("value"), uint8('['), classtest.Counted(
			classtest.Cat(uint8('B'), b.Integer(-1)), classtest.Cat(uint8('J'), b.Long(0, 1)),
			classtest.Cat(uint8('F'), b.Float(0x80000000)), classtest.Cat(uint8('D'), b.Double(0x7ff00000, 0)),
			classtest.Cat(uint8('s'), b.Utf8("text")), classtest.Cat(uint8('c'), b.Utf8("V")),
			classtest.Cat(uint8('e'), b.Utf8("LColor;"), b.Utf8("RED")),
			classtest.Cat(uint8('@'), b.Utf8("LInner;"), uint16(0)))))))
	typeAnnotation := classtest.Counted(classtest.Cat(uint8(0x13), uint8(2), uint8(0), uint8(0), uint8(3), uint8(7),
		b.Utf8("LNote;"), uint16(0)))
	common := [][]byte{
		b.Attribute("Signature", b.Utf8("Ljava/util/List<*>;")),
		b.Attribute("RuntimeInvisibleTypeAnnotations", typeAnnotation),
		b.Attribute("RuntimeVisibleTypeAnnotations", typeAnnotation),
		b.Attribute("RuntimeInvisibleAnnotations", annotation),
		b.Attribute("RuntimeVisibleAnnotations", annotation),
	}
	markers := [][]byte{b.Attribute("Deprecated"), b.Attribute("Synthetic")}

	b.AddField(static|final, "list", "I", append(append(common, markers...), b.Attribute("ConstantValue", b.Integer(9)))...)
	parameters := classtest.Cat(uint8(2), uint16(0), annotation)
	b.AddMethod(public|0x400, "method", "(II)V", append(append(common, markers...),
		b.Attribute("MethodParameters", uint8(2), uint16(0), uint16(0x8000), b.Utf8("second"), uint16(final)),
		b.Attribute("RuntimeVisibleParameterAnnotations", parameters),
		b.Attribute("RuntimeInvisibleParameterAnnotations", parameters),
		b.Attribute("AnnotationDefault", uint8('Z'), b.Integer(1)),
		b.Attribute("Exceptions", classtest.Counted(classtest.Cat(b.Class("java/lang/Error")))))...)
	b.Access |= 0x400

	self := classtest.Cat(b.This)
	for _, attribute := range append(append(common[1:], markers...),
		b.Attribute("SourceDebugExtension", "SMAP\n\xc0\x80"),
		b.Attribute("SourceFile", b.Utf8("EveryAttribute.java")),
		b.Attribute("InnerClasses", classtest.Counted(
			classtest.Cat(b.Class("EveryAttribute$In"), b.This, b.Utf8("In"), uint16(public)),
			classtest.Cat(b.Class("EveryAttribute$1"), uint16(0), uint16(0), uint16(0)))),
		b.Attribute("EnclosingMethod", b.Class("Outer"), b.NameAndType("run", "()V")),
		b.Attribute("NestMembers", classtest.Counted(self)),
		b.Attribute("PermittedSubclasses", classtest.Counted(self)),
		b.Attribute("Record", classtest.Counted(classtest.Cat(b.Utf8("list"), b.Utf8("I"), classtest.Counted(common...)))),
		b.Attribute("BootstrapMethods", uint16(0)),
	) {
		b.AddAttribute(attribute)
	}
	return b
}

// typeAnnotationTargets: each target there is, in a body and outside.
func typeAnnotationTargets() *classtest.Builder {
	b := classtest.NewBuilder(52, "TypeAnnotationTargets")
	note := classtest.Cat(uint8(0), b.Utf8("LNote;"), uint16(0))
	on := func(target ...any) []byte { return classtest.Cat(classtest.Cat(target...), note) }
	b.AddAttribute(b.Attribute("RuntimeVisibleTypeAnnotations", classtest.Counted(
		on(uint8(0x00), uint8(3)), on(uint8(0x10), uint16(65535)), on(uint8(0x10), uint16(0)), on(uint8(0x11), uint8(1), uint8(2)))))
	inBody := classtest.Counted(
		on(uint8(0x40), uint16(2), uint16(0), uint16(1), uint16(0), uint16(2), uint16(2), uint16(0)),
		on(uint8(0x41), uint16(0)), on(uint8(0x42), uint16(0)),
		on(uint8(0x43), uint16(0)), on(uint8(0x44), uint16(1)), on(uint8(0x45), uint16(1)), on(uint8(0x46), uint16(3)),
		on(uint8(0x47), uint16(0), uint8(1)), on(uint8(0x48), uint16(0), uint8(0)), on(uint8(0x49), uint16(1), uint8(0)),
		on(uint8(0x4a), uint16(2), uint8(0)), on(uint8(0x4b), uint16(3), uint8(255)))
	code := classtest.NewAssembler().Label("start").Ops("nop", "nop", "nop").Label("end").Op("return").
		Label("handler").Op("athrow").Catch("start", "end", "handler", 0)
	table := stackMap(b, code, long("handler", 255, uint16(0), uint16(1), uint8(7), b.Class("java/lang/Throwable")))
	b.AddMethod(publicStatic, "body", "(I)V",
		b.Attribute("RuntimeInvisibleTypeAnnotations", classtest.Counted(
			on(uint8(0x01), uint8(0)), on(uint8(0x12), uint8(0), uint8(0)), on(uint8(0x14)), on(uint8(0x15)),
			on(uint8(0x16), uint8(0)), on(uint8(0x17), uint16(0)))),
		code.Code(b, 1, 1, table, b.Attribute("RuntimeInvisibleTypeAnnotations", inBody)))
	return b
}

// unknownAttributes: names the specification does not know, and names it knows
// in places where they mean nothing.
func unknownAttributes() *classtest.Builder {
	b := classtest.NewBuilder(60, "UnknownAttributes")
	unknown := b.Attribute("com.example.Unknown", uint32(0xdeadbeef))
	empty := b.Attribute("", []byte{})
	misplaced := b.Attribute("StackMapTable", uint8(255))
	b.AddField(0, "f", "I", unknown, empty, misplaced)
	b.AddMethod(publicStatic, "m", "()V", unknown, misplaced,
		classtest.NewAssembler().Op("return").Code(b, 0, 0, unknown, b.Attribute("InnerClasses", uint8(1)), empty), unknown)
	b.AddAttribute(unknown)
	b.AddAttribute(b.Attribute("Code", uint8(1)))
	b.AddAttribute(unknown)
	return b
}

func previewFlag() *classtest.Builder {
	b := classtest.NewBuilder(69, "PreviewFlag")
	b.Minor = 65535
	addDefaultConstructor(b)
	return b
}

func moduleInfo() *classtest.Builder {
	b := classtest.NewBuilder(53, "module-info")
	b.Access, b.Super = 0x8000, 0
	module := func(name string) uint16 { return b.Entry(19, b.Utf8(name)) }
	pack := func(name string) uint16 { return b.Entry(20, b.Utf8(name)) }
	b.AddAttribute(b.Attribute("Module", module("zoo"), uint16(0x20), b.Utf8("1.0"),
		classtest.Counted(classtest.Cat(module("java.base"), uint16(0x8000), b.Utf8("9")),
			classtest.Cat(module("java.sql"), uint16(0x60), uint16(0))),
		classtest.Counted(classtest.Cat(pack("a/b"), uint16(0), classtest.Counted(classtest.Cat(module("x")), classtest.Cat(module("y")))),
			classtest.Cat(pack("a"), uint16(0x1000), uint16(0))),
		classtest.Counted(classtest.Cat(pack("c"), uint16(0), classtest.Counted(classtest.Cat(module("x"))))),
		classtest.Counted(classtest.Cat(b.Class("java/lang/Runnable"))),
		classtest.Counted(classtest.Cat(b.Class("java/lang/Runnable"), classtest.Counted(classtest.Cat(b.Class("a/R")))))))
	b.AddAttribute(b.Attribute("ModulePackages", classtest.Counted(classtest.Cat(pack("a")), classtest.Cat(pack("a/b")), classtest.Cat(pack("c")))))
	b.AddAttribute(b.Attribute("ModuleMainClass", b.Class("a/Main")))
	b.AddAttribute(b.Attribute("ModuleResolution", uint16(1)))
	b.AddAttribute(b.Attribute("ModuleTarget", b.Utf8("linux-amd64")))
	return b
}

// constants: what the constant pool can hold that javac seldom or never puts there.
func constants() []specimen {
	return []specimen{made("Dynamic", dynamicConstants()), made("Handles", handles()),
		made("OddPool", oddPool())}
}

func dynamicConstants() *classtest.Builder {
	b := classtest.NewBuilder(55, "Dynamic")
	const lookup = "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;"
	nullConstant := b.Handle(6, b.Method("java/lang/invoke/ConstantBootstraps", "nullConstant",
		lookup+"Ljava/lang/Class;)Ljava/lang/Object;"))
	invoke := b.Handle(6, b.Method("java/lang/invoke/ConstantBootstraps", "invoke",
		lookup+"Ljava/lang/Class;Ljava/lang/invoke/MethodHandle;[Ljava/lang/Object;)Ljava/lang/Object;"))
	parse := b.Handle(6, b.Method("java/lang/Long", "parseLong", "(Ljava/lang/String;)J"))
	valueOf := b.Handle(6, b.Method("java/lang/String", "valueOf", "(Ljava/lang/Object;)Ljava/lang/String;"))
	inner := b.Dynamic(0, "nothing", "Ljava/lang/Object;")
	text := b.Dynamic(2, "text", "Ljava/lang/String;") // "null", by way of inner
	number := b.Dynamic(1, "number", "J")

	b.AddMethod(publicStatic, "number", "()J", classtest.NewAssembler().Op("ldc2_w", number).Op("lreturn").Code(b, 2, 0))
	b.AddMethod(publicStatic, "text", "()Ljava/lang/String;",
		classtest.NewAssembler().Op("ldc", uint8(text)).Op("pop").Op("ldc_w", text).Op("areturn").Code(b, 1, 0))
	b.AddAttribute(b.Attribute("BootstrapMethods", classtest.Counted(
		classtest.Cat(nullConstant, uint16(0)),
		classtest.Cat(invoke, uint16(2), parse, b.String("42")),
		classtest.Cat(invoke, uint16(2), valueOf, inner),
		classtest.Cat(nullConstant, uint16(0)), // used by nothing
	)))
	return b
}

func handles() *classtest.Builder {
	b := classtest.NewBuilder(52, "Handles")
	members := []uint16{
		b.Field("Handles", "f", "I"), b.Field("Handles", "s", "I"), b.Field("Handles", "f", "I"), b.Field("Handles", "s", "I"),
		b.Method("java/lang/Object", "toString", "()Ljava/lang/String;"),
		b.InterfaceMethod("java/util/List", "of", "()Ljava/util/List;"),
		b.Method("java/lang/Object", "hashCode", "()I"),
		b.Method("java/lang/Object", "<init>", "()V"),
		b.InterfaceMethod("java/lang/Runnable", "run", "()V"),
	}
	b.AddField(public, "f", "I")
	b.AddField(publicStatic, "s", "I")
	body := classtest.NewAssembler()
	for kind, member := range members {
		body.Op("ldc", uint8(b.Handle(uint8(kind+1), member))).Op("pop")
	}
	body.Op("ldc", uint8(b.Entry(16, b.Utf8("(IJ[[D)V")))).Op("pop").Op("return")
	b.AddMethod(public, "load", "()V", body.Code(b, 1, 1))
	return b
}

// oddPool: entries twice, entries nothing uses, every kind of odd text, and a
// double in the last place.
func oddPool() *classtest.Builder {
	b := classtest.NewBuilder(52, "OddPool")
	b.AddField(static|final, "text", "Ljava/lang/String;",
		b.Attribute("ConstantValue", b.String("\xc0\x80 \xed\xa0\xbd\xed\xb8\x80 \xed\xa0\x80 \xef\xbf\xbf")))
	b.AddField(static|final, "number", "F", b.Attribute("ConstantValue", b.Float(0x7fc00001)))
	b.Forget()
	b.AddField(static|final, "again", "Ljava/lang/String;", b.Attribute("ConstantValue", b.String("OddPool")))
	b.AddField(static, "pi\xc3\xb1ata \xe2\x98\x83", "[[[[LOddPool;")
	b.String("")
	b.Entry(16, b.Utf8("()V"))
	b.Double(0x7ff80000, 1)
	return b
}

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

// switches: every padding, no keys, the outermost keys, and padding that is not
// zero (allowed since Java 7).
func switches() []specimen {
	b := classtest.NewBuilder(49, "SwitchShapes")
	for padding := range 4 {
		table := classtest.NewAssembler().Fill(padding, "nop").Op("iload_0").
			Table(-1, "other", "one", "other", "one").
			Label("one").Ops("iconst_1", "ireturn").Label("other").Ops("iconst_0", "ireturn")
		b.AddMethod(publicStatic, fmt.Sprint("table", padding), "(I)I", table.Code(b, 1, 1))
		lookup := classtest.NewAssembler().Fill(padding, "nop").Op("iload_0").
			Lookup("other", []int32{math.MinInt32, 0, math.MaxInt32}, "one", "other", "one").
			Label("one").Ops("iconst_1", "ireturn").Label("other").Ops("iconst_0", "ireturn")
		b.AddMethod(publicStatic, fmt.Sprint("lookup", padding), "(I)I", lookup.Code(b, 1, 1))
	}
	empty := classtest.NewAssembler().Op("iload_0").Lookup("other", nil).Label("other").Op("return")
	b.AddMethod(publicStatic, "noKeys", "(I)V", empty.Code(b, 1, 1))
	top := classtest.NewAssembler().Op("iload_0").Table(math.MaxInt32-1, "other", "other", "other").Label("other").Op("return")
	b.AddMethod(publicStatic, "highest", "(I)V", top.Code(b, 1, 1))
	bottom := classtest.NewAssembler().Op("iload_0").Table(math.MinInt32, "other", "other", "other").Label("other").Op("return")
	b.AddMethod(publicStatic, "lowest", "(I)V", bottom.Code(b, 1, 1))
	back := classtest.NewAssembler().Label("start").Op("iload_0").Table(0, "start", "start").Op("return")
	b.AddMethod(publicStatic, "backwards", "(I)V", back.Code(b, 1, 1))

	odd := classtest.NewBuilder(51, "OddPadding")
	frame := odd.Attribute("StackMapTable", classtest.Counted([]byte{20}))
	code := classtest.Cat(uint8(0x1a), uint8(0xaa), uint8(0xde), uint8(0xad), // iload_0, tableswitch, padding
		int32(19), int32(0), int32(0), int32(19), uint8(0xb1)) // default, low, high, target; return
	odd.AddMethod(publicStatic, "padded", "(I)V",
		odd.Attribute("Code", uint16(1), uint16(1), uint32(len(code)), code, uint16(0), classtest.Counted(frame)))
	return []specimen{made("SwitchShapes", b), made("OddPadding", odd)}
}

// tables: line numbers, variables and handlers in orders and ranges that javac
// avoids and the JVM accepts.
func tables() []specimen {
	return []specimen{made("OddLines", oddLines()), made("OddVariables", oddVariables()), made("OddHandlers", oddHandlers())}
}

func oddLines() *classtest.Builder {
	b := classtest.NewBuilder(49, "OddLines")
	line := func(at, number uint16) []byte { return classtest.Cat(at, number) }
	code := func() *classtest.Assembler { return classtest.NewAssembler().Ops("nop", "nop", "nop", "return") }
	b.AddMethod(publicStatic, "unsorted", "()V", code().Code(b, 0, 0,
		b.Attribute("LineNumberTable", classtest.Counted(line(3, 10), line(0, 65535), line(1, 0), line(1, 7), line(1, 7)))))
	b.AddMethod(publicStatic, "twoTables", "()V", code().Code(b, 0, 0,
		b.Attribute("LineNumberTable", classtest.Counted(line(2, 2))),
		b.Attribute("LineNumberTable", classtest.Counted(line(0, 1), line(2, 3)))))
	b.AddMethod(publicStatic, "emptyTable", "()V", code().Code(b, 0, 0, b.Attribute("LineNumberTable", uint16(0))))
	return b
}

func oddVariables() *classtest.Builder {
	b := classtest.NewBuilder(49, "OddVariables")
	variable := func(start, length uint16, name, typ string) []byte {
		return classtest.Cat(start, length, b.Utf8(name), b.Utf8(typ), uint16(0))
	}
	code := classtest.NewAssembler().Ops("iconst_0", "istore_0", "iload_0", "pop", "return")
	b.AddMethod(publicStatic, "variables", "()V", code.Code(b, 1, 1,
		b.Attribute("LocalVariableTypeTable", classtest.Counted(variable(2, 3, "list", "Ljava/util/List<-TT;>;"))),
		b.Attribute("LocalVariableTable", classtest.Counted(variable(2, 3, "list", "Ljava/util/List;"), variable(2, 0, "nowhere", "I"), variable(0, 5, "everywhere", "I"))),
		b.Attribute("LineNumberTable", classtest.Counted(classtest.Cat(uint16(0), uint16(1)))),
		b.Attribute("LocalVariableTable", classtest.Counted(variable(4, 1, "atTheEnd", "F")))))
	return b
}

func oddHandlers() *classtest.Builder {
	b := classtest.NewBuilder(49, "OddHandlers")
	a := classtest.NewAssembler().
		Label("a").Op("nop").Label("b").Op("nop").Label("c").Op("return").
		Label("handler").Op("athrow").Label("end").
		Catch("a", "c", "handler", 0).
		Catch("a", "c", "handler", 0).
		Catch("b", "end", "handler", b.Class("java/lang/Exception")).
		Catch("handler", "end", "handler", 0)
	b.AddMethod(publicStatic, "overlapping", "()V", a.Code(b, 1, 0))
	return b
}
