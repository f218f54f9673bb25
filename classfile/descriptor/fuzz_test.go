package descriptor

import "testing"

// FuzzParse holds the laws of the package: what parses prints as it was, the
// fast path agrees with the full one, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"I", "[[J", "La/b;", "(IJ[La;)V", "()La/b$c;", "int[]", "java.lang.String",
		"<T::La;>Lb;Lc<TT;>;", "<X:La;>(TX;I[La<*>;)V^TX;", "La<+Lb;>.c<-[I>;", "(La;", "[[[", "<init>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if typ, err := ParseField(s); err == nil {
			if back, err := ParseHuman(typ.Human()); typ.String() != s || err == nil && back.Human() != typ.Human() {
				t.Errorf("field %q: printed %q, human %q, back %q", s, typ, typ.Human(), back)
			}
		}
		if typ, err := ParseHuman(s); err == nil && typ.Human() != s {
			t.Errorf("human %q: printed %q", s, typ.Human())
		}
		m, err := ParseMethod(s)
		if slots, ret, ok := ArgSlots([]byte(s)); err == nil {
			if !ok || slots != m.Slots() || ret != m.Return().Kind() {
				t.Errorf("ArgSlots(%q) = %d, %q, %t; want %d, %q", s, slots, ret, ok, m.Slots(), m.Return().Kind())
			}
			if text := methodText(m); text != s {
				t.Errorf("method %q: pieces join to %q", s, text)
			}
		}
		if sig, err := ParseClassSignature(s); err == nil && sig.String() != s {
			t.Errorf("class signature %q: printed %q", s, sig)
		}
		if sig, err := ParseMethodSignature(s); err == nil && sig.String() != s {
			t.Errorf("method signature %q: printed %q", s, sig)
		}
		if sig, err := ParseFieldSignature(s); err == nil && sig.String() != s {
			t.Errorf("field signature %q: printed %q", s, sig)
		}
		_, _ = CheckInternalName(s), CheckMemberName(s, true)
	})
}

func methodText(m Method) string {
	text := "("
	for _, p := range m.Params() {
		text += p.String()
	}
	return text + ")" + m.Return().String()
}
