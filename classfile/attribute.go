package classfile

import (
	"fmt"
	"math"
	"strings"
)

// Contents is a decoded attribute: one of the concrete types of this package, chosen by
// the attribute's [Kind]. Pool indices and code offsets have the values of the file;
// [Class.Check] verifies them.
type Contents interface {
	// transfer reads the contents from the codec or writes them to it, and returns them.
	// The receiver is the zero value when reading.
	transfer(x *codec) Contents
}

// AppendContents appends the contents of an attribute to dst, without the attribute's name
// and length. It fails only for contents that no class file can hold.
func AppendContents(dst []byte, contents Contents) ([]byte, error) {
	x := &codec{writing: true, dst: dst}
	contents.transfer(x)
	if x.err != nil {
		x.err.Structure = strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", contents), "*"), "classfile.")
		return x.dst, x.err
	}
	return x.dst, nil
}

// Decode returns the contents of an attribute. [AppendContents] is its inverse.
// Offsets in errors count from the start of the contents.
func (c *Class) Decode(a Attribute) (Contents, error) { return c.decode(a, nil) }

// decode is Decode that, given a pool, requires indices to refer to entries of the right kind.
func (c *Class) decode(a Attribute, pool *Pool) (Contents, error) {
	kind := c.Kind(a.Name)
	x := &codec{Cursor: Cursor{Data: a.Data}, structure: kind.String(), pool: pool}
	contents := kinds[kind].zero.transfer(x)
	if err := x.finish(); err != nil {
		return nil, err
	}
	return contents, nil
}

// Kind is the kind of an attribute, given by its name.
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

// kinds describes each kind of attribute: its name, where the specification allows it
// (JVMS 4.7, table C) and the zero value of its contents. The class-file version that
// introduced an attribute does not matter: an older class that has one means it.
var kinds = [kindCount]struct {
	name  string
	where place
	zero  Contents
}{
	KindUnknown:                              {"", 0, Opaque(nil)},
	KindConstantValue:                        {"ConstantValue", ofField, ConstantValue(0)},
	KindCode:                                 {"Code", ofMethod, (*Code)(nil)},
	KindStackMapTable:                        {"StackMapTable", ofCode, Opaque(nil)},
	KindExceptions:                           {"Exceptions", ofMethod, Exceptions(nil)},
	KindInnerClasses:                         {"InnerClasses", ofClass, InnerClasses(nil)},
	KindEnclosingMethod:                      {"EnclosingMethod", ofClass, EnclosingMethod{}},
	KindSynthetic:                            {"Synthetic", ofClass | ofMembers, Synthetic{}},
	KindSignature:                            {"Signature", ofClass | ofMembers | ofComponent, Signature(0)},
	KindSourceFile:                           {"SourceFile", ofClass, SourceFile(0)},
	KindSourceDebugExtension:                 {"SourceDebugExtension", ofClass, SourceDebugExtension(nil)},
	KindLineNumberTable:                      {"LineNumberTable", ofCode, LineNumberTable(nil)},
	KindLocalVariableTable:                   {"LocalVariableTable", ofCode, LocalVariableTable(nil)},
	KindLocalVariableTypeTable:               {"LocalVariableTypeTable", ofCode, LocalVariableTypeTable(nil)},
	KindDeprecated:                           {"Deprecated", ofClass | ofMembers, Deprecated{}},
	KindRuntimeVisibleAnnotations:            {"RuntimeVisibleAnnotations", ofClass | ofMembers | ofComponent, Annotations(nil)},
	KindRuntimeInvisibleAnnotations:          {"RuntimeInvisibleAnnotations", ofClass | ofMembers | ofComponent, Annotations(nil)},
	KindRuntimeVisibleParameterAnnotations:   {"RuntimeVisibleParameterAnnotations", ofMethod, ParameterAnnotations(nil)},
	KindRuntimeInvisibleParameterAnnotations: {"RuntimeInvisibleParameterAnnotations", ofMethod, ParameterAnnotations(nil)},
	KindRuntimeVisibleTypeAnnotations:        {"RuntimeVisibleTypeAnnotations", ofClass | ofMembers | ofCode | ofComponent, TypeAnnotations(nil)},
	KindRuntimeInvisibleTypeAnnotations:      {"RuntimeInvisibleTypeAnnotations", ofClass | ofMembers | ofCode | ofComponent, TypeAnnotations(nil)},
	KindAnnotationDefault:                    {"AnnotationDefault", ofMethod, AnnotationDefault{}},
	KindBootstrapMethods:                     {"BootstrapMethods", ofClass, BootstrapMethods(nil)},
	KindMethodParameters:                     {"MethodParameters", ofMethod, MethodParameters(nil)},
	KindModule:                               {"Module", ofClass, (*Module)(nil)},
	KindModulePackages:                       {"ModulePackages", ofClass, ModulePackages(nil)},
	KindModuleMainClass:                      {"ModuleMainClass", ofClass, ModuleMainClass(0)},
	KindNestHost:                             {"NestHost", ofClass, NestHost(0)},
	KindNestMembers:                          {"NestMembers", ofClass, NestMembers(nil)},
	KindRecord:                               {"Record", ofClass, Record(nil)},
	KindPermittedSubclasses:                  {"PermittedSubclasses", ofClass, PermittedSubclasses(nil)},
}

// place is a set of structures that have attributes.
type place uint8

const (
	ofClass place = 1 << iota
	ofField
	ofMethod
	ofCode
	ofComponent
	ofMembers = ofField | ofMethod
)

var kindByName = func() map[string]Kind {
	m := make(map[string]Kind, kindCount)
	for k := range kinds {
		if kinds[k].name != "" {
			m[kinds[k].name] = Kind(k)
		}
	}
	return m
}()

// String returns the attribute's name in the specification, "" for KindUnknown.
func (k Kind) String() string {
	if k < kindCount {
		return kinds[k].name
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

// The attributes without contents, and attributes that are plain bytes.
type (
	// Synthetic marks an element that is not in the source.
	Synthetic struct{}
	// Deprecated marks an element that should no longer be used.
	Deprecated struct{}
	// SourceDebugExtension is debug information in a language's own form, in
	// modified UTF-8.
	SourceDebugExtension []byte
	// Opaque is the contents of an attribute that the specification does not define, and of
	// a StackMapTable, which package code decodes.
	Opaque []byte
)

func (v ConstantValue) transfer(x *codec) Contents   { return index(x, v, constantValues) }
func (v Signature) transfer(x *codec) Contents       { return index(x, v, utf8Entry) }
func (v SourceFile) transfer(x *codec) Contents      { return index(x, v, utf8Entry) }
func (v NestHost) transfer(x *codec) Contents        { return index(x, v, classEntry) }
func (v ModuleMainClass) transfer(x *codec) Contents { return index(x, v, classEntry) }

func (l Exceptions) transfer(x *codec) Contents          { return indices(x, l, classEntry) }
func (l NestMembers) transfer(x *codec) Contents         { return indices(x, l, classEntry) }
func (l PermittedSubclasses) transfer(x *codec) Contents { return indices(x, l, classEntry) }
func (l ModulePackages) transfer(x *codec) Contents      { return indices(x, l, packageEntry) }

func (s Synthetic) transfer(*codec) Contents  { return s }
func (d Deprecated) transfer(*codec) Contents { return d }

func (s SourceDebugExtension) transfer(x *codec) Contents {
	x.raw((*[]byte)(&s), x.Left())
	return s
}

func (o Opaque) transfer(x *codec) Contents {
	x.raw((*[]byte)(&o), x.Left())
	return o
}

// codec reads or writes the contents of an attribute, so that each structure is described
// once for both directions. The first defect is kept. Reads after it return zero, so that
// loops end by themselves.
type codec struct {
	Cursor    // the source when reading
	writing   bool
	dst       []byte
	structure string
	pool      *Pool // where indices must lead; nil leaves them unchecked
	err       *FormatError
}

// defect records an error: at an offset when reading, at the end of dst when writing.
func (x *codec) defect(at int, format string, args ...any) {
	if x.writing {
		at = len(x.dst)
	}
	if x.err == nil && !x.Short {
		x.err = &FormatError{x.structure, at, fmt.Sprintf(format, args...)}
	}
	x.fail()
}

// finish requires that the contents end where the attribute does.
func (x *codec) finish() error {
	switch {
	case x.err != nil:
		return x.err
	case x.Short:
		return &FormatError{x.structure, x.At, "truncated"}
	case x.Left() > 0:
		return &FormatError{x.structure, x.At, fmt.Sprintf("%d bytes too many", x.Left())}
	}
	return nil
}

func (x *codec) u1(values ...*uint8) {
	for _, v := range values {
		if x.writing {
			x.dst = append(x.dst, *v)
		} else {
			*v = x.Cursor.U1()
		}
	}
}

func (x *codec) u2(values ...*uint16) {
	for _, v := range values {
		if x.writing {
			x.dst = append16(x.dst, *v)
		} else {
			*v = x.Cursor.U2()
		}
	}
}

func (x *codec) access(v *Access) { x.u2((*uint16)(v)) }

// raw transfers bytes: n of them when reading.
func (x *codec) raw(b *[]byte, n int) {
	if x.writing {
		x.dst = append(x.dst, *b...)
	} else {
		*b = x.Bytes(n)
	}
}

// ref transfers the index of an entry of one of the kinds wanted.
func (x *codec) ref(v *uint16, want tagSet) {
	at := x.At
	x.u2(v)
	if x.pool != nil && !x.Short {
		if err := x.pool.lookFor(*v, want); err != nil {
			x.defect(at, "%v", err)
		}
	}
}

// refOrNone is ref where 0 stands for no entry.
func (x *codec) refOrNone(v *uint16, want tagSet) { x.ref(v, want|noEntry) }

func (x *codec) refs(list *[]uint16, want tagSet, what string) {
	table(x, list, 2, what, func(v *uint16) { x.ref(v, want) })
}

// attributes transfers a table of attributes inside another attribute.
func (x *codec) attributes(list *[]Attribute) {
	if x.writing {
		dst, err := AppendAttributes(x.dst, *list)
		x.dst = dst
		if err != nil {
			x.defect(0, "%v", err)
		}
		return
	}
	i := 0
	table(x, list, 6, "attributes", func(a *Attribute) {
		i++
		x.ref(&a.Name, utf8Entry)
		at := x.At
		size := x.U4()
		if int64(size) > int64(x.Left()) {
			x.defect(at, "%d bytes of attribute %d of %d do not fit in %d", size, i, len(*list), x.Left())
		}
		x.raw(&a.Data, int(size))
	})
}

func (x *codec) limit(n, most int, what string) {
	if n > most {
		x.defect(0, "%d %s, the limit is %d", n, what, most)
	}
}

func index[T ~uint16](x *codec, v T, want tagSet) T {
	i := uint16(v)
	x.ref(&i, want)
	return T(i)
}

func indices[S ~[]uint16](x *codec, list S, want tagSet) S {
	plain := []uint16(list)
	x.refs(&plain, want, "entries")
	return plain
}

// table transfers a u2 count and that many rows, each of which takes size bytes at least.
func table[S ~[]T, T any](x *codec, list *S, size int, what string, row func(*T)) {
	x.limit(len(*list), math.MaxUint16, what)
	at, n := x.At, uint16(len(*list))
	x.u2(&n)
	rows(x, list, at, int(n), size, what, row)
}

// table1 is table with a count of a single byte.
func table1[S ~[]T, T any](x *codec, list *S, size int, what string, row func(*T)) {
	x.limit(len(*list), math.MaxUint8, what)
	at, n := x.At, uint8(len(*list))
	x.u1(&n)
	rows(x, list, at, int(n), size, what, row)
}

// rows transfers n rows. A count read at an offset that the rest of the attribute cannot
// hold is refused before memory is allocated for it.
func rows[S ~[]T, T any](x *codec, list *S, at, n, size int, what string, row func(*T)) {
	if !x.writing {
		if n*size > x.Left() {
			x.defect(at, "%d %s do not fit in %d bytes", n, what, x.Left())
			n = 0
		}
		*list = make(S, n)
	}
	for i := range *list {
		row(&(*list)[i])
	}
}
