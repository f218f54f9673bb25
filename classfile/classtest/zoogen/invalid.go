package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/sonde-jvm/sonde/classfile/classtest"
)

// invalidSpecimens have one defect each and are named for it.
func invalidSpecimens() []specimen {
	return slices.Concat(truncated(), lyingCounts(), wrongIndices(), wrongCode(), wrongTables(), wrongAnnotations())
}

// sound is the class that most specimens are a broken copy of: an interface, a
// field, a method and an attribute, so that every structure is there once.
func sound() *classtest.Builder {
	b := classtest.NewBuilder(52, "Broken")
	b.Interfaces = []uint16{b.Class("java/lang/Runnable")}
	b.AddField(static|final, "field", "I", b.Attribute("ConstantValue", b.Integer(1)))
	b.AddMethod(publicStatic, "method", "()V", classtest.NewAssembler().Op("return").Code(b, 0, 0))
	b.AddAttribute(b.Attribute("SourceFile", b.Utf8("Broken.java")))
	return b
}

// patched is a copy of the sound class with bytes replaced at an offset.
func patched(name string, at int, parts ...any) specimen {
	data := bytes.Clone(sound().Bytes())
	copy(data[at:], classtest.Cat(parts...))
	return specimen{name, data}
}

// The structures of the sound class by the offset of their first byte.
type offsets struct {
	poolCount, firstEntry, access, this, interfaces, fields, methods, attributes, end int
}

// soundOffsets walks the sound class once, by what it is known to hold.
func soundOffsets() offsets {
	data := sound().Bytes()
	o := offsets{poolCount: 8, firstEntry: 10, end: len(data)}
	o.access = bytes.Index(data, classtest.Cat(uint16(0x0021), uint16(2), uint16(4), uint16(1)))
	if o.access < 0 {
		panic("zoogen: the sound class no longer begins as expected")
	}
	o.this = o.access + 2
	o.interfaces = o.access + 6
	o.fields = o.interfaces + 4
	o.methods = o.fields + 2 + 8 + 8
	o.attributes = o.end - 10
	return o
}

func truncated() []specimen {
	data, o := sound().Bytes(), soundOffsets()
	var all []specimen
	for _, cut := range []struct {
		name string
		at   int
	}{
		{"empty-file", 0},
		{"truncated-in-magic", 3},
		{"truncated-in-version", 6},
		{"truncated-in-pool-count", o.poolCount + 1},
		{"truncated-in-pool-entry", o.firstEntry + 2},
		{"truncated-in-utf8", o.firstEntry + 5},
		{"truncated-before-access", o.access},
		{"truncated-in-super", o.access + 5},
		{"truncated-in-interfaces", o.interfaces + 3},
		{"truncated-in-field", o.fields + 5},
		{"truncated-in-field-attribute", o.fields + 12},
		{"truncated-in-method", o.methods + 5},
		{"truncated-in-code", o.methods + 20},
		{"truncated-in-attribute-count", o.attributes + 1},
		{"truncated-in-attribute-header", o.attributes + 6},
		{"truncated-in-attribute", o.end - 1},
	} {
		all = append(all, specimen{cut.name, bytes.Clone(data[:cut.at])})
	}
	return append(all,
		specimen{"trailing-bytes", append(bytes.Clone(data), 0, 0, 0)},
		patched("bad-magic", 0, "PK\x03\x04"),
	)
}

func lyingCounts() []specimen {
	o := soundOffsets()
	const most = uint16(65535)
	// The long entry is the last of a pool whose count leaves it one place only.
	long := classtest.NewBuilder(52, "Broken")
	long.Long(1, 2)
	oneShort := long.Bytes()
	oneShort[o.poolCount+1]--
	return []specimen{
		patched("pool-count-zero", o.poolCount, uint16(0)),
		patched("pool-count-oversized", o.poolCount, most),
		patched("interface-count-oversized", o.interfaces, most),
		patched("field-count-oversized", o.fields, most),
		patched("method-count-oversized", o.methods, most),
		patched("attribute-count-oversized", o.attributes, most),
		patched("member-attribute-count-oversized", o.fields+8, most),
		patched("attribute-length-lies", o.attributes+4, uint32(3)),
		patched("attribute-length-oversized", o.attributes+4, uint32(0xffffffff)),
		patched("attribute-length-past-int32", o.attributes+4, uint32(0x80000000)),
		{"pool-long-in-last-place", oneShort},
	}
}

func wrongIndices() []specimen {
	o := soundOffsets()
	build := func(name string, change func(b *classtest.Builder)) specimen {
		b := sound()
		change(b)
		return made(name, b)
	}
	return []specimen{
		patched("pool-unknown-tag", o.firstEntry, uint8(2)),
		patched("pool-index-zero", o.this, uint16(0)),
		patched("pool-index-out-of-range", o.this, uint16(999)),
		patched("pool-index-of-wrong-kind", o.this, uint16(1)),
		patched("interface-index-out-of-range", o.interfaces+2, uint16(999)),
		patched("field-name-index-out-of-range", o.fields+4, uint16(999)),
		patched("field-descriptor-of-wrong-kind", o.fields+6, uint16(2)),
		patched("attribute-name-index-out-of-range", o.attributes+2, uint16(999)),
		patched("attribute-value-index-out-of-range", o.end-2, uint16(999)),
		build("class-entry-names-itself", func(b *classtest.Builder) { b.This = b.Entry(7, b.Utf8("the one before")+1) }),
		build("pool-index-inside-long", func(b *classtest.Builder) {
			b.AddField(static, "f", "J", b.Attribute("ConstantValue", b.Long(0, 0)+1))
		}),
		build("pool-cycle", cyclicConstant),
		build("bootstrap-index-outside", func(b *classtest.Builder) {
			b.AddMethod(publicStatic, "dynamic", "()V", classtest.NewAssembler().
				Op("invokedynamic", b.InvokeDynamic(7, "x", "()V"), uint16(0)).Op("return").Code(b, 0, 0))
			b.AddAttribute(b.Attribute("BootstrapMethods", uint16(0)))
		}),
	}
}

// cyclicConstant is a dynamic constant that is an argument of its own bootstrap
// method.
func cyclicConstant(b *classtest.Builder) {
	b.Major = 55
	handle := b.Handle(6, b.Method("Broken", "make", "()Ljava/lang/Object;"))
	self := b.Dynamic(0, "self", "Ljava/lang/Object;")
	b.AddMethod(publicStatic, "load", "()V", classtest.NewAssembler().Op("ldc_w", self).Ops("pop", "return").Code(b, 1, 0))
	b.AddAttribute(b.Attribute("BootstrapMethods", classtest.Counted(classtest.Cat(handle, uint16(1), self))))
}

// withBody is a class whose one method has these parts as its Code attribute.
func withBody(name string, code func(b *classtest.Builder) []byte) specimen {
	b := classtest.NewBuilder(52, "Broken")
	b.AddMethod(publicStatic, "broken", "(I)V", code(b))
	return made(name, b)
}

// rawCode is a Code attribute around instructions given as bytes.
func rawCode(name string, parts ...any) specimen {
	code := classtest.Cat(parts...)
	if len(code) == 0 {
		panic(fmt.Sprintf("zoogen: %s has no code", name))
	}
	return withBody(name, func(b *classtest.Builder) []byte {
		return b.Attribute("Code", uint16(2), uint16(2), uint32(len(code)), code, uint16(0), uint16(0))
	})
}

// Opcodes as bytes, for code that is wrong on purpose.
const (
	opNop          = uint8(0x00)
	opBipush       = uint8(0x10)
	opSipush       = uint8(0x11)
	opLdc          = uint8(0x12)
	opIload0       = uint8(0x1a)
	opGoto         = uint8(0xa7)
	opTableswitch  = uint8(0xaa)
	opLookupswitch = uint8(0xab)
	opReturn       = uint8(0xb1)
	opInvokestatic = uint8(0xb8)
	opNewarray     = uint8(0xbc)
	opWide         = uint8(0xc4)
	opGotoW        = uint8(0xc8)
	noPad          = "\x00\x00" // after an instruction of one byte and the opcode
)

func wrongCode() []specimen {
	codeLength := func(name string, length uint32, after ...any) specimen {
		return withBody(name, func(b *classtest.Builder) []byte {
			return b.Attribute("Code", uint16(0), uint16(1), length, classtest.Cat(after...))
		})
	}
	rest := classtest.Cat(opReturn, uint16(0), uint16(0))
	return []specimen{
		codeLength("code-length-zero", 0, uint16(0), uint16(0)),
		codeLength("code-length-lies", 100, rest),
		codeLength("code-length-oversized", 0xffffffff, rest),
		codeLength("code-length-past-64k", 65536, make([]byte, 65535), rest),
		codeLength("code-left-over", 1, rest, uint8(0)),
		withBody("code-truncated-header", func(b *classtest.Builder) []byte { return b.Attribute("Code", uint16(0), uint8(1)) }),
		rawCode("unknown-opcode", opNop, uint8(0xca)),
		rawCode("truncated-instruction", opReturn, opSipush, uint8(1)),
		rawCode("branch-into-operand", opGoto, int16(4), opBipush, uint8(0), opReturn),
		rawCode("branch-before-start", opNop, opGoto, int16(-2), opReturn),
		rawCode("branch-past-end", opGoto, int16(4), opReturn),
		rawCode("branch-far-past-end", opGotoW, int32(math.MaxInt32), opReturn),
		rawCode("wide-before-wrong-opcode", opWide, opNop, uint16(0), opReturn),
		rawCode("wide-at-end", opReturn, opWide),
		rawCode("newarray-of-unknown-type", opNop, opNewarray, uint8(3), opReturn),
		rawCode("constant-index-out-of-range", opLdc, uint8(200), opReturn),
		rawCode("call-of-class-entry", opInvokestatic, uint16(2), opReturn),
		rawCode("switch-truncated", opIload0, opTableswitch, noPad, int32(0)),
		rawCode("switch-low-above-high", opIload0, opTableswitch, noPad, int32(15), int32(1), int32(0), opReturn),
		rawCode("switch-overflow", opIload0, opTableswitch, noPad, int32(15), int32(math.MinInt32), int32(math.MaxInt32), opReturn),
		rawCode("switch-count-oversized", opIload0, opLookupswitch, noPad, int32(15), int32(math.MaxInt32), opReturn),
		rawCode("switch-count-negative", opIload0, opLookupswitch, noPad, int32(11), int32(-1), opReturn),
		rawCode("switch-target-outside", opIload0, opTableswitch, noPad, int32(19), int32(0), int32(0), int32(1000), opReturn),
		rawCode("switch-default-into-operand", opIload0, opLookupswitch, noPad, int32(5), int32(0), opReturn),
	}
}

func wrongTables() []specimen {
	handler := func(name string, parts ...any) specimen {
		code := classtest.Cat(opBipush, uint8(1), uint8(0x57), opReturn) // 0: bipush 2: pop 3: return
		return withBody(name, func(b *classtest.Builder) []byte {
			return b.Attribute("Code", uint16(1), uint16(1), uint32(len(code)), code, classtest.Cat(parts...), uint16(0))
		})
	}
	table := func(name, attribute string, parts ...any) specimen {
		code := classtest.NewAssembler().Op("bipush", int8(1)).Ops("pop", "return")
		return withBody(name, func(b *classtest.Builder) []byte {
			return code.Code(b, 1, 1, b.Attribute(attribute, parts...))
		})
	}
	one := uint16(1)
	return []specimen{
		handler("handler-outside", one, uint16(0), uint16(4), uint16(4), uint16(0)),
		handler("handler-range-outside", one, uint16(0), uint16(99), uint16(3), uint16(0)),
		handler("handler-range-empty", one, uint16(2), uint16(2), uint16(3), uint16(0)),
		handler("handler-range-into-operand", one, uint16(1), uint16(3), uint16(3), uint16(0)),
		handler("handler-count-oversized", uint16(65535)),
		handler("handler-class-of-wrong-kind", one, uint16(0), uint16(2), uint16(3), uint16(1)),

		table("frame-offset-outside", "StackMapTable", one, uint8(63)),
		table("frame-offset-into-operand", "StackMapTable", one, uint8(1)),
		table("frame-of-reserved-kind", "StackMapTable", one, uint8(128)),
		table("frame-type-unknown", "StackMapTable", one, uint8(64), uint8(9)),
		table("frame-class-of-wrong-kind", "StackMapTable", one, uint8(64), uint8(7), uint16(1)),
		table("frame-new-outside", "StackMapTable", one, uint8(64), uint8(8), uint16(99)),
		table("frame-count-oversized", "StackMapTable", uint16(65535), uint8(0)),
		table("frame-locals-oversized", "StackMapTable", one, uint8(255), uint16(0), uint16(65535)),
		table("frame-left-over", "StackMapTable", one, uint8(0), uint8(0)),

		table("line-count-oversized", "LineNumberTable", uint16(65535), uint16(0), uint16(1)),
		table("variable-count-oversized", "LocalVariableTable", uint16(65535)),
		table("nested-attribute-length-lies", "LineNumberTable", one, uint16(0)),
	}
}

func wrongAnnotations() []specimen {
	annotated := func(name, attribute string, parts func(b *classtest.Builder) []byte) specimen {
		b := classtest.NewBuilder(52, "Broken")
		b.AddAttribute(b.Attribute(attribute, parts(b)))
		return made(name, b)
	}
	const visible = "RuntimeVisibleAnnotations"
	begin := func(b *classtest.Builder) []byte {
		return classtest.Cat(uint16(1), b.Utf8("LNote;"), uint16(1), b.Utf8("value"))
	}
	deep := func(b *classtest.Builder) []byte {
		data := begin(b)
		for range 20000 {
			data = append(data, '[', 0, 1)
		}
		return append(data, 's', 0, 1)
	}
	return []specimen{
		annotated("annotation-count-oversized", visible, func(*classtest.Builder) []byte { return classtest.Cat(uint16(65535)) }),
		annotated("annotation-kind-unknown", visible, func(b *classtest.Builder) []byte {
			return classtest.Cat(begin(b), uint8('?'), uint16(1))
		}),
		annotated("annotation-truncated", visible, func(b *classtest.Builder) []byte { return classtest.Cat(begin(b), uint8('e'), uint16(1)) }),
		annotated("annotation-nested-too-deep", visible, deep),
		annotated("type-annotation-target-unknown", "RuntimeVisibleTypeAnnotations", func(b *classtest.Builder) []byte {
			return classtest.Cat(uint16(1), uint8(0x99), uint8(0), b.Utf8("LNote;"), uint16(0))
		}),
		annotated("type-path-kind-unknown", "RuntimeVisibleTypeAnnotations", func(b *classtest.Builder) []byte {
			return classtest.Cat(uint16(1), uint8(0x13), uint8(1), uint8(4), uint8(0), b.Utf8("LNote;"), uint16(0))
		}),
		annotated("module-truncated", "Module", func(b *classtest.Builder) []byte {
			return classtest.Cat(b.Entry(19, b.Utf8("m")), uint16(0), uint16(0), uint16(9))
		}),
		annotated("record-component-truncated", "Record", func(b *classtest.Builder) []byte {
			return classtest.Cat(uint16(1), b.Utf8("x"), b.Utf8("I"), uint16(1))
		}),
	}
}
