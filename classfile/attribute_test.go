package classfile_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

func TestDecode(t *testing.T) {
	for _, example := range attributeExamples {
		t.Run(example.name, func(t *testing.T) {
			c := classWith(t, example.kind.String())
			got, err := c.Decode(classfile.Attribute{Name: 1, Data: example.data})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, example.want) {
				t.Errorf("decoded\n%#v\nwant\n%#v", got, example.want)
			}
			back, err := classfile.AppendContents([]byte("before"), got)
			if err != nil {
				t.Fatal(err)
			}
			if want := append([]byte("before"), example.data...); !bytes.Equal(back, want) {
				t.Errorf("came back as %x, want %x", back, want)
			}
		})
	}
}

// TestDecodeIsExact cuts each example short everywhere, and makes it longer: none
// of it may pass, but for the kinds that are made of bytes.
func TestDecodeIsExact(t *testing.T) {
	for _, example := range attributeExamples {
		if example.kind == classfile.KindUnknown || example.kind == classfile.KindSourceDebugExtension {
			continue
		}
		c := classWith(t, example.kind.String())
		longer := append(bytes.Clone(example.data), 0)
		for size := range len(longer) + 1 {
			if size == len(example.data) {
				continue
			}
			_, err := c.Decode(classfile.Attribute{Name: 1, Data: longer[:size]})
			var format *classfile.FormatError
			if !errors.As(err, &format) || format.Structure != example.kind.String() || format.Offset > size {
				t.Errorf("%s, %d of %d bytes: error is %v", example.name, size, len(example.data), err)
			}
		}
	}
}

func TestDecodeDefects(t *testing.T) {
	for _, defect := range attributeDefects {
		c := classWith(t, defect.kind.String())
		_, err := c.Decode(classfile.Attribute{Name: 1, Data: defect.data})
		if err == nil || err.Error() != defect.want {
			t.Errorf("error is %v, want %s", err, defect.want)
		}
	}
}

func TestUnknownAttributeIsKept(t *testing.T) {
	c := classWith(t, "com.acme.Custom")
	for _, name := range []uint16{0, 1, 77} {
		got, err := c.Decode(classfile.Attribute{Name: name, Data: []byte{1, 2, 3}})
		if want := (classfile.Opaque{1, 2, 3}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("name %d: %v, %v", name, got, err)
		}
	}
}

func TestAppendContentsRefusesWhatDoesNotFit(t *testing.T) {
	many := make([]uint16, 65536)
	deep := classfile.ElementValue{Tag: 'I'}
	for range classfile.MaxAnnotationDepth + 1 {
		deep = classfile.ElementValue{Tag: '[', Array: []classfile.ElementValue{deep}}
	}
	formal := classfile.Target{Type: classfile.TargetFormalParameter, Index: 256}
	for _, test := range []struct {
		contents classfile.Contents
		want     string
	}{
		{classfile.NestMembers(many), "65536 entries, the limit is 65535"},
		{make(classfile.MethodParameters, 256), "256 parameters, the limit is 255"},
		{make(classfile.ParameterAnnotations, 256), "256 parameters, the limit is 255"},
		{make(classfile.InnerClasses, 65536), "65536 classes, the limit is 65535"},
		{classfile.BootstrapMethods{{Arguments: many}}, "65536 arguments, the limit is 65535"},
		{&classfile.Module{Opens: []classfile.ModuleExport{{To: many}}}, "65536 modules, the limit is 65535"},
		{classfile.Record{{Attributes: make([]classfile.Attribute, 65536)}}, "65536 of them, the limit is 65535"},
		{classfile.AnnotationDefault(deep), "values nest deeper than 200"},
		{classfile.AnnotationDefault{Tag: '@'}, "an annotation value without annotation"},
		{classfile.AnnotationDefault{Tag: '?'}, "no such element value tag: 63"},
		{classfile.TypeAnnotations{{Target: formal}}, "256 as index of a formal parameter, the limit is 255"},
		{classfile.TypeAnnotations{{Target: classfile.Target{Type: 0x7F}}}, "no such target type: 0x7f"},
	} {
		_, err := classfile.AppendContents(nil, test.contents)
		var format *classfile.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%T: error is %v, want %s", test.contents, err, test.want)
		}
	}
}

// attributeExamples are contents written by hand, with what they say.
var attributeExamples = []struct {
	name string
	kind classfile.Kind
	data []byte
	want classfile.Contents
}{
	{"unknown", classfile.KindUnknown, []byte{9}, classfile.Opaque{9}},
	{"constant", classfile.KindConstantValue, []byte{1, 2}, classfile.ConstantValue(0x102)},
	{"marker", classfile.KindSynthetic, nil, classfile.Synthetic{}},
	{"deprecated", classfile.KindDeprecated, nil, classfile.Deprecated{}},
	{"signature", classfile.KindSignature, []byte{0, 7}, classfile.Signature(7)},
	{"source", classfile.KindSourceFile, []byte{0, 7}, classfile.SourceFile(7)},
	{"host", classfile.KindNestHost, []byte{0, 7}, classfile.NestHost(7)},
	{"main class", classfile.KindModuleMainClass, []byte{0, 7}, classfile.ModuleMainClass(7)},
	{"debug extension", classfile.KindSourceDebugExtension, []byte("SMAP"), classfile.SourceDebugExtension("SMAP")},
	{"exceptions", classfile.KindExceptions, []byte{0, 1, 0, 7}, classfile.Exceptions{7}},
	{"members", classfile.KindNestMembers, []byte{0, 0}, classfile.NestMembers{}},
	{"packages", classfile.KindModulePackages, []byte{0, 2, 0, 3, 1, 0}, classfile.ModulePackages{3, 256}},
	{"permitted", classfile.KindPermittedSubclasses, []byte{0, 1, 0, 9}, classfile.PermittedSubclasses{9}},
	{"anonymous class", classfile.KindInnerClasses, []byte{0, 1, 0, 5, 0, 0, 0, 0, 0, 8},
		classfile.InnerClasses{{Inner: 5, Access: classfile.AccStatic}}},
	{"enclosing initialiser", classfile.KindEnclosingMethod, []byte{0, 5, 0, 0}, classfile.EnclosingMethod{Class: 5}},
	{"code", classfile.KindCode,
		[]byte{0, 2, 0, 3, 0, 0, 0, 1, 0xB1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 1, 0, 9, 0, 0, 0, 2, 5, 6},
		&classfile.Code{MaxStack: 2, MaxLocals: 3, Bytes: []byte{0xB1},
			Handlers:   []classfile.Handler{{Start: 0, End: 1, Handler: 0, Type: 4}},
			Attributes: []classfile.Attribute{{Name: 9, Data: []byte{5, 6}}}}},
	{"lines", classfile.KindLineNumberTable, []byte{0, 1, 0, 4, 1, 1}, classfile.LineNumberTable{{Start: 4, Line: 257}}},
	{"variables", classfile.KindLocalVariableTable, []byte{0, 1, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5},
		classfile.LocalVariableTable{{Start: 1, Length: 2, Name: 3, Type: 4, Slot: 5}}},
	{"variable types", classfile.KindLocalVariableTypeTable, []byte{0, 1, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5},
		classfile.LocalVariableTypeTable{{Start: 1, Length: 2, Name: 3, Type: 4, Slot: 5}}},
	{"bootstraps", classfile.KindBootstrapMethods, []byte{0, 2, 0, 7, 0, 0, 0, 8, 0, 1, 0, 9},
		classfile.BootstrapMethods{{Handle: 7, Arguments: []uint16{}}, {Handle: 8, Arguments: []uint16{9}}}},
	{"parameters", classfile.KindMethodParameters, []byte{1, 0, 0, 0x80, 0},
		classfile.MethodParameters{{Access: classfile.AccMandated}}},
	{"record", classfile.KindRecord, []byte{0, 1, 0, 3, 0, 4, 0, 1, 0, 5, 0, 0, 0, 0},
		classfile.Record{{Name: 3, Descriptor: 4, Attributes: []classfile.Attribute{{Name: 5, Data: []byte{}}}}}},
	{"module", classfile.KindModule,
		[]byte{0, 1, 0, 0x20, 0, 2, 0, 1, 0, 3, 0x80, 0, 0, 4, 0, 1, 0, 5, 0, 0, 0, 1, 0, 6,
			0, 1, 0, 7, 0, 0, 0, 0, 0, 1, 0, 8, 0, 1, 0, 9, 0, 1, 0, 10},
		&classfile.Module{Name: 1, Access: classfile.AccOpen, Version: 2,
			Requires: []classfile.ModuleRequire{{Module: 3, Access: classfile.AccMandated, Version: 4}},
			Exports:  []classfile.ModuleExport{{Package: 5, To: []uint16{6}}},
			Opens:    []classfile.ModuleExport{{Package: 7, To: []uint16{}}},
			Uses:     []uint16{8},
			Provides: []classfile.ModuleProvide{{Service: 9, With: []uint16{10}}}}},
	{"annotations", classfile.KindRuntimeVisibleAnnotations,
		[]byte{0, 1, 0, 1, 0, 4, 0, 2, 'Z', 0, 3, 0, 4, 'e', 0, 5, 0, 6, 0, 7, '@', 0, 8, 0, 0, 0, 9, '[', 0, 2, 's', 0, 1, 'c', 0, 2},
		classfile.Annotations{{Type: 1, Elements: []classfile.Element{
			{Name: 2, Value: classfile.ElementValue{Tag: 'Z', Index: 3}},
			{Name: 4, Value: classfile.ElementValue{Tag: 'e', Enum: 5, Index: 6}},
			{Name: 7, Value: classfile.ElementValue{Tag: '@', Nested: &classfile.Annotation{Type: 8, Elements: []classfile.Element{}}}},
			{Name: 9, Value: classfile.ElementValue{Tag: '[', Array: []classfile.ElementValue{{Tag: 's', Index: 1}, {Tag: 'c', Index: 2}}}},
		}}}},
	{"parameter annotations", classfile.KindRuntimeInvisibleParameterAnnotations, []byte{2, 0, 0, 0, 1, 0, 3, 0, 0},
		classfile.ParameterAnnotations{{}, {{Type: 3, Elements: []classfile.Element{}}}}},
	{"default", classfile.KindAnnotationDefault, []byte{'[', 0, 0},
		classfile.AnnotationDefault{Tag: '[', Array: []classfile.ElementValue{}}},
	{"annotated parameter bound", classfile.KindRuntimeVisibleTypeAnnotations,
		typeAnnotation(0x12, 3, 4), annotated(classfile.Target{Type: 0x12, TypeParameter: 3, Bound: 4})},
	{"annotated type parameter", classfile.KindRuntimeVisibleTypeAnnotations,
		typeAnnotation(0x00, 3), annotated(classfile.Target{TypeParameter: 3})},
	{"annotated supertype", classfile.KindRuntimeInvisibleTypeAnnotations,
		typeAnnotation(0x10, 255, 255), annotated(classfile.Target{Type: 0x10, Index: 65535})},
	{"annotated field", classfile.KindRuntimeVisibleTypeAnnotations,
		typeAnnotation(0x13), annotated(classfile.Target{Type: 0x13})},
	{"annotated formal parameter", classfile.KindRuntimeVisibleTypeAnnotations,
		typeAnnotation(0x16, 7), annotated(classfile.Target{Type: 0x16, Index: 7})},
	{"annotated resource", classfile.KindRuntimeVisibleTypeAnnotations,
		typeAnnotation(0x41, 0, 1, 0, 1, 0, 2, 0, 3),
		annotated(classfile.Target{Type: 0x41, Ranges: []classfile.Range{{Start: 1, Length: 2, Slot: 3}}})},
	{"annotated new", classfile.KindRuntimeVisibleTypeAnnotations,
		typeAnnotation(0x44, 1, 0), annotated(classfile.Target{Type: 0x44, Offset: 256})},
	{"annotated cast", classfile.KindRuntimeVisibleTypeAnnotations,
		typeAnnotation(0x47, 0, 9, 1), annotated(classfile.Target{Type: 0x47, Offset: 9, Argument: 1})},
}

// typeAnnotation is one type annotation with a path of two steps.
func typeAnnotation(target ...byte) []byte {
	return append(append([]byte{0, 1}, target...), 2, 0, 0, 3, 1, 0, 5, 0, 0)
}

func annotated(target classfile.Target) classfile.TypeAnnotations {
	return classfile.TypeAnnotations{{
		Target:     target,
		Path:       []classfile.PathStep{{}, {Kind: 3, Argument: 1}},
		Annotation: classfile.Annotation{Type: 5, Elements: []classfile.Element{}},
	}}
}

// attributeDefects are contents with one defect each, and the expected error.
var attributeDefects = []struct {
	kind classfile.Kind
	data []byte
	want string
}{
	{classfile.KindSynthetic, []byte{0}, "Synthetic at offset 0: 1 bytes too many"},
	{classfile.KindSignature, []byte{0}, "Signature at offset 0: truncated"},
	{classfile.KindNestMembers, []byte{255, 255, 0, 1}, "NestMembers at offset 0: 65535 entries do not fit in 2 bytes"},
	{classfile.KindCode, []byte{0, 0, 0, 0, 255, 255, 255, 255, 0}, "Code at offset 4: 4294967295 bytes of code do not fit in 1"},
	{classfile.KindCode, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 9, 0},
		"Code at offset 14: 9 bytes of attribute 1 of 1 do not fit in 1"},
	{classfile.KindAnnotationDefault, []byte{'x', 0, 0}, "AnnotationDefault at offset 0: no such element value tag: 120"},
	{classfile.KindAnnotationDefault, append(bytes.Repeat([]byte{'[', 0, 1}, 300), 'I', 0, 1),
		"AnnotationDefault at offset 603: values nest deeper than 200"},
	{classfile.KindRuntimeVisibleTypeAnnotations, []byte{0, 1, 0x18, 0, 0, 0, 0, 0}, "RuntimeVisibleTypeAnnotations at offset 2: no such target type: 0x18"},
	{classfile.KindModule, []byte{0, 1, 0, 0, 0, 0, 255, 255}, "Module at offset 6: 65535 required modules do not fit in 0 bytes"},
	{classfile.KindRecord, []byte{0, 1, 0, 1, 0, 1, 1, 0}, "Record at offset 6: 256 attributes do not fit in 0 bytes"},
}

// TestCorpusAttributes demands that each attribute of each class decodes, to a type
// of its own where the specification knows it, and comes back byte for byte.
func TestCorpusAttributes(t *testing.T) {
	law := &attributeLaw{TB: t, seen: map[classfile.Kind]int{}}
	eachOfCorpus(t, law.class)
	t.Logf("%v", law.seen)
}

// attributeLaw checks that decoding and appending are inverse.
type attributeLaw struct {
	testing.TB
	seen map[classfile.Kind]int
}

func (l *attributeLaw) class(name string, data []byte) {
	c, err := classfile.Parse(data)
	if err != nil {
		l.Errorf("%s: %v", name, err)
		return
	}
	l.attributes(name, c, c.Attributes)
	for _, members := range [][]classfile.Member{c.Fields, c.Methods} {
		for i := range members {
			l.attributes(name, c, members[i].Attributes)
		}
	}
}

func (l *attributeLaw) attributes(name string, c *classfile.Class, list []classfile.Attribute) {
	for _, a := range list {
		kind := c.Kind(a.Name)
		l.seen[kind]++
		contents, err := c.Decode(a)
		if err != nil {
			l.Errorf("%s: %v", name, err)
			continue
		}
		back, err := classfile.AppendContents(nil, contents)
		if err != nil || !bytes.Equal(back, a.Data) {
			l.Errorf("%s: %s: %x came back as %x, %v", name, kind, a.Data, back, err)
		}
		switch contents := contents.(type) {
		case classfile.Opaque:
			if kind != classfile.KindUnknown && kind != classfile.KindStackMapTable {
				l.Errorf("%s: %s is not decoded", name, kind)
			}
		case *classfile.Code:
			l.attributes(name, c, contents.Attributes)
		case classfile.Record:
			for i := range contents {
				l.attributes(name, c, contents[i].Attributes)
			}
		}
	}
}

// FuzzAttributes: the contents of an attribute of any kind decode to a value that
// appends to the same bytes, or to a FormatError.
func FuzzAttributes(f *testing.F) {
	for _, example := range attributeExamples {
		f.Add(example.kind.String(), example.data)
	}
	for _, defect := range attributeDefects {
		f.Add(defect.kind.String(), defect.data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if len(name) > 1000 {
			return
		}
		c := classWith(t, name)
		contents, err := c.Decode(classfile.Attribute{Name: 1, Data: data})
		if err != nil {
			var format *classfile.FormatError
			if !errors.As(err, &format) {
				t.Fatalf("error is a %T: %v", err, err)
			}
			if format.Offset < 0 || format.Offset > len(data) {
				t.Fatalf("error is outside the %d bytes: %v", len(data), err)
			}
			return
		}
		back, err := classfile.AppendContents(nil, contents)
		if err != nil {
			t.Fatalf("%T: %v", contents, err)
		}
		if !bytes.Equal(back, data) {
			t.Fatalf("%T: %x came back as %x", contents, data, back)
		}
	})
}

// classWith parses a class whose pool holds name at index 1.
func classWith(t testing.TB, name string) *classfile.Class {
	t.Helper()
	data := []byte{0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 69, 0, 2, 1, byte(len(name) >> 8), byte(len(name))}
	data = append(append(data, name...), make([]byte, 14)...)
	c, err := classfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
