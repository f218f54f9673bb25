package classfile_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

func TestParseMethodRef(t *testing.T) {
	for text, want := range map[string]classfile.MethodRef{
		"java.lang.String.indexOf(I)I":          {Class: "java/lang/String", Name: "indexOf", Descriptor: "(I)I"},
		"java/lang/Object.<init>()V":            {Class: "java/lang/Object", Name: "<init>", Descriptor: "()V"},
		"Main.run(La/B;[J)V":                    {Class: "Main", Name: "run", Descriptor: "(La/B;[J)V"},
		"a.OrderTest.rejects (empty) orders()V": {Class: "a/OrderTest", Name: "rejects (empty) orders", Descriptor: "()V"},
	} {
		if got, ok := classfile.ParseMethodRef(text); !ok || got != want {
			t.Errorf("ParseMethodRef(%q) = %#v, %t; want %#v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "run", "run()V", ".run()V", "java.lang.String", "(a.b)"} {
		if got, ok := classfile.ParseMethodRef(text); ok {
			t.Errorf("ParseMethodRef(%q) = %#v, want an error", text, got)
		}
	}
}

func TestMethodRefString(t *testing.T) {
	text := "java.util.Map$Entry.comparingByKey()Ljava/util/Comparator;"
	m, ok := classfile.ParseMethodRef(text)
	if !ok || m.String() != text {
		t.Errorf("%q parsed and printed is %q", text, m)
	}
	if m.Member() != "comparingByKey()Ljava/util/Comparator;" || m.ClassName() != "java.util.Map$Entry" {
		t.Errorf("member %q of class %q", m.Member(), m.ClassName())
	}
}
