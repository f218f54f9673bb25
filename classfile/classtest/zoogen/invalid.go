package main

import (
	"bytes"
	"fmt"
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
