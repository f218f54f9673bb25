package classfile_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

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
		back, err := contents.AppendTo(nil)
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
