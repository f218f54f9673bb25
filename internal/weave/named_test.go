package weave_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// askingTemplate pushes its id, and asks a condition, before its target.
func askingTemplate(t *testing.T) *weave.Template {
	t.Helper()
	const intrinsics = "sonde/template/Template"
	b := classtest.NewBuilder(52, "asking/Template")
	b.AddMethod(9, "ask", "()V", classtest.NewAssembler().
		Op("invokestatic", b.Method(intrinsics, "methodId", "()I")).Op("pop").
		Op("iconst_0").Op("invokestatic", b.Method(intrinsics, "condition", "(I)I")).Op("pop").
		Op("invokestatic", b.Method(intrinsics, "target", "()V")).Op("return").Code(b, 1, 0))
	template, err := weave.CompileTemplate(b.Bytes(), "ask")
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// pushing is a condition that leaves a number.
type pushing int32

func (p pushing) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{Steps: []weave.Step{{Op: opcode.Sipush, Value: int32(p)}}, MaxStack: 1}, nil
}

// TestTemplatesHaveIDsOfTheirOwn weaves one template several times around a method, as
// several: each has its own id and its own condition, and the first is outermost. One
// without an id has the method's.
func TestTemplatesHaveIDsOfTheirOwn(t *testing.T) {
	asking := askingTemplate(t)
	named := func(id int32, condition pushing, first bool) *weave.Template {
		var bound *weave.Template
		var err error
		if first { // whichever comes first, binding or naming
			bound, err = asking.As(id).Bind(condition)
		} else if bound, err = asking.Bind(condition); err == nil {
			bound = bound.As(id)
		}
		if err != nil {
			t.Fatal(err)
		}
		return bound
	}
	plain, err := asking.Bind(pushing(103))
	if err != nil {
		t.Fatal(err)
	}
	templates := []*weave.Template{named(1<<20, 101, true), named(2, 102, false), plain, named(1<<20+1, 104, true)}
	pick := func(m weave.MethodInfo) []*weave.Template { return templates }
	b := classtest.NewBuilder(61, "a/B")
	for _, name := range []string{"m", "n"} {
		b.AddMethod(9, name, "()V", classtest.NewAssembler().Op("return").Code(b, 0, 0))
	}
	weaver := weave.NewWeaver()
	result, err := weaver.Weave(b.Bytes(), pick)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m", "n"} {
		want := []int32{1 << 20, 101, 2, 102, weave.MethodID("a/B", name, "()V"), 103, 1<<20 + 1, 104}
		if have := pushed(t, result.Bytes, name); !slices.Equal(have, want) {
			t.Errorf("%s pushes %v, want %v", name, have, want)
		}
	}
	again, err := weaver.Weave(b.Bytes(), pick)
	if err != nil || !bytes.Equal(result.Bytes, again.Bytes) {
		t.Errorf("woven again it is other bytes: %v", err)
	}
	if _, err := classtest.Describe(result.Bytes); err != nil {
		t.Error(err)
	}
}

// pushed are the numbers that a method pushes, in order.
func pushed(t *testing.T, class []byte, method string) (numbers []int32) {
	t.Helper()
	c, err := classfile.Parse(class)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Methods {
		if name, _, err := c.MemberName(&c.Methods[i]); err != nil || string(name) != method {
			continue
		}
		body, err := code.Lift(c, &c.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		for n := body.First(); n != nil; n = n.Next() {
			switch {
			case n.Kind != code.Instruction:
			case n.Op() == opcode.Iconst2:
				numbers = append(numbers, 2)
			case n.Op() == opcode.Sipush:
				numbers = append(numbers, n.Value())
			case n.Op() == opcode.Ldc:
				v, err := c.Pool.Int(n.Index())
				if err != nil {
					t.Fatal(err)
				}
				numbers = append(numbers, v)
			}
		}
	}
	return numbers
}

// TestAFragmentTellsWhatItCalls looks at each kind of step.
func TestAFragmentTellsWhatItCalls(t *testing.T) {
	member := func(op opcode.Op) weave.Step {
		return weave.Step{Do: weave.DoConstant, Op: op, Const: weave.Constant{Text: "a/B"}}
	}
	isMeant := func(class string) bool { return class == "a/B" }
	for op, calls := range map[opcode.Op]bool{
		opcode.Invokestatic: true, opcode.Invokevirtual: true, opcode.Invokeinterface: true, opcode.Invokespecial: true,
		opcode.Getfield: false, opcode.Ldc: false, opcode.Instanceof: false,
	} {
		f := weave.Fragment{Steps: []weave.Step{{Op: opcode.Nop}, member(op)}}
		if f.Calls(isMeant) != calls || f.Calls(func(string) bool { return false }) {
			t.Errorf("%s calls: %t", op, f.Calls(isMeant))
		}
	}
}
