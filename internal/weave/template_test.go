package weave_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

const (
	mayReturn   = "may return without the target having returned: exceptions of the target must be rethrown"
	repeats     = "may run the target more than once: remove the loop around it"
	written     = "calls Template.target() more than once (a finally block is compiled several times): call it once, outside of finally"
	signature   = "must be static, without arguments and void"
	noConstant  = "asks for an argument whose number is not a constant from 0 to 255"
	earlyResult = "asks for the result where the target may not have returned"
)

// refusals are the classes in Refusals.java with why each is none.
var refusals = []struct{ class, method, template, detail string }{
	{"Loop", "t", "Refusals$Loop.t", repeats},
	{"Retry", "t", "Refusals$Retry.t", repeats},
	{"Conditional", "t", "Refusals$Conditional.t", mayReturn},
	{"ReturnBefore", "t", "Refusals$ReturnBefore.t", mayReturn},
	{"Swallow", "t", "Refusals$Swallow.t", mayReturn},
	{"ReturnInFinally", "t", "Refusals$ReturnInFinally.t", mayReturn},
	{"Twice", "t", "Refusals$Twice.t", written},
	{"InFinally", "t", "Refusals$InFinally.t", written},
	{"InstanceMethod", "t", "Refusals$InstanceMethod.t", signature},
	{"Arguments", "t", "Refusals$Arguments.t", signature},
	{"Returns", "t", "Refusals$Returns.t", signature},
	{"PrivateHelper", "t", "Refusals$PrivateHelper.t", "uses help of its own class, which is not public (a lambda's body never is)"},
	{"PrivateField", "t", "Refusals$PrivateField.t", "uses count of its own class, which is not public (a lambda's body never is)"},
	{"HiddenClass", "t", "Refusals$HiddenClass.t", "uses help of its own class, which is not public"},
	{"Lambda", "t", "Refusals$Lambda.t", "uses lambda$t$0 of its own class, which is not public (a lambda's body never is)"},
	{"ResultBefore", "t", "Refusals$ResultBefore.t", earlyResult},
	{"ResultInCatch", "t", "Refusals$ResultInCatch.t", earlyResult},
	{"VariableArgument", "t", "Refusals$VariableArgument.t", noConstant},
	{"ChosenArgument", "t", "Refusals$ChosenArgument.t", noConstant},
	{"HighArgument", "t", "Refusals$HighArgument.t", noConstant},
	{"NegativeArgument", "t", "Refusals$NegativeArgument.t", noConstant},
	{"None", "t", "Refusals$None.t", "does not call Template.target(): call it once, where the method itself runs"},
	{"None", "", "Refusals$None", "no method of it calls Template.target()"},
	{"None", "x", "Refusals$None", "has no method x"},
	{"Several", "", "Refusals$Several", "has several template methods; say which, as CLASS:METHOD"},
	{"Overloaded", "t", "Refusals$Overloaded", "has several template methods; say which, as CLASS:METHOD"},
	{"Locked", "t", "Refusals$Locked.t", "is synchronized, and its lock would be lost; lock inside it"},
	{"Native", "t", "Refusals$Native.t", "has no body"},
	{"InsideExpression", "t", "Refusals$InsideExpression.t", "calls Template.target() inside an expression: make it a statement"},
}

func TestRefusals(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := jvmtest.Compile(t, anyJDK(t), jvmtest.Fixture{
		Sources:   []string{"testdata/java/Refusals.java"},
		Classpath: []string{jar},
		Flags:     []string{"--release", "17", "-Xlint:none"},
	})
	for _, test := range refusals {
		t.Run(test.class+":"+test.method, func(t *testing.T) {
			_, err := weave.CompileTemplate(readFile(t, filepath.Join(dir, "Refusals$"+test.class+".class")), test.method)
			wantRefusal(t, err, test.template, test.detail)
		})
	}
}

func wantRefusal(t *testing.T, err error, template, detail string) {
	t.Helper()
	var refused *weave.TemplateError
	if !errors.As(err, &refused) || refused.Template != template || refused.Detail != detail {
		t.Errorf("got  %v\nwant template %s: %s", err, template, detail)
	}
}

// TestHandmadeRefusals: templates that no compiler writes.
func TestHandmadeRefusals(t *testing.T) {
	const intrinsics = "sonde/template/Template"
	target := func(b *classtest.Builder) uint16 { return b.Method(intrinsics, "target", "()V") }
	for _, test := range []struct {
		name   string
		major  uint16
		body   func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler
		detail string
	}{
		{"Java 5", 49, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Op("invokestatic", target(b)).Op("return")
		}, "is compiled for a Java version before 6; compile it with --release 8"},
		{"jsr", 50, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Jump("jsr", "sub").Op("return").Label("sub").Op("astore_0").Op("invokestatic", target(b)).Op("ret", uint8(0))
		}, "is compiled for a Java version before 6; compile it with --release 8"},
		{"unknown intrinsic", 52, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Op("invokestatic", target(b)).Op("invokestatic", b.Method(intrinsics, "future", "()V")).Op("return")
		}, "calls a method of Template that is not known to this version"},
		{"never reached", 52, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Op("return").Op("invokestatic", target(b)).Op("return")
		}, "never reaches Template.target(): remove the return or throw that always runs before it"},
		{"no bootstrap methods", 52, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Op("invokedynamic", b.InvokeDynamic(0, "x", "()V"), uint16(0)).Op("invokestatic", target(b)).Op("return")
		}, "uses invokedynamic without bootstrap methods"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := classtest.NewBuilder(test.major, "Handmade")
			b.AddMethod(0x0009, "t", "()V", test.body(b, classtest.NewAssembler()).Code(b, 2, 2))
			_, err := weave.CompileTemplate(b.Bytes(), "t")
			wantRefusal(t, err, "Handmade.t", test.detail)
		})
	}
}

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
		want := []int32{1 << 20, 101, 2, 102, weave.MethodID(classfile.MethodRef{Class: "a/B", Name: name, Descriptor: "()V"}), 103, 1<<20 + 1, 104}
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

// TestCyclicTemplates: a constant that leads back to itself is an error. Going round
// until the stack is full cannot be recovered from, so that each case runs in a
// process of its own.
func TestCyclicTemplates(t *testing.T) {
	const which = "SONDE_TEST_CYCLIC_TEMPLATE"
	if name := os.Getenv(which); name != "" {
		if _, err := weave.CompileTemplate(cyclicTemplates()[name], "t"); err == nil {
			t.Error("it compiled")
		}
		return
	}
	for name := range cyclicTemplates() {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=^TestCyclicTemplates$")
			command.Env = append(os.Environ(), which+"="+name)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%.300s", err, out)
			}
		})
	}
}

// cyclicTemplates use constants that lead back to themselves.
func cyclicTemplates() map[string][]byte {
	build := func(load func(b *classtest.Builder) uint16, attributes ...func(b *classtest.Builder) []byte) []byte {
		b := classtest.NewBuilder(55, "Cyclic")
		a := asm().Op("ldc_w", load(b)).Op("pop").Op("invokestatic", b.Method("sonde/template/Template", "target", "()V")).Op("return")
		b.AddMethod(publicStatic, "t", "()V", a.Code(b, 1, 0))
		for _, make := range attributes {
			b.AddAttribute(make(b))
		}
		return b.Bytes()
	}
	return map[string][]byte{
		"method handle of itself": build(func(b *classtest.Builder) uint16 {
			next := b.Utf8("next") + 1 // the entry behind
			return b.Handle(6, next)
		}),
		"constant made from itself": build(func(b *classtest.Builder) uint16 {
			return b.Dynamic(0, "x", "Ljava/lang/Object;")
		}, func(b *classtest.Builder) []byte {
			handle := b.Handle(6, b.Method("X", "boot", "()V"))
			return b.Attribute("BootstrapMethods", uint16(1), handle, uint16(1), b.Dynamic(0, "x", "Ljava/lang/Object;"))
		}),
	}
}
