package classtest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// sample is a class that loads a text; the pool begins with so many entries
// that nothing uses.
func sample(unused int, text string) []byte {
	b := classtest.NewBuilder(52, "Sample")
	for i := range unused {
		b.Integer(int32(i))
	}
	load := classtest.NewAssembler().Jump("goto", "on").Label("on")
	if index := b.String(text); index < 256 {
		load.Op("ldc", uint8(index))
	} else {
		load.Op("ldc_w", index)
	}
	load.Op("areturn")
	frame := b.Attribute("StackMapTable", classtest.Counted([]byte{3}))
	b.AddMethod(0x9, "text", "()Ljava/lang/String;", load.Code(b, 1, 0, frame))
	return b.Bytes()
}

func TestEqualIgnoresPoolLayout(t *testing.T) {
	if err := classtest.Equal(sample(0, "a"), sample(400, "a")); err != nil {
		t.Error(err)
	}
}

func TestEqualFindsDifference(t *testing.T) {
	err := classtest.Equal(sample(0, "a"), sample(0, "b"))
	if err == nil {
		t.Fatal("classes with other constants are called equal")
	}
	for _, part := range []string{`- `, `"a"`, `+ `, `"b"`, `method 0009 "text"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the difference does not show %s:\n%v", part, err)
		}
	}
}

func TestEqualRefusesMalformed(t *testing.T) {
	var malformed *classtest.MalformedError
	if err := classtest.Equal(sample(0, "a"), sample(0, "a")[:50]); !errors.As(err, &malformed) {
		t.Errorf("got %v, want a *MalformedError", err)
	}
}

// FuzzDescribe: a text or a *MalformedError, never a panic.
func FuzzDescribe(f *testing.F) {
	for _, pattern := range []string{"../testdata/zoo/*/*.class", "../testdata/invalid/*.class"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
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
		text, err := classtest.Describe(data)
		var malformed *classtest.MalformedError
		switch {
		case err != nil && !errors.As(err, &malformed):
			t.Errorf("%T is no *MalformedError: %v", err, err)
		case err == nil && text == "":
			t.Error("neither a text nor an error")
		}
	})
}

// operand is a body that consists of one instruction in question, in a class of
// some version; says what the error should, "" where there should be none.
type operand struct {
	major uint16
	op    string
	make  func(b *classtest.Builder) []any
	says  string
}

// TestCheckOperands tries instructions with operands at and past their limits. The
// bodies have a stack and locals of 2.
func TestCheckOperands(t *testing.T) {
	index := func(f func(b *classtest.Builder) uint16, more ...any) func(b *classtest.Builder) []any {
		return func(b *classtest.Builder) []any { return append([]any{f(b)}, more...) }
	}
	bytes := func(values ...any) func(*classtest.Builder) []any {
		return func(*classtest.Builder) []any { return values }
	}
	this := func(b *classtest.Builder) uint16 { return b.This }
	text := func(b *classtest.Builder) uint16 { return b.Utf8("A") }
	array := func(b *classtest.Builder) uint16 { return b.Class("[[I") }
	long := func(b *classtest.Builder) uint16 { return b.Long(0, 1) }
	field := func(b *classtest.Builder) uint16 { return b.Field("A", "x", "I") }
	method := func(b *classtest.Builder) uint16 { return b.Method("A", "x", "()V") }
	ofInterface := func(b *classtest.Builder) uint16 { return b.InterfaceMethod("A", "x", "()V") }
	dynamic := func(b *classtest.Builder) uint16 { return b.Dynamic(0, "x", "I") }
	dynamicLong := func(b *classtest.Builder) uint16 { return b.Dynamic(0, "x", "J") }
	handle := func(b *classtest.Builder) uint16 { return b.Handle(6, method(b)) }

	for _, o := range []operand{
		{49, "ldc_w", index(this), ""},
		{48, "ldc_w", index(this), "ldc at offset 0: constant pool index 2: Class cannot be loaded before class-file version 49, this is 48"},
		{51, "ldc_w", index(handle), ""},
		{50, "ldc_w", index(handle), "ldc at offset 0: constant pool index 9: MethodHandle cannot be loaded before class-file version 51, this is 50"},
		{55, "ldc_w", index(dynamic), ""},
		{54, "ldc_w", index(dynamic), "ldc at offset 0: constant pool index 8: Dynamic cannot be loaded before class-file version 55, this is 54"},
		{55, "ldc_w", index(dynamicLong), "ldc at offset 0: constant pool index 8: the constant takes two slots, for ldc2_w to load"},
		{55, "ldc2_w", index(dynamicLong), ""},
		{55, "ldc2_w", index(long), ""},
		{55, "ldc2_w", index(this), "ldc2_w at offset 0: constant pool index 2: the constant takes one slot, for ldc to load"},
		{55, "ldc_w", index(field), "ldc at offset 0: constant pool index 8: want a constant that can be loaded, found Fieldref"},
		{55, "getstatic", index(field), ""},
		{55, "putfield", index(method), "putfield at offset 0: constant pool index 8: want Fieldref, found Methodref"},
		{55, "invokevirtual", index(ofInterface), "invokevirtual at offset 0: constant pool index 8: want Methodref, found InterfaceMethodref"},
		{52, "invokestatic", index(ofInterface), ""},
		{51, "invokespecial", index(ofInterface), "invokespecial at offset 0: constant pool index 8: want Methodref, found InterfaceMethodref"},
		{52, "invokeinterface", index(ofInterface, uint8(1), uint8(0)), ""},
		{52, "invokeinterface", index(ofInterface, uint8(0), uint8(0)), "invokeinterface at offset 0: its argument count is 0, must be 1 at least"},
		{52, "invokeinterface", index(method, uint8(1), uint8(0)), "invokeinterface at offset 0: constant pool index 8: want InterfaceMethodref, found Methodref"},
		{55, "invokedynamic", index(dynamic, uint16(0)), "invokedynamic at offset 0: constant pool index 8: want InvokeDynamic, found Dynamic"},
		{52, "new", index(this), ""},
		{52, "new", index(array), `new at offset 0: constant pool index 6: "[[I" is an array`},
		{52, "anewarray", index(array), ""},
		{52, "checkcast", index(text), "checkcast at offset 0: constant pool index 1: want Class, found Utf8"},
		{52, "instanceof", bytes(uint16(999)), "instanceof at offset 0: constant pool index 999: no such entry, want Class"},
		{52, "multianewarray", index(array, uint8(2)), ""},
		{52, "multianewarray", index(array, uint8(0)), `multianewarray at offset 0: 0 dimensions, must be 1 to the 2 of "[[I"`},
		{52, "multianewarray", index(array, uint8(3)), `multianewarray at offset 0: 3 dimensions, must be 1 to the 2 of "[[I"`},
		{52, "newarray", bytes(uint8(4)), ""},
		{52, "newarray", bytes(uint8(11)), ""},
		{52, "newarray", bytes(uint8(12)), "newarray at offset 0: no such array type: 12, must be 4 to 11"},
		{52, "iload_1", bytes(), ""},
		{52, "iload_2", bytes(), "iload at offset 0: slot 2 does not exist, the body has 2"},
		{52, "lload_0", bytes(), ""},
		{52, "lload_1", bytes(), "lload at offset 0: slot 2 does not exist, the body has 2"},
		{52, "iinc", bytes(uint8(2), int8(1)), "iinc at offset 0: slot 2 does not exist, the body has 2"},
		{49, "ret", bytes(uint8(2)), "ret at offset 0: slot 2 does not exist, the body has 2"},
	} {
		b := classtest.NewBuilder(o.major, "A")
		body := classtest.NewAssembler().Op(o.op, o.make(b)...).Op("return")
		got := checkBody(t, b, body.Code(b, 2, 2))
		if got != o.says {
			t.Errorf("version %d, %s:\n got  %s\n want %s", o.major, o.op, got, o.says)
		}
	}
}

// TestCheckBodies checks defects that are not in a single operand.
func TestCheckBodies(t *testing.T) {
	b := classtest.NewBuilder(52, "A")
	sound := classtest.NewAssembler().Lookup("end", []int32{-1, 3, 5}, "end", "end", "end").Label("end").Op("return")
	unsorted := classtest.NewAssembler().Lookup("end", []int32{3, -1, 5}, "end", "end", "end").Label("end").Op("return")
	plain := func() *classtest.Assembler { return classtest.NewAssembler().Label("start").Ops("nop", "return") }
	caught := plain().Label("handler").Op("athrow").Catch("start", "handler", "handler", b.Utf8("A"))
	frame := func(locals, stack int) []byte {
		ints := func(n int) []byte { return classtest.Cat(uint16(n), string(make([]byte, n))) }
		return b.Attribute("StackMapTable", uint16(1), uint8(255), uint16(1), ints(locals), ints(stack))
	}
	variable := func(name, slot uint16) []byte {
		return b.Attribute("LocalVariableTable", uint16(1), uint16(0), uint16(1), name, b.Utf8("I"), slot)
	}
	for _, tt := range []struct {
		code []byte
		says string
	}{
		{sound.Code(b, 2, 2), ""},
		{unsorted.Code(b, 2, 2), "lookupswitch at offset 0: key -1 follows 3: keys must ascend"},
		{caught.Code(b, 2, 2), "exception handler 0 at offset 2: constant pool index 1: want Class, found Utf8"},
		{plain().Code(b, 2, 2, frame(2, 2)), ""},
		{plain().Code(b, 2, 2, frame(3, 0)), "StackMapTable at offset 1: a frame has 3 slots, the body 2"},
		{plain().Code(b, 2, 2, frame(0, 3)), "StackMapTable at offset 1: a frame has a stack of 3 slots, the body 2"},
		{plain().Code(b, 2, 2, variable(b.Utf8("x"), 1)), ""},
		{plain().Code(b, 2, 2, variable(b.Utf8("x"), 2)), "local variable 0 at offset 0: slot 2 does not exist, the body has 2"},
		{plain().Code(b, 2, 2, variable(b.This, 1)), "local variable 0 at offset 0: constant pool index 2: want Utf8, found Class"},
	} {
		if got := checkBody(t, b, tt.code); got != tt.says {
			t.Errorf("\n got  %s\n want %s", got, tt.says)
		}
	}
}

// TestCheckInsertedInstructions: a new instruction is where the one before it was.
func TestCheckInsertedInstructions(t *testing.T) {
	b := classtest.NewBuilder(52, "A")
	body := lifted(t, b, classtest.NewAssembler().Ops("nop", "nop", "return").Code(b, 2, 2))
	body.InsertAfter(body.First().Next(), body.NewOperands(opNewarray, 0, 99))
	if err := body.Check(); err == nil || err.Error() != "newarray at offset 1: no such array type: 99, must be 4 to 11" {
		t.Error(err)
	}
}

const opNewarray = 0xBC

// checkBody is what Check says of the body of a class's only method.
func checkBody(t *testing.T, b *classtest.Builder, attribute []byte) string {
	t.Helper()
	if err := lifted(t, b, attribute).Check(); err != nil {
		return err.Error()
	}
	return ""
}

// lifted lifts a Code attribute, name and length before it, in the class b has become.
func lifted(t *testing.T, b *classtest.Builder, attribute []byte) *code.Body {
	t.Helper()
	c, err := classfile.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	body, err := new(code.Lifter).LiftCode(c, attribute[6:])
	if err != nil {
		t.Fatal(err)
	}
	return body
}
