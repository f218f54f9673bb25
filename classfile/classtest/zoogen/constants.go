package main

import "github.com/sonde-jvm/sonde/classfile/classtest"

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
