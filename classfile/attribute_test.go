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
			back, err := got.AppendTo([]byte("before"))
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

func TestAppendToRefusesWhatDoesNotFit(t *testing.T) {
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
		{classfile.StackMapTable{{Tag: 252}}, "a frame with tag 252 has 0 locals and 0 stack values"},
	} {
		_, err := test.contents.AppendTo(nil)
		var format *classfile.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%T: error is %v, want %s", test.contents, err, test.want)
		}
	}
}
