package main

import "github.com/sonde-jvm/sonde/classfile/classtest"

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
