package descriptor

import (
	"errors"
	"testing"
)

func methodSig(s string) (interface{ String() string }, error) { return ParseMethodSignature(s) }
func fieldSig(s string) (interface{ String() string }, error)  { return ParseFieldSignature(s) }

func TestSignatureRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		parse func(string) (interface{ String() string }, error)
		sig   string
	}{
		{fieldSig, "Ljava/lang/Object;"},
		{methodSig, "<E:Ljava/lang/Enum<TE;>;>(Ljava/lang/Object;Ljava/lang/Comparable<TE;>;)Ljava/io/Serializable;"},
		{methodSig, "<T::Ljava/lang/Runnable;U:Ljava/lang/Object;:La/B;:La/C<*>;>()Ljava/lang/Object;"},
		{methodSig, "<T:>()La;"},
		{methodSig, "()V"},
		{methodSig, "<T:Ljava/lang/Object;X:Ljava/lang/Throwable;>(ITT;[[JLa/B<+TT;-[I*>;)TT;^TX;^Ljava/io/IOException;"},
		{fieldSig, "TT;"},
		{fieldSig, "[[[I"},
		{fieldSig, "La/Outer<TT;>.Inner<[Ljava/lang/String;>.Leaf;"},
		{fieldSig, "Ljava/util/Map<Ljava/lang/String;Ljava/util/List<+Ljava/lang/Number;>;>;"},
	} {
		parsed, err := tt.parse(tt.sig)
		if err != nil {
			t.Error(err)
			continue
		}
		if parsed.String() != tt.sig {
			t.Errorf("%q printed as %q", tt.sig, parsed.String())
		}
	}
}

func TestSignatureModel(t *testing.T) {
	m, err := ParseMethodSignature("<T::Ljava/lang/Runnable;>(La/J;)La/O<TT;>.I<*>;")
	if err != nil {
		t.Fatal(err)
	}
	p := m.TypeParams[0]
	if p.Name != "T" || p.ClassBound != nil || len(p.InterfaceBounds) != 1 {
		t.Errorf("type parameter %+v", p)
	}
	r := m.Return.Classes
	if len(r) != 2 || r[0].Name != "a/O" || r[0].Args[0].Type.Name != "T" || r[1].Name != "I" || r[1].Args[0].Wildcard != '*' {
		t.Errorf("return type %+v", r)
	}
	if len(m.Params) != 1 || m.Params[0].Classes[0].Name != "a/J" {
		t.Errorf("parameters %+v", m.Params)
	}
}

func TestBadSignatures(t *testing.T) {
	for _, tt := range []struct {
		parse  func(string) (interface{ String() string }, error)
		sig    string
		offset int
	}{
		{fieldSig, "", 0},
		{methodSig, "<>()La;", 1},
		{methodSig, "<T>()La;", 2},
		{fieldSig, "La<>;", 3},
		{fieldSig, "La<I>;", 3},
		{fieldSig, "La;TT;", 3},
		{fieldSig, "La:b;", 2},
		{methodSig, "(V)V", 1},
		{methodSig, "()V^[La;", 4},
		{methodSig, "()V^I", 4},
		{methodSig, "()", 2},
		{fieldSig, "I", 0},
		{fieldSig, "TT", 2},
		{fieldSig, "La/;", 3},
		{fieldSig, "La.;", 3},
		{fieldSig, "La;x", 3},
	} {
		_, err := tt.parse(tt.sig)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != tt.offset {
			t.Errorf("%q: error %v, want one at offset %d", tt.sig, err, tt.offset)
		}
	}
}

// Printing a parsed signature must give its text: the law that shows that parsing loses nothing.

// String is the signature as it stands in a class file.
func (m *MethodSignature) String() string {
	b := appendTypeParams(nil, m.TypeParams)
	b = append(b, '(')
	for i := range m.Params {
		b = m.Params[i].appendTo(b)
	}
	b = append(b, ')')
	b = m.Return.appendTo(b)
	for i := range m.Throws {
		b = append(b, '^')
		b = m.Throws[i].appendTo(b)
	}
	return string(b)
}

// String is the type as it stands in a class file.
func (t SigType) String() string { return string(t.appendTo(nil)) }

func (t *SigType) appendTo(b []byte) []byte {
	for t.Kind == '[' {
		b = append(b, '[')
		t = t.Elem
	}
	b = append(b, t.Kind)
	switch t.Kind {
	case 'T':
		b = append(b, t.Name...)
	case 'L':
		for i := range t.Classes {
			if i > 0 {
				b = append(b, '.')
			}
			b = append(b, t.Classes[i].Name...)
			b = appendTypeArgs(b, t.Classes[i].Args)
		}
	default:
		return b
	}
	return append(b, ';')
}

func appendTypeArgs(b []byte, args []TypeArg) []byte {
	if len(args) == 0 {
		return b
	}
	b = append(b, '<')
	for i := range args {
		if args[i].Wildcard != 0 {
			b = append(b, args[i].Wildcard)
		}
		if args[i].Wildcard != '*' {
			b = args[i].Type.appendTo(b)
		}
	}
	return append(b, '>')
}

func appendTypeParams(b []byte, params []TypeParam) []byte {
	if len(params) == 0 {
		return b
	}
	b = append(b, '<')
	for i := range params {
		b = append(b, params[i].Name...)
		b = append(b, ':')
		if params[i].ClassBound != nil {
			b = params[i].ClassBound.appendTo(b)
		}
		for j := range params[i].InterfaceBounds {
			b = append(b, ':')
			b = params[i].InterfaceBounds[j].appendTo(b)
		}
	}
	return append(b, '>')
}
