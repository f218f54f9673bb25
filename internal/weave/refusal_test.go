package weave_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

const (
	mayReturn   = "may return without the target having returned: what it throws must be thrown on"
	repeats     = "may run the target more than once"
	written     = "calls Template.target() more than once (a finally block is compiled several times)"
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
	{"None", "t", "Refusals$None.t", "does not call Template.target()"},
	{"None", "", "Refusals$None", "no method of it calls Template.target()"},
	{"None", "x", "Refusals$None", "has no method x"},
	{"Several", "", "Refusals$Several", "has several template methods; say which, as CLASS:METHOD"},
	{"Overloaded", "t", "Refusals$Overloaded", "has several template methods; say which, as CLASS:METHOD"},
	{"Locked", "t", "Refusals$Locked.t", "is synchronized, and its lock would be lost; lock inside it"},
	{"Native", "t", "Refusals$Native.t", "has no body"},
	{"InsideExpression", "t", "Refusals$InsideExpression.t", "calls Template.target() inside an expression"},
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
		}, "is compiled for a Java before 6; compile it with --release 8"},
		{"jsr", 50, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Jump("jsr", "sub").Op("return").Label("sub").Op("astore_0").Op("invokestatic", target(b)).Op("ret", uint8(0))
		}, "is compiled for a Java before 6; compile it with --release 8"},
		{"unknown intrinsic", 52, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Op("invokestatic", target(b)).Op("invokestatic", b.Method(intrinsics, "future", "()V")).Op("return")
		}, "calls a method of Template that is not known to this version"},
		{"never reached", 52, func(b *classtest.Builder, a *classtest.Assembler) *classtest.Assembler {
			return a.Op("return").Op("invokestatic", target(b)).Op("return")
		}, "never reaches Template.target()"},
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
