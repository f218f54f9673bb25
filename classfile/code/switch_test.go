package code_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

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
