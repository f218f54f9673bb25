package descriptor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestErasures writes each type as its erasure, followed by its arguments in brackets.
func TestErasures(t *testing.T) {
	for _, tt := range []struct{ signature, want string }{
		{"Ljava/lang/Object;", "Ljava/lang/Object;"},
		{"TT;", "Ljava/lang/Object;"},
		{"[[[I", "[[[I"},
		{"[TT;", "[Ljava/lang/Object;"},
		{"[La/B<TT;>;", "[La/B;[Ljava/lang/Object;]"},
		{"La/Outer<TT;>.Inner<[Ljava/lang/String;>.Leaf;", "La/Outer$Inner$Leaf;"},
		{"La/O<TT;>.I<*-La;+Lb;>;", "La/O$I;[Ljava/lang/Object; Ljava/lang/Object; Lb;]"},
		{"Ljava/util/Map<Ljava/lang/String;Ljava/util/List<+Ljava/lang/Number;>;>;",
			"Ljava/util/Map;[Ljava/lang/String; Ljava/util/List;[Ljava/lang/Number;]]"},
		{"()V", "()V"},
		{"<T:>()La;", "()La;"},
		{"<E:Ljava/lang/Enum<TE;>;>(Ljava/lang/Object;Ljava/lang/Comparable<TE;>;)Ljava/io/Serializable;",
			"(Ljava/lang/Object; Ljava/lang/Comparable;[Ljava/lang/Object;])Ljava/io/Serializable;"},
		{"<T::Ljava/lang/Runnable;U:Ljava/lang/Object;:La/B;:La/C<*>;>()Ljava/lang/Object;", "()Ljava/lang/Object;"},
		{"<T:Ljava/lang/Object;X:Ljava/lang/Throwable;>(ITT;[[J)TT;^TX;^Ljava/io/IOException;",
			"(I Ljava/lang/Object; [[J)Ljava/lang/Object;"},
	} {
		got, err := erasure(tt.signature)
		if err != nil || got != tt.want {
			t.Errorf("%q: %q, %v; want %q", tt.signature, got, err, tt.want)
		}
	}
}

// erasure parses the signature of a method, which contains a parenthesis, or of a field.
func erasure(s string) (string, error) {
	if !strings.Contains(s, "(") {
		t, err := ParseFieldSignature(s)
		return t.text(), err
	}
	params, result, err := ParseMethodSignature(s)
	return "(" + texts(params) + ")" + result.text(), err
}

func (g Generic) text() string {
	if len(g.Args) == 0 {
		return string(g.Erased)
	}
	return fmt.Sprintf("%s[%s]", g.Erased, texts(g.Args))
}

func texts(list []Generic) string {
	var all []string
	for _, g := range list {
		all = append(all, g.text())
	}
	return strings.Join(all, " ")
}

func TestBadSignatures(t *testing.T) {
	for signature, offset := range map[string]int{
		"": 0, "La<>;": 3, "La<I>;": 3, "La;TT;": 3, "La:b;": 2, "I": 0, "TT": 2, "La/;": 3, "La.;": 3, "La;x": 3,
		"<>()La;": 1, "<T>()La;": 2, "(V)V": 1, "()V^[La;": 4, "()V^I": 4, "()": 2,
		strings.Repeat("[", 256) + "I": 0, "L" + strings.Repeat("a", 70000) + ";": 65535,
	} {
		_, err := erasure(signature)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != offset {
			t.Errorf("%.20q: error %v, want one at offset %d", signature, err, offset)
		}
	}
}
