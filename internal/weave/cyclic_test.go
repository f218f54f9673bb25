package weave_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

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
