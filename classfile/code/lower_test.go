package code_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

const zoo = "../testdata/zoo"

// TestLowerUnedited: lifted and lowered, a body is the bytes it was, with one lifter
// for all as with one for each, and lowering twice changes nothing.
func TestLowerUnedited(t *testing.T) {
	var lifter code.Lifter
	eachBody(t, zoo, func(t *testing.T, c *classfile.Class, m *classfile.Member, data []byte) {
		original := bytes.Clone(data)
		alone, err := code.Lift(c, m)
		if err != nil {
			t.Fatal(err)
		}
		reused, err := lifter.LiftCode(c, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []*code.Body{alone, reused, alone} {
			out, err := body.Append([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out, append([]byte("before"), original...)) {
				t.Errorf("lowered to other bytes\n was % x\n now % x", original, out[len("before"):])
			}
		}
		if !bytes.Equal(data, original) {
			t.Error("the bytes lifted were changed")
		}
	})
}

// TestListIsSound: the list is one chain in both directions, its length is known,
// offsets never fall, and whatever a node points at is a label of the list.
func TestListIsSound(t *testing.T) {
	eachBody(t, zoo, func(t *testing.T, c *classfile.Class, m *classfile.Member, _ []byte) {
		body, err := code.Lift(c, m)
		if err != nil {
			t.Fatal(err)
		}
		labels := map[*code.Node]bool{}
		count := 0
		var last *code.Node
		for n := body.First(); n != nil; n = n.Next() {
			count++
			if n.Prev() != last {
				t.Fatalf("node %d does not lead back to the one before", count)
			}
			if last != nil && last.Offset() > n.Offset() {
				t.Errorf("a node of offset %d stands before one of offset %d", last.Offset(), n.Offset())
			}
			if n.Kind == code.Label {
				labels[n] = true
			}
			last = n
		}
		if body.Len() != count {
			t.Errorf("Len is %d, the list has %d nodes", body.Len(), count)
		}
		for _, n := range pointedAt(body) {
			if !labels[n] {
				t.Errorf("something points at a node of kind %d, offset %d: not a label of the list", n.Kind, n.Offset())
			}
		}
	})
}

// pointedAt lists whatever a body points at.
func pointedAt(body *code.Body) []*code.Node {
	var all []*code.Node
	for n := body.First(); n != nil; n = n.Next() {
		if n.Kind == code.Instruction && n.Target() != nil {
			all = append(all, n.Target())
		}
		if n.Kind == code.Instruction && n.Op().Info().Length == 0 {
			s := body.Switch(n)
			all = append(append(all, s.Default), s.Targets...)
		}
	}
	for _, h := range body.Handlers {
		all = append(all, h.Start, h.End, h.Entry)
	}
	for _, v := range body.Vars {
		all = append(all, v.Start, v.End)
	}
	for _, a := range body.TypeAnnotations {
		if a.At != nil {
			all = append(all, a.At)
		}
		for _, r := range a.Ranges {
			all = append(all, r.Start, r.End)
		}
	}
	for _, f := range body.Frames() {
		for _, list := range [][]code.Type{f.Locals, f.Stack} {
			for _, typ := range list {
				if typ.Item == code.Uninitialized {
					all = append(all, typ.New)
				}
			}
		}
	}
	return all
}

// TestNoBody: an abstract method lifts to nothing.
func TestNoBody(t *testing.T) {
	class, err := classfile.Parse(abstractClass())
	if err != nil {
		t.Fatal(err)
	}
	if body, err := code.Lift(class, &class.Methods[0]); body != nil || err != nil {
		t.Errorf("an abstract method lifted to %v, %v", body, err)
	}
}

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
	body.InsertBefore(nil, body.NewOp(opcode.Nop)) // after the return, at the very end
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
		{body.NewOperands(opcode.Bipush, 0, -1), 2},
		{body.NewOperands(opcode.Sipush, 0, 1000), 3},
		{body.NewOperands(opcode.Multianewarray, 1, 2), 4},
		{body.NewOperands(opcode.Invokeinterface, 1, 2), 5},
		{body.NewIndexed(opcode.Invokedynamic, 1), 5},
		{body.NewOperands(opcode.Newarray, 0, 10), 2},
	} {
		before := codeLength(t, body)
		body.InsertBefore(end, test.node)
		if size := codeLength(t, body) - before; size != test.size {
			t.Errorf("%s %d %d takes %d bytes, want %d", test.node.Op(), test.node.Index(), test.node.Value(), size, test.size)
		}
		body.Remove(test.node)
	}
}

// TestBecome: a changed instruction gets a new encoding.
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

// TestLabelLeftOut: a jump, a block or a frame that points at a label nobody put in
// the list is an error, not an offset of 0.
func TestLabelLeftOut(t *testing.T) {
	body := func() *code.Body {
		return liftSingle(t, single(52, func(b *classtest.Builder) []byte {
			return asm().Op("iload_0").Op("ireturn").Code(b, 1, 1)
		}))
	}
	for name, edit := range map[string]func(*code.Body){
		"jump": func(b *code.Body) { b.InsertBefore(b.First(), b.NewJump(opcode.Goto, b.NewLabel())) },
		"block": func(b *code.Body) {
			first := b.LabelBefore(b.First())
			b.Handlers = append(b.Handlers, code.Handler{Start: first, End: b.NewLabel(), Entry: first})
		},
		"frame": func(b *code.Body) {
			b.InsertBefore(b.First(), b.NewFrame(code.Frame{Form: code.Absolute,
				Locals: []code.Type{{Item: code.Uninitialized, New: b.NewLabel()}}}))
		},
	} {
		b := body()
		edit(b)
		if _, err := b.Append(nil); err == nil || !strings.Contains(err.Error(), "not in its list") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNewVariable: a variable that is added is in the LocalVariableTable, also where
// the body had none.
func TestNewVariable(t *testing.T) {
	b := liftSingle(t, single(52, func(b *classtest.Builder) []byte {
		return asm().Op("iload_0").Op("ireturn").Code(b, 1, 1)
	}))
	start, end := b.LabelBefore(b.First()), b.NewLabel()
	b.InsertBefore(nil, end)
	pool := &b.Class.Pool
	b.Vars = append(b.Vars, code.Var{Start: start, End: end, Name: pool.AddUtf8("x"), Descriptor: pool.AddUtf8("I")})
	data, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := new(code.Lifter).LiftCode(b.Class, data)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Vars) != 1 || again.Vars[0].End.Offset() != 2 || again.VarTypes(&again.Vars[0]) {
		t.Errorf("got %+v", again.Vars)
	}
}

// TestSwitchPadding moves switches by one byte after the other: the reference parser
// finds their operands where the specification wants them.
func TestSwitchPadding(t *testing.T) {
	body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Op("iload_0").Table(-1, "other", "a", "b").
			Label("a").Op("iload_0").Lookup("other", []int32{-5, 900}, "b", "a").
			Label("b").Op("nop").Label("other").Op("iload_0").Op("ireturn").Code(b, 1, 1)
	}))
	for moved := range 9 {
		lines := lower(t, body)
		wantLines(t, lines,
			fmt.Sprintf("L%d: tableswitch default L%d -1:L%d 0:L%d", moved+1, moved+5, moved+2, moved+4),
			fmt.Sprintf("L%d: lookupswitch default L%d -5:L%d 900:L%d", moved+3, moved+5, moved+4, moved+2))
		body.InsertAfter(nil, body.NewOp(opcode.Nop))
	}
}

// TestNewSwitches: keys and targets of switches made from nothing.
func TestNewSwitches(t *testing.T) {
	body := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Op("iload_0").Op("ireturn").Code(b, 1, 1)
	}))
	end := find(t, body, opcode.Ireturn, 0)
	target := body.LabelBefore(find(t, body, opcode.Iload, 0))
	body.InsertBefore(end, body.NewSwitch(opcode.Lookupswitch, code.Switch{Default: target}))
	body.InsertBefore(end, body.NewSwitch(opcode.Tableswitch,
		code.Switch{Default: target, Keys: []int32{1<<31 - 2, 1<<31 - 1}, Targets: []*code.Node{target, target}}))
	lines := lower(t, body)
	again := liftSingle(t, single(49, func(b *classtest.Builder) []byte {
		return asm().Label("top").Op("iload_0").Lookup("top", nil).Table(1<<31-2, "top", "top", "top").Op("ireturn").Code(b, 1, 1)
	}))
	wantLines(t, lines, lower(t, again)...)
}

// TestPaddingIsKept: padding bytes that are not zero survive where the switch stays,
// and a switch that is moved still is one.
func TestPaddingIsKept(t *testing.T) {
	data := single(49, func(b *classtest.Builder) []byte {
		return asm().Op("iload_0").Raw([]byte{0xab, 1, 2}, int32(11), int32(0)).
			Op("iload_0").Op("ireturn").Code(b, 1, 1)
	})
	body := liftSingle(t, data)
	was, err := body.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, was) {
		t.Errorf("lowered to other bytes: % x", was)
	}
	body.InsertAfter(nil, body.NewOp(opcode.Nop))
	lower(t, body)
}

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
		"after all": func(body *code.Body, _ *code.Node, k int) {
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
				body.FrameAfter = func(*code.Node) (code.Frame, error) { return code.Frame{Form: code.Absolute}, nil }
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
	}
}

// TestOffsetsOutside: before the first instruction and of an empty map nothing is known.
func TestOffsetsOutside(t *testing.T) {
	var none code.OffsetMap
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
