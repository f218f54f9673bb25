package code_test

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

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
