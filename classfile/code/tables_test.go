package code_test

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// u2s is a list of two-byte values.
func u2s(values ...uint16) []byte {
	var out []byte
	for _, v := range values {
		out = append(out, byte(v>>8), byte(v))
	}
	return out
}

// tabled is a body of five instructions, of a byte each up to the last, with all the
// tables that speak of positions.
func tabled() []byte {
	return single(52, func(b *classtest.Builder) []byte {
		x, i, list := b.Utf8("x"), b.Utf8("I"), b.Utf8("TX;")
		mark := func(target ...any) []byte {
			return classtest.Cat(append(target, uint8(0), b.Utf8("LMark;"), uint16(0))...)
		}
		body := asm().Op("iload_0").Op("istore_1").Op("iload_1").Op("nop").Label("end").Op("ireturn").
			Label("handler").Op("pop").Op("iconst_0").Op("ireturn").Label("last").
			Catch("end", "handler", "handler", 0)
		return body.Code(b, 1, 2,
			b.Attribute("LineNumberTable", u2s(3, 3, 30, 0, 10, 2, 20)),
			b.Attribute("LocalVariableTable", u2s(2, 2, 6, x, i, 1, 0, 8, x, i, 0)),
			b.Attribute("LocalVariableTypeTable", u2s(1, 2, 2, x, list, 1)),
			b.Attribute("LineNumberTable", u2s(2, 4, 40, 4, 41)),
			b.Attribute("StackMapTable", u2s(1), uint8(64+5), uint8(7), b.Class("java/lang/Throwable")),
			b.Attribute("RuntimeVisibleTypeAnnotations", u2s(4),
				mark(uint8(0x40), u2s(2, 2, 2, 1, 4, 1, 1)),
				mark(uint8(0x44), u2s(3)),
				mark(uint8(0x47), u2s(2), uint8(1)),
				mark(uint8(0x42), u2s(0))),
		)
	})
}

// TestTablesMoveWithTheCode: ranges, lines, handlers and frames stand with the
// instructions they stood with, and the tables keep their number and order.
func TestTablesMoveWithTheCode(t *testing.T) {
	body := liftSingle(t, tabled())
	before := lower(t, body)
	// By number of instruction nothing but the numbers changes: two more before the
	// third instruction, one more before the fourth.
	load := find(t, body, opcode.Iload, 1)
	position := load.Prev()
	for position.Kind != code.Instruction {
		position = position.Prev()
	}
	body.InsertAfter(position, body.NewOp(opcode.Nop)) // before the labels of the third
	body.InsertAfter(position, body.NewOp(opcode.Nop))
	body.InsertAfter(load, body.NewOperands(opcode.Iinc, 0, 1000)) // six bytes
	after := lower(t, body)

	renamed := strings.NewReplacer("L0", "L0", "L1", "L1", "L2", "L4", "L3", "L6", "L4", "L7", "L5", "L8", "L6", "L9", "L7", "L10")
	for i, line := range before {
		if strings.HasPrefix(line, "L") && strings.Contains(line, ": ") {
			continue // an instruction
		}
		want := renamed.Replace(line)
		if !contains(after, want) {
			t.Errorf("line %d was %q, should be %q in\n%s", i, line, want, strings.Join(after, "\n"))
		}
	}
	wantLines(t, after, `attribute "LineNumberTable"`, "L6 line 30", "L0 line 10", "L4 line 20",
		`attribute "LocalVariableTable"`, `attribute "LocalVariableTypeTable"`,
		`attribute "LineNumberTable"`, "L7 line 40", "L7 line 41")
}

func contains(lines []string, want string) bool {
	for _, line := range lines {
		if line == want {
			return true
		}
	}
	return false
}

// TestInsertedAtTheEdgeOfARange shows on which side of an end an insertion falls: before
// the label it is inside the range that ends there, after it outside.
func TestInsertedAtTheEdgeOfARange(t *testing.T) {
	for _, inside := range []bool{true, false} {
		body := liftSingle(t, tabled())
		h := body.Handlers[0]
		if inside {
			body.InsertBefore(h.End, body.NewOp(opcode.Nop))
			wantLines(t, lower(t, body), "handler [L4,L6) at L6 for none")
		} else {
			body.InsertAfter(h.End, body.NewOp(opcode.Nop))
			wantLines(t, lower(t, body), "handler [L4,L5) at L5 for none")
		}
	}
}

// TestNewLineWhereThereAreTables: an added line is written, whatever tables the
// body has.
func TestNewLineWhereThereAreTables(t *testing.T) {
	for name, attributes := range map[string]func(b *classtest.Builder) [][]byte{
		"none": func(*classtest.Builder) [][]byte { return nil },
		"one": func(b *classtest.Builder) [][]byte {
			return [][]byte{b.Attribute("Other"), b.Attribute("LineNumberTable", u2s(1, 0, 10))}
		},
		"two": func(b *classtest.Builder) [][]byte {
			return [][]byte{b.Attribute("Other"), b.Attribute("LineNumberTable", u2s(1, 0, 10)),
				b.Attribute("LineNumberTable", u2s(1, 0, 11))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
				return asm().Op("iload_0").Op("ireturn").Code(b, 1, 1, attributes(b)...)
			}))
			body.InsertBefore(find(t, body, opcode.Ireturn, 0), body.NewLine(99))
			wantLines(t, lower(t, body), "L1 line 99")
		})
	}
}

// TestOfTwoFramesTheLaterHolds: the verifier refuses two frames for one position.
func TestOfTwoFramesTheLaterHolds(t *testing.T) {
	body := liftSingle(t, single(52, func(b *classtest.Builder) []byte {
		return asm().Op("iload_0").Op("ireturn").Code(b, 1, 1)
	}))
	end := find(t, body, opcode.Ireturn, 0)
	integer := code.Type{Item: code.Integer}
	body.InsertBefore(end, body.NewFrame(code.Frame{Form: code.Absolute, Locals: []code.Type{{}}, Stack: []code.Type{integer}}))
	body.InsertBefore(end, body.NewFrame(code.Frame{Form: code.Absolute, Locals: []code.Type{integer}, Stack: []code.Type{integer}}))
	lines := lower(t, body)
	wantLines(t, lines, "L1 full locals [int] stack [int]")
	if contains(lines, "L1 full locals [top] stack [int]") {
		t.Error("both frames are written")
	}
}

func TestMalformedFrames(t *testing.T) {
	for want, frames := range map[string][]byte{
		"StackMapTable at offset 2: frame type 128 is reserved":     {0, 1, 128},
		"StackMapTable at offset 3: no such verification type: 9":   {0, 1, 64, 9},
		"StackMapTable at offset 7: 65535 types do not fit":         {0, 1, 255, 0, 0, 255, 255, 0},
		"StackMapTable at offset 3: its frames do not fill it":      {0, 1, 0, 0},
		"StackMapTable at offset 2: a frame is for offset 3, where": {0, 1, 3},
	} {
		class, err := classfile.Parse(single(52, func(b *classtest.Builder) []byte {
			return asm().Op("iconst_0").Op("ireturn").Code(b, 1, 1, b.Attribute("StackMapTable", frames))
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := code.Lift(class, &class.Methods[0]); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: error is %v, want %s", frames, err, want)
		}
	}
}
