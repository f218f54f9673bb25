package descriptor

import (
	"errors"
	"testing"
)

func classSig(s string) (interface{ String() string }, error)  { return ParseClassSignature(s) }
func methodSig(s string) (interface{ String() string }, error) { return ParseMethodSignature(s) }
func fieldSig(s string) (interface{ String() string }, error)  { return ParseFieldSignature(s) }

func TestSignatureRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		parse func(string) (interface{ String() string }, error)
		sig   string
	}{
		{classSig, "Ljava/lang/Object;"},
		{classSig, "<E:Ljava/lang/Enum<TE;>;>Ljava/lang/Object;Ljava/lang/Comparable<TE;>;Ljava/io/Serializable;"},
		{classSig, "<T::Ljava/lang/Runnable;U:Ljava/lang/Object;:La/B;:La/C<*>;>Ljava/lang/Object;"},
		{classSig, "<T:>La;"},
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
	c, err := ParseClassSignature("<T::Ljava/lang/Runnable;>La/O<TT;>.I<*>;La/J;")
	if err != nil {
		t.Fatal(err)
	}
	p := c.TypeParams[0]
	if p.Name != "T" || p.ClassBound != nil || len(p.InterfaceBounds) != 1 {
		t.Errorf("type parameter %+v", p)
	}
	s := c.Superclass.Classes
	if len(s) != 2 || s[0].Name != "a/O" || s[0].Args[0].Type.Name != "T" || s[1].Name != "I" || s[1].Args[0].Wildcard != '*' {
		t.Errorf("superclass %+v", s)
	}
	if len(c.Interfaces) != 1 || c.Interfaces[0].Classes[0].Name != "a/J" {
		t.Errorf("interfaces %+v", c.Interfaces)
	}
}

func TestBadSignatures(t *testing.T) {
	for _, tt := range []struct {
		parse  func(string) (interface{ String() string }, error)
		sig    string
		offset int
	}{
		{classSig, "", 0},
		{classSig, "I", 0},
		{classSig, "<>La;", 1},
		{classSig, "<T>La;", 2},
		{classSig, "La<>;", 3},
		{classSig, "La<I>;", 3},
		{classSig, "La;TT;", 3},
		{classSig, "La:b;", 2},
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
