package main

import (
	"math"

	"github.com/sonde-jvm/sonde/classfile/classtest"
)

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
