package descriptor

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestField(t *testing.T) {
	for _, tt := range []struct {
		desc, human, class string
		slots, dims        int
	}{
		{"I", "int", "", 1, 0},
		{"J", "long", "", 2, 0},
		{"D", "double", "", 2, 0},
		{"Z", "boolean", "", 1, 0},
		{"[I", "int[]", "", 1, 1},
		{"[[J", "long[][]", "", 1, 2},
		{"Ljava/lang/String;", "java.lang.String", "java/lang/String", 1, 0},
		{"[La/b$C;", "a.b$C[]", "", 1, 1},
	} {
		typ := Type(tt.desc)
		if typ.Human() != tt.human || typ.ClassName() != tt.class || typ.Slots() != tt.slots || typ.Dimensions() != tt.dims {
			t.Errorf("%q: human %q, class %q, slots %d, dimensions %d", tt.desc, typ.Human(), typ.ClassName(), typ.Slots(), typ.Dimensions())
		}
	}
}

func TestPrimitiveLetter(t *testing.T) {
	for keyword, want := range map[string]byte{"int": 'I', "long": 'J', "boolean": 'Z', "void": 'V', "": 0, "Int": 0, "int[]": 0, "a.b": 0} {
		if got := PrimitiveLetter(keyword); got != want {
			t.Errorf("%q: %q, want %q", keyword, got, want)
		}
	}
}

func TestMethod(t *testing.T) {
	m, err := ParseMethod("(I[JLjava/lang/String;D)[La/B;")
	if err != nil {
		t.Fatal(err)
	}
	var params []Type
	for i, p := range m.Params() {
		if i != len(params) {
			t.Errorf("index %d for parameter %d", i, len(params))
		}
		params = append(params, p)
	}
	if want := []Type{"I", "[J", "Ljava/lang/String;", "D"}; !slices.Equal(params, want) {
		t.Errorf("params %q, want %q", params, want)
	}
	if m.Return() != "[La/B;" || m.NumParams() != 4 {
		t.Errorf("return %q, %d parameters", m.Return(), m.NumParams())
	}
}

func TestDefectsNameTheirOffset(t *testing.T) {
	for _, tt := range []struct {
		name   string
		input  string
		offset int
	}{
		{"no element", "([[)V", 1},
		{"unknown letter", "(IX)V", 2},
		{"unterminated class", "(La/b)V", 1},
		{"empty class", "()L;", 2},
		{"deep array", "(" + strings.Repeat("[", 256) + "I)V", 1},
		{"no parenthesis", "I", 0},
		{"unclosed", "(I", 2},
		{"void parameter", "(IV)V", 2},
		{"no result", "()", 2},
		{"two results", "()II", 3},
		{"too many slots", "(" + strings.Repeat("J", 128) + ")V", 128},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var syntax *SyntaxError
			if _, err := ParseMethod(tt.input); !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a SyntaxError", err)
			}
			if syntax.Offset != tt.offset {
				t.Errorf("offset %d (%v), want %d", syntax.Offset, syntax, tt.offset)
			}
			if strings.ContainsAny(syntax.Error(), "\n\r") || len(syntax.Error()) > 300 {
				t.Errorf("not one short line: %q", syntax.Error())
			}
		})
	}
}

func TestParsingDoesNotAllocate(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		m, err := ParseMethod("(Ljava/lang/String;[[IJD)Ljava/lang/Object;")
		if err != nil {
			t.Fatal(err)
		}
		for range m.Params() {
		}
	})
	if n != 0 {
		t.Errorf("ParseMethod and Params allocate %v times", n)
	}
}

func TestArgSlots(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		slots int
		ret   byte
		ok    bool
	}{
		{"()V", 0, 'V', true},
		{"(I)I", 1, 'I', true},
		{"(JD)J", 4, 'J', true},
		{"([J[[D)[I", 2, '[', true},
		{"(Ljava/lang/String;ZLa;)La/b;", 3, 'L', true},
		{"(BCSZF)D", 5, 'D', true},
		{"", 0, 0, false},
		{"()", 0, 0, false},
		{"(V)V", 0, 0, false},
		{"()VV", 0, 0, false},
		{"(L;)V", 0, 0, false},
		{"(La)V", 0, 0, false},
		{"([)V", 0, 0, false},
		{"(I", 0, 0, false},
		{"I", 0, 0, false},
		{"()[V", 0, 0, false},
	} {
		slots, ret, ok := ArgSlots([]byte(tt.desc))
		if ok != tt.ok || ok && (slots != tt.slots || ret != tt.ret) {
			t.Errorf("ArgSlots(%q) = %d, %q, %t; want %d, %q, %t", tt.desc, slots, ret, ok, tt.slots, tt.ret, tt.ok)
		}
	}
}

func TestArgSlotsDoesNotAllocate(t *testing.T) {
	desc := []byte("(Ljava/lang/String;[[IJD)Ljava/lang/Object;")
	if n := testing.AllocsPerRun(100, func() { ArgSlots(desc) }); n != 0 {
		t.Errorf("ArgSlots allocates %v times a call", n)
	}
}

// FuzzParse holds the laws of the package: the parts of a descriptor are its text, the
// fast path agrees with the full one, erasures are descriptors, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"I", "[[J", "La/b;", "(IJ[La;)V", "()La/b$c;", "int[]", "java.lang.String",
		"<T::La;>Lb;Lc<TT;>;", "<X:La;>(TX;I[La<*>;)V^TX;", "La<+Lb;>.c<-[I>;", "(La;", "[[[", "<init>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMethod(s)
		if slots, ret, ok := ArgSlots([]byte(s)); err == nil {
			if !ok || slots != paramSlots(m) || ret != m.Return().Kind() {
				t.Errorf("ArgSlots(%q) = %d, %q, %t; want %d, %q", s, slots, ret, ok, paramSlots(m), m.Return().Kind())
			}
			if text := methodText(m); text != s {
				t.Errorf("method %q: pieces join to %q", s, text)
			}
		}
		params, result, err := ParseMethodSignature(s)
		if err == nil {
			text := "("
			for _, p := range params {
				text += string(p.Erased)
			}
			if _, err := ParseMethod(text + ")" + string(result.Erased)); err != nil && len(params) < 128 {
				t.Errorf("method signature %q: erasure is %v", s, err)
			}
		}
		if sig, err := ParseFieldSignature(s); err == nil {
			if _, err := ParseMethod("(" + string(sig.Erased) + ")V"); err != nil {
				t.Errorf("field signature %q: erasure is %v", s, err)
			}
		}
	})
}

func methodText(m Method) string {
	text := "("
	for _, p := range m.Params() {
		text += string(p)
	}
	return text + ")" + string(m.Return())
}

func paramSlots(m Method) int {
	slots := 0
	for _, p := range m.Params() {
		slots += p.Slots()
	}
	return slots
}
