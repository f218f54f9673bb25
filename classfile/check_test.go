package classfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// TestCheckHandles tries each kind of method handle on each kind of reference.
func TestCheckHandles(t *testing.T) {
	const fields, method, interfaceMethod, constructor = "f", "m", "i", "c"
	for kind, allowed := range []string{
		0: "", 1: fields, 2: fields, 3: fields, 4: fields, 5: method, 6: method + interfaceMethod,
		7: method + interfaceMethod, 8: constructor, 9: interfaceMethod, 10: "",
	} {
		for name, refer := range map[string]func(b *classtest.Builder) uint16{
			fields:          func(b *classtest.Builder) uint16 { return b.Field("A", "x", "I") },
			method:          func(b *classtest.Builder) uint16 { return b.Method("A", "x", "()V") },
			interfaceMethod: func(b *classtest.Builder) uint16 { return b.InterfaceMethod("A", "x", "()V") },
			constructor:     func(b *classtest.Builder) uint16 { return b.Method("A", "<init>", "()V") },
			"initialiser":   func(b *classtest.Builder) uint16 { return b.Method("A", "<clinit>", "()V") },
			"class":         func(b *classtest.Builder) uint16 { return b.This },
			"nothing":       func(b *classtest.Builder) uint16 { return 0 },
		} {
			b := classtest.NewBuilder(52, "A")
			b.Handle(uint8(kind), refer(b))
			if err := parsed(t, b).Check(); (err == nil) != strings.Contains(allowed, name) {
				t.Errorf("kind %d to %s: %v", kind, name, err)
			}
		}
	}
	b := classtest.NewBuilder(51, "A")
	b.Handle(6, b.InterfaceMethod("A", "x", "()V"))
	if err := parsed(t, b).Check(); err == nil {
		t.Error("before version 52, static methods of interfaces do not exist")
	}
}

// TestCheckEntries has one entry each that refers to the wrong thing.
func TestCheckEntries(t *testing.T) {
	for name, add := range map[string]func(b *classtest.Builder) uint16{
		"class without name":       func(b *classtest.Builder) uint16 { return b.Entry(7, uint16(0)) },
		"string of a class":        func(b *classtest.Builder) uint16 { return b.Entry(8, b.This) },
		"method type of a field":   func(b *classtest.Builder) uint16 { return b.Entry(16, b.Utf8("I")) },
		"module outside":           func(b *classtest.Builder) uint16 { return b.Entry(19, uint16(999)) },
		"field of a method's type": func(b *classtest.Builder) uint16 { return b.Field("A", "x", "()V") },
		"method of a field's type": func(b *classtest.Builder) uint16 { return b.Method("A", "x", "I") },
		"empty descriptor":         func(b *classtest.Builder) uint16 { return b.Field("A", "x", "") },
		"field of a string":        func(b *classtest.Builder) uint16 { return b.Entry(9, b.String("x"), b.NameAndType("x", "I")) },
		"method without name":      func(b *classtest.Builder) uint16 { return b.Entry(10, b.This, b.This) },
		"name of a class":          func(b *classtest.Builder) uint16 { return b.Entry(12, b.This, b.Utf8("I")) },
		"call without method":      func(b *classtest.Builder) uint16 { return b.InvokeDynamic(0, "x", "()V") },
	} {
		b := classtest.NewBuilder(61, "A")
		index := add(b)
		c := parsed(t, b)
		var format *classfile.FormatError
		if err := c.Check(); !errors.As(err, &format) {
			t.Errorf("%s: error is %v", name, err)
		} else if format.Structure != entryName(index) || b.Bytes()[format.Offset] != byte(c.Pool.Tag(index)) {
			t.Errorf("%s: is reported as %v, want entry %d", name, err, index)
		}
	}
}

// TestCheckLongChains: a chain of as many dynamic constants as a pool can hold is no
// cycle; joined to its beginning, it is one.
func TestCheckLongChains(t *testing.T) {
	const links = 20000
	for _, joined := range []bool{false, true} {
		b := classtest.NewBuilder(55, "A")
		handle := b.Handle(6, b.Method("A", "make", "()Ljava/lang/Object;"))
		constants := make([]uint16, links)
		for i := range constants {
			constants[i] = b.Dynamic(uint16(i), "x", "Ljava/lang/Object;")
		}
		methods := make([][]byte, links)
		for i := range methods {
			next := constants[(i+1)%links]
			if i == links-1 && !joined {
				next = b.This
			}
			methods[i] = classtest.Cat(handle, uint16(1), next)
		}
		b.AddAttribute(b.Attribute("BootstrapMethods", classtest.Counted(methods...)))
		if err := parsed(t, b).Check(); (err != nil) != joined {
			t.Errorf("joined %v: %v", joined, err)
		}
	}
}

// TestCheckOffsetsOfAddedEntries: offsets are those of the file that is written.
func TestCheckOffsetsOfAddedEntries(t *testing.T) {
	b := classtest.NewBuilder(61, "A")
	b.AddField(0x0008, "x", "I", b.Attribute("ConstantValue", b.Integer(1)))
	c := parsed(t, b)
	added := c.Pool.AddPair(classfile.TagDynamic, 7, c.Pool.AddNameAndType("d", "I"))
	before := c.Check()
	written, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := classfile.Parse(written)
	if err != nil {
		t.Fatal(err)
	}
	var format *classfile.FormatError
	after := again.Check()
	if !errors.As(after, &format) || before == nil || before.Error() != after.Error() {
		t.Fatalf("before writing: %v; after: %v", before, after)
	}
	if written[format.Offset] != byte(classfile.TagDynamic) || format.Structure != entryName(added) {
		t.Errorf("%v: tag %d is there", after, written[format.Offset])
	}
}

// FuzzCheck: any class passes or is refused by a FormatError of one line, whose
// offset lies in the file.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"zoo/*/*.class", "invalid/*.class"} {
		files, _ := filepath.Glob(filepath.Join("testdata", pattern)) // the pattern is well formed
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := classfile.Parse(data)
		if err == nil {
			err = new(code.Lifter).Check(c)
		}
		var format *classfile.FormatError
		switch {
		case err == nil:
		case !errors.As(err, &format):
			t.Fatalf("error is a %T: %v", err, err)
		case format.Offset < 0 || format.Offset > len(data) || strings.Contains(err.Error(), "\n"):
			t.Fatalf("the error is outside the %d bytes, or too long: %v", len(data), err)
		}
	})
}

func entryName(index uint16) string { return fmt.Sprintf("constant pool entry %d", index) }

func parsed(t *testing.T, b *classtest.Builder) *classfile.Class {
	t.Helper()
	c, err := classfile.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCorpusPassesCheck: what compilers wrote, and JVMs load, has no defect.
func TestCorpusPassesCheck(t *testing.T) {
	var lifter code.Lifter
	eachOfCorpus(t, func(name string, data []byte) {
		c, err := classfile.Parse(data)
		if err == nil {
			err = lifter.Check(c)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}

// FuzzParse checks that a class that can be read is written as it was.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"zoo/*/*.class", "invalid/*.class"} {
		files, _ := filepath.Glob(filepath.Join("testdata", pattern)) // the pattern is well formed
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 8<<10 { // long ones only slow the search down
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := classfile.Parse(data)
		if err != nil {
			return
		}
		out, err := c.Append(nil)
		if err != nil || !bytes.Equal(out, data) {
			t.Fatalf("came back with %v\n was % x\n now % x", err, data, out)
		}
	})
}
