package classfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Contents is what an attribute says, as one of the concrete types of this package:
// which one follows from the attribute's [Kind]. Pool indices and code offsets in it
// are as the file has them; whether they lead anywhere is for [Class.Check] to say.
type Contents interface {
	// AppendTo writes the contents behind dst, without the attribute's name and
	// length. It fails only for contents that no class file can hold.
	AppendTo(dst []byte) ([]byte, error)
}

// Opaque is the contents of an attribute that the specification does not know.
type Opaque []byte

// AppendTo implements [Contents].
func (o Opaque) AppendTo(dst []byte) ([]byte, error) { return append(dst, o...), nil }

// Decode returns the contents of an attribute. AppendTo gives the same bytes back.
// Offsets in errors count from the start of the contents.
func (c *Class) Decode(a Attribute) (Contents, error) { return c.decode(a, nil) }

// decode is Decode that, given a pool, demands that indices lead to what they should.
func (c *Class) decode(a Attribute, pool *Pool) (Contents, error) {
	kind := c.Kind(a.Name)
	if kind == KindUnknown {
		return Opaque(a.Data), nil
	}
	in := &decoder{cursor: cursor{data: a.Data}, structure: kind.String(), pool: pool}
	contents := in.contents(kind)
	if err := in.finish(); err != nil {
		return nil, err
	}
	return contents, nil
}

func (in *decoder) contents(kind Kind) Contents {
	switch kind {
	case KindConstantValue:
		return ConstantValue(in.ref(constantValues))
	case KindCode:
		return in.code()
	case KindStackMapTable:
		return in.stackMapTable()
	case KindExceptions:
		return Exceptions(in.refs(classEntry, "entries"))
	case KindInnerClasses:
		return in.innerClasses()
	case KindEnclosingMethod:
		return EnclosingMethod{Class: in.ref(classEntry), Method: in.refOrNone(nameAndTypeEntry)}
	case KindSynthetic:
		return Synthetic{}
	case KindSignature:
		return Signature(in.ref(utf8Entry))
	case KindSourceFile:
		return SourceFile(in.ref(utf8Entry))
	case KindSourceDebugExtension:
		return SourceDebugExtension(in.bytes(in.left()))
	case KindLineNumberTable:
		return in.lineNumberTable()
	case KindLocalVariableTable:
		return LocalVariableTable(in.localVariables())
	case KindLocalVariableTypeTable:
		return LocalVariableTypeTable(in.localVariables())
	case KindDeprecated:
		return Deprecated{}
	case KindRuntimeVisibleAnnotations, KindRuntimeInvisibleAnnotations:
		return Annotations(in.annotations())
	case KindRuntimeVisibleParameterAnnotations, KindRuntimeInvisibleParameterAnnotations:
		return in.parameterAnnotations()
	case KindRuntimeVisibleTypeAnnotations, KindRuntimeInvisibleTypeAnnotations:
		return in.typeAnnotations()
	case KindAnnotationDefault:
		return AnnotationDefault(in.elementValue(0))
	case KindBootstrapMethods:
		return in.bootstrapMethods()
	case KindMethodParameters:
		return in.methodParameters()
	case KindModule:
		return in.module()
	case KindModulePackages:
		return ModulePackages(in.refs(packageEntry, "entries"))
	case KindModuleMainClass:
		return ModuleMainClass(in.ref(classEntry))
	case KindNestHost:
		return NestHost(in.ref(classEntry))
	case KindNestMembers:
		return NestMembers(in.refs(classEntry, "entries"))
	case KindRecord:
		return in.record()
	case KindPermittedSubclasses:
		return PermittedSubclasses(in.refs(classEntry, "entries"))
	}
	return Opaque(in.bytes(in.left()))
}

// Kind is what an attribute is, by its name.
type Kind uint8

// The attributes of JVMS SE 25, 4.7, in the order of its table.
const (
	KindUnknown Kind = iota + 1
	KindConstantValue
	KindCode
	KindStackMapTable
	KindExceptions
	KindInnerClasses
	KindEnclosingMethod
	KindSynthetic
	KindSignature
	KindSourceFile
	KindSourceDebugExtension
	KindLineNumberTable
	KindLocalVariableTable
	KindLocalVariableTypeTable
	KindDeprecated
	KindRuntimeVisibleAnnotations
	KindRuntimeInvisibleAnnotations
	KindRuntimeVisibleParameterAnnotations
	KindRuntimeInvisibleParameterAnnotations
	KindRuntimeVisibleTypeAnnotations
	KindRuntimeInvisibleTypeAnnotations
	KindAnnotationDefault
	KindBootstrapMethods
	KindMethodParameters
	KindModule
	KindModulePackages
	KindModuleMainClass
	KindNestHost
	KindNestMembers
	KindRecord
	KindPermittedSubclasses
	kindCount
)

var kindNames = [kindCount]string{
	KindUnknown: "", KindConstantValue: "ConstantValue", KindCode: "Code", KindStackMapTable: "StackMapTable",
	KindExceptions: "Exceptions", KindInnerClasses: "InnerClasses", KindEnclosingMethod: "EnclosingMethod",
	KindSynthetic: "Synthetic", KindSignature: "Signature", KindSourceFile: "SourceFile",
	KindSourceDebugExtension: "SourceDebugExtension", KindLineNumberTable: "LineNumberTable",
	KindLocalVariableTable: "LocalVariableTable", KindLocalVariableTypeTable: "LocalVariableTypeTable",
	KindDeprecated: "Deprecated", KindRuntimeVisibleAnnotations: "RuntimeVisibleAnnotations",
	KindRuntimeInvisibleAnnotations:          "RuntimeInvisibleAnnotations",
	KindRuntimeVisibleParameterAnnotations:   "RuntimeVisibleParameterAnnotations",
	KindRuntimeInvisibleParameterAnnotations: "RuntimeInvisibleParameterAnnotations",
	KindRuntimeVisibleTypeAnnotations:        "RuntimeVisibleTypeAnnotations",
	KindRuntimeInvisibleTypeAnnotations:      "RuntimeInvisibleTypeAnnotations",
	KindAnnotationDefault:                    "AnnotationDefault", KindBootstrapMethods: "BootstrapMethods",
	KindMethodParameters: "MethodParameters", KindModule: "Module", KindModulePackages: "ModulePackages",
	KindModuleMainClass: "ModuleMainClass", KindNestHost: "NestHost", KindNestMembers: "NestMembers",
	KindRecord: "Record", KindPermittedSubclasses: "PermittedSubclasses",
}

var kindByName = func() map[string]Kind {
	m := make(map[string]Kind, kindCount)
	for k, name := range kindNames {
		if name != "" {
			m[name] = Kind(k)
		}
	}
	return m
}()

// String returns the attribute's name in the specification, "" for KindUnknown.
func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return ""
}

func kindOf(name []byte) Kind {
	if k, ok := kindByName[string(name)]; ok {
		return k
	}
	return KindUnknown
}

// The attributes that are one constant pool index each.
type (
	// ConstantValue is the initial value of a static field: an Integer, Float, Long,
	// Double or String entry.
	ConstantValue uint16
	// Signature is a Utf8 entry: the generic signature of a class, member or record
	// component.
	Signature uint16
	// SourceFile is a Utf8 entry: the name of the source file.
	SourceFile uint16
	// NestHost is a Class entry: the class whose nest this one is in.
	NestHost uint16
	// ModuleMainClass is a Class entry: the class to start a module with.
	ModuleMainClass uint16
)

// The attributes that are a list of constant pool indices each.
type (
	// Exceptions are Class entries: what a method declares to throw.
	Exceptions []uint16
	// NestMembers are Class entries: the classes of this nest, its host aside.
	NestMembers []uint16
	// PermittedSubclasses are Class entries: who may extend a sealed class.
	PermittedSubclasses []uint16
	// ModulePackages are Package entries: all packages of a module.
	ModulePackages []uint16
)

// The attributes that say all by being there, and the one that is plain bytes.
type (
	// Synthetic marks what no source holds.
	Synthetic struct{}
	// Deprecated marks what should no longer be used.
	Deprecated struct{}
	// SourceDebugExtension is debug information in a language's own form, in
	// modified UTF-8.
	SourceDebugExtension []byte
)

// AppendTo implements [Contents].
func (v ConstantValue) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v Signature) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v SourceFile) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v NestHost) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (v ModuleMainClass) AppendTo(dst []byte) ([]byte, error) { return append16(dst, uint16(v)), nil }

// AppendTo implements [Contents].
func (l Exceptions) AppendTo(dst []byte) ([]byte, error) { return appendIndices(dst, "Exceptions", l) }

// AppendTo implements [Contents].
func (l NestMembers) AppendTo(dst []byte) ([]byte, error) {
	return appendIndices(dst, "NestMembers", l)
}

// AppendTo implements [Contents].
func (l PermittedSubclasses) AppendTo(dst []byte) ([]byte, error) {
	return appendIndices(dst, "PermittedSubclasses", l)
}

// AppendTo implements [Contents].
func (l ModulePackages) AppendTo(dst []byte) ([]byte, error) {
	return appendIndices(dst, "ModulePackages", l)
}

// AppendTo implements [Contents].
func (Synthetic) AppendTo(dst []byte) ([]byte, error) { return dst, nil }

// AppendTo implements [Contents].
func (Deprecated) AppendTo(dst []byte) ([]byte, error) { return dst, nil }

// AppendTo implements [Contents].
func (s SourceDebugExtension) AppendTo(dst []byte) ([]byte, error) { return append(dst, s...), nil }

// decoder reads an attribute's contents. The first defect is kept; from then on all
// reads give zero, so that loops end by themselves.
type decoder struct {
	cursor
	structure string
	pool      *Pool // where indices must lead; nil leaves them unseen
	err       error
}

func (in *decoder) defect(at int, format string, args ...any) {
	if in.err == nil && !in.short {
		in.err = &FormatError{in.structure, at, fmt.Sprintf(format, args...)}
	}
	in.fail()
}

// finish demands that the contents end where the attribute does.
func (in *decoder) finish() error {
	switch {
	case in.err != nil:
		return in.err
	case in.short:
		return &FormatError{in.structure, in.at, "truncated"}
	case in.left() > 0:
		return &FormatError{in.structure, in.at, fmt.Sprintf("%d bytes too many", in.left())}
	}
	return nil
}

// count reads how many entries follow, each of size bytes at least. A count that
// lies is refused here, before anyone allocates by it.
func (in *decoder) count(size int, what string) int {
	at := in.at
	return in.counted(at, int(in.u2()), size, what)
}

// count1 is count for the tables whose count is a single byte.
func (in *decoder) count1(size int, what string) int {
	at := in.at
	return in.counted(at, int(in.u1()), size, what)
}

func (in *decoder) counted(at, n, size int, what string) int {
	if n*size > in.left() {
		in.defect(at, "%d %s do not fit in %d bytes", n, what, in.left())
		return 0
	}
	return n
}

// ref reads the index of an entry of one of the kinds wanted.
func (in *decoder) ref(want tagSet) uint16 {
	at := in.at
	i := in.u2()
	if in.pool != nil && !in.short {
		if err := in.pool.lookFor(i, want); err != nil {
			in.defect(at, "%v", err)
		}
	}
	return i
}

// refOrNone is ref where 0 stands for no entry.
func (in *decoder) refOrNone(want tagSet) uint16 { return in.ref(want | noEntry) }

func (in *decoder) refs(want tagSet, what string) []uint16 {
	list := make([]uint16, in.count(2, what))
	for i := range list {
		list[i] = in.ref(want)
	}
	return list
}

// attributes reads a table of attributes inside another attribute.
func (in *decoder) attributes() []Attribute {
	table := make([]Attribute, in.count(6, "attributes"))
	for i := range table {
		name := in.ref(utf8Entry)
		at := in.at
		size := in.u4()
		if int64(size) > int64(in.left()) {
			in.defect(at, "%d bytes of attribute %d of %d do not fit in %d", size, i+1, len(table), in.left())
			return nil
		}
		table[i] = Attribute{name, in.bytes(int(size))}
	}
	return table
}

// encoder writes an attribute's contents and keeps the first thing that no class
// file can hold.
type encoder struct {
	dst       []byte
	structure string
	err       error
}

func (out *encoder) u1(values ...uint8) { out.dst = append(out.dst, values...) }

func (out *encoder) u2(values ...uint16) { out.dst = append16(out.dst, values...) }

func (out *encoder) u4(v uint32) { out.dst = binary.BigEndian.AppendUint32(out.dst, v) }

func (out *encoder) count(n int, what string) {
	out.limit(n, math.MaxUint16, what)
	out.u2(uint16(n))
}

func (out *encoder) count1(n int, what string) {
	out.limit(n, math.MaxUint8, what)
	out.u1(uint8(n))
}

func (out *encoder) limit(n, most int, what string) {
	if n > most {
		out.defect("%d %s, the limit is %d", n, what, most)
	}
}

func (out *encoder) defect(format string, args ...any) {
	if out.err == nil {
		out.err = &FormatError{out.structure, len(out.dst), fmt.Sprintf(format, args...)}
	}
}

func (out *encoder) indices(list []uint16, what string) {
	out.count(len(list), what)
	out.u2(list...)
}

func (out *encoder) attributes(table []Attribute) {
	dst, err := AppendAttributes(out.dst, table)
	out.dst = dst
	if out.err == nil {
		out.err = err
	}
}

func (out *encoder) finish() ([]byte, error) { return out.dst, out.err }

func appendIndices(dst []byte, structure string, list []uint16) ([]byte, error) {
	out := &encoder{dst: dst, structure: structure}
	out.indices(list, "entries")
	return out.finish()
}
