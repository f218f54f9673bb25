package main

import "github.com/sonde-jvm/sonde/classfile/classtest"

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
