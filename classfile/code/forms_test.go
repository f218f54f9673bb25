package code_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// abstractClass has one method without a body.
func abstractClass() []byte {
	b := classtest.NewBuilder(52, "Abstract")
	b.Access |= 0x0400
	b.AddMethod(0x0401, "m", "()V")
	return b.Bytes()
}

// TestInsertAndRemove edits by pointer; jumps go on leading to what they led to.
func TestInsertAndRemove(t *testing.T) {
	body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Label("top").Op("iload_0").Jump("ifeq", "out").
			Op("iinc", uint8(0), int8(-1)).Op("nop").Jump("goto", "top").
			Label("out").Op("iload_0").Op("ireturn").Code(b, 1, 1)
	}))
	body.Remove(find(t, body, opcode.Nop, 0))
	back := find(t, body, opcode.Goto, 0)
	body.InsertBefore(back, body.NewOperands(opcode.Iinc, 0, -300))
	body.InsertAfter(nil, body.NewLine(7))
	body.InsertBefore(nil, body.NewOp(opcode.Nop)) // behind the return, at the very end
	out := find(t, body, opcode.Ireturn, 0)
	label := body.LabelBefore(out)
	if body.LabelBefore(out) != label {
		t.Error("LabelBefore made a second label where there is one")
	}
	body.InsertBefore(back, body.NewJump(opcode.Goto, label))
	wantLines(t, lower(t, body),
		"L0: iload_0", "L1: ifeq L6", "L2: iinc 0 by -1", "L3: wide iinc 0 by -300", "L4: goto L7", "L5: goto L0",
		"L6: iload_0", "L7: ireturn", "L8: nop", "L0 line 7")
}

// TestForms: an instruction keeps its spelling while it fits, and a new or changed
// one is spelled as briefly as it can be.
func TestForms(t *testing.T) {
	data := single(49, func(b *classtest.Builder) []byte {
		return asm().Op("iload_1").Op("iload", uint8(1)).Op("wide", uint8(0x15), uint16(1)).
			Op("iinc", uint8(1), int8(1)).Op("wide", uint8(0x84), uint16(1), int16(1)).
			Op("ldc", uint8(b.Integer(1))).Op("ldc_w", b.Integer(1)).Jump("goto_w", "end").
			Label("end").Op("ireturn").Code(b, 8, 400)
	})
	body := liftSingle(t, data)
	wantLines(t, lower(t, body), "L0: iload_1", "L1: iload 1", "L2: wide iload 1", "L3: iinc 1 by 1", "L4: wide iinc 1 by 1",
		"L5: ldc int 00000001", "L6: ldc int 00000001", "L7: goto_w L8")
	if size := codeLength(t, body); size != 1+2+4+3+6+2+3+5+1 {
		t.Errorf("the code takes %d bytes as it was found", size)
	}
	end := find(t, body, opcode.Ireturn, 0)
	for _, test := range []struct {
		node *code.Node
		size int
	}{
		{body.NewIndexed(opcode.Iload, 3), 1},
		{body.NewIndexed(opcode.Aload, 4), 2},
		{body.NewIndexed(opcode.Dstore, 255), 2},
		{body.NewIndexed(opcode.Dstore, 256), 4},
		{body.NewIndexed(opcode.Ret, 0), 2},
		{body.NewIndexed(opcode.Ret, 300), 4},
		{body.NewOperands(opcode.Iinc, 255, 127), 3},
		{body.NewOperands(opcode.Iinc, 255, -128), 3},
		{body.NewOperands(opcode.Iinc, 256, 1), 6},
		{body.NewOperands(opcode.Iinc, 1, 128), 6},
		{body.NewOperands(opcode.Iinc, 1, -129), 6},
		{body.NewIndexed(opcode.Ldc, 255), 2},
		{body.NewIndexed(opcode.Ldc, 256), 3},
		{body.NewIndexed(opcode.Ldc2W, 1), 3},
		{body.NewValue(opcode.Bipush, -1), 2},
		{body.NewValue(opcode.Sipush, 1000), 3},
		{body.NewOperands(opcode.Multianewarray, 1, 2), 4},
		{body.NewOperands(opcode.Invokeinterface, 1, 2), 5},
		{body.NewIndexed(opcode.Invokedynamic, 1), 5},
		{body.NewValue(opcode.Newarray, 10), 2},
	} {
		before := codeLength(t, body)
		body.InsertBefore(end, test.node)
		if size := codeLength(t, body) - before; size != test.size {
			t.Errorf("%s %d %d takes %d bytes, want %d", test.node.Op(), test.node.Index(), test.node.Value(), size, test.size)
		}
		body.Remove(test.node)
	}
}

// TestBecome: a changed instruction is spelled anew, whatever it was.
func TestBecome(t *testing.T) {
	body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Op("iload_1").Op("wide", uint8(0x15), uint16(300)).Op("iadd").Op("ireturn").Code(b, 2, 301)
	}))
	find(t, body, opcode.Iload, 0).Become(opcode.Iload, 300)
	find(t, body, opcode.Iload, 1).Become(opcode.Lload, 2)
	wantLines(t, lower(t, body), "L0: wide iload 300", "L1: lload_2", "L2: iadd")
}

// TestConstantsMoveToWideIndexes: an ldc of a constant that comes to stand beyond
// 255 becomes an ldc_w.
func TestConstantsMoveToWideIndexes(t *testing.T) {
	body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Op("ldc", uint8(b.Integer(7))).Op("ireturn").Code(b, 1, 1)
	}))
	pool := &body.Class.Pool
	for i := 0; pool.Len() < 300; i++ {
		pool.AddUtf8(fmt.Sprint("padding ", i))
	}
	ldc := find(t, body, opcode.Ldc, 0)
	index := pool.AddInt(123456)
	if index < 256 {
		t.Fatalf("the constant is at %d", index)
	}
	ldc.Become(opcode.Ldc, index)
	wantLines(t, lower(t, body), "L0: ldc int 0001e240", "L1: ireturn")
	if size := codeLength(t, body); size != 4 {
		t.Errorf("ldc_w and ireturn take %d bytes, want 4", size)
	}
}

// TestTooLarge: 65,535 bytes are code, one more is a TooLargeError, and the bytes
// that were there before stay.
func TestTooLarge(t *testing.T) {
	body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Op("iload_0").Op("ireturn").Code(b, 1, 1)
	}))
	end := find(t, body, opcode.Ireturn, 0)
	fill(body, end, code.MaxCode-2)
	if n := codeLength(t, body); n != code.MaxCode {
		t.Fatalf("the code takes %d bytes", n)
	}
	fill(body, end, 1)
	out, err := body.Append([]byte("before"))
	var large *code.TooLargeError
	if !errors.As(err, &large) || large.Size != code.MaxCode+1 {
		t.Errorf("one byte too many: %v", err)
	}
	if string(out) != "before" {
		t.Errorf("what was written is %q", out[:min(len(out), 20)])
	}
}
