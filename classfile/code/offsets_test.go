package code_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// TestOffsets edits every body of the zoo in several ways: for each instruction that
// was lifted the map knows where it stands now, and back; for each that was inserted
// it says so.
func TestOffsets(t *testing.T) {
	edits := map[string]func(body *code.Body, n *code.Node, k int){
		"nothing": func(*code.Body, *code.Node, int) {},
		"everywhere": func(body *code.Body, n *code.Node, _ int) {
			body.InsertBefore(n, body.NewOp(opcode.Nop))
		},
		"now and then": func(body *code.Body, n *code.Node, k int) {
			if k%5 == 2 {
				body.InsertBefore(n, body.NewOperands(opcode.Iinc, 0, 1000))
			}
		},
		"behind all": func(body *code.Body, _ *code.Node, k int) {
			if k == 0 {
				body.InsertBefore(nil, body.NewOp(opcode.Nop))
				body.InsertBefore(nil, body.NewOperands(opcode.Iinc, 0, 1000))
			}
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			eachBody(t, zoo, func(t *testing.T, c *classfile.Class, m *classfile.Member, _ []byte) {
				body, err := code.Lift(c, m)
				if err != nil {
					t.Fatal(err)
				}
				body.FrameBehind = func(*code.Node) (code.Frame, error) { return code.Frame{Form: code.Absolute}, nil }
				k := 0
				for n := body.First(); n != nil; n = n.Next() {
					if n.Kind == code.Instruction && n.Offset() >= 0 {
						edit(body, n, k)
						k++
					}
				}
				if _, err := body.Append(nil); err != nil {
					return // the longest body has no room
				}
				checkOffsets(t, body)
			})
		})
	}
}

// checkOffsets holds the map of the last lowering against the positions it gave.
func checkOffsets(t *testing.T, body *code.Body) {
	t.Helper()
	offsets := body.Offsets()
	for n := body.First(); n != nil; n = n.Next() {
		if n.Kind != code.Instruction {
			continue
		}
		old, known := offsets.Old(n.Position())
		if n.Offset() < 0 {
			if known {
				t.Errorf("what was inserted at %d is taken for what stood at %d", n.Position(), old)
				return
			}
			continue
		}
		if !known || old != n.Offset() {
			t.Errorf("what stands at %d stood at %d; the map says %d, %v", n.Position(), n.Offset(), old, known)
			return
		}
		if now, known := offsets.New(n.Offset()); !known || now != n.Position() {
			t.Errorf("what stood at %d stands at %d; the map says %d, %v", n.Offset(), n.Position(), now, known)
			return
		}
	}
}

// TestOffsetsOutside: before the first instruction and of an empty map nothing is known.
func TestOffsetsOutside(t *testing.T) {
	var none code.OffsetMap
	if _, ok := none.New(0); ok {
		t.Error("an empty map knows a new offset")
	}
	if _, ok := none.Old(0); ok {
		t.Error("an empty map knows an old offset")
	}
	body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Op("iload_0").Op("ireturn").Code(b, 1, 1)
	}))
	body.InsertAfter(nil, body.NewOp(opcode.Nop))
	if _, err := body.Append(nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := body.Offsets().Old(0); ok {
		t.Error("what was inserted before everything is taken for something original")
	}
}
