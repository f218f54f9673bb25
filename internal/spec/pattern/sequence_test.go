package pattern_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

func TestParseSequence(t *testing.T) {
	for text, want := range map[string]string{
		"a.Web.handle":                              "a.Web.handle",
		" a.Web.handle>>b.Order.pay ":               "a.Web.handle >> b.Order.pay",
		"a.Web.handle >> b.Order.* > c.Pay.charge":  "a.Web.handle >> b.Order.* > c.Pay.charge",
		"a.Web.handle >":                            "a.Web.handle >",
		"a.Web.handle >> ":                          "a.Web.handle",
		"a.B.m > \t":                                "a.B.m >",
		"a.Order.<init>>b.Pay.charge":               "a.Order.<init> > b.Pay.charge",
		"a.Order.<clinit>>>b.Pay.charge>":           "a.Order.<clinit> >> b.Pay.charge >",
		"a.Order.<init>":                            "a.Order.<init>",
		"**.pay(int, java.lang.String) > a.B.m(..)": "**.pay(int,java.lang.String) > a.B.m(..)",
		"com.acme.** >> b.C.m:void >":               "com.acme.** >> b.C.m:void >",
		"@a.B>>c.D+.e  calls f.G.<init>>":           "@a.B >> c.D+.e calls f.G.<init> >",
	} {
		s, err := pattern.ParseSequence(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.String() != want {
			t.Errorf("%q: have %q, want %q", text, s, want)
		}
	}
}

func TestLinks(t *testing.T) {
	s, err := pattern.ParseSequence("a.A.a > b.B.b >> c.C.c >")
	if err != nil {
		t.Fatal(err)
	}
	links := []pattern.Link{s.Elements[0].Link, s.Elements[1].Link, s.Elements[2].Link, s.Last}
	want := []pattern.Link{pattern.Below, pattern.Directly, pattern.Below, pattern.Directly}
	for i := range want {
		if links[i] != want[i] {
			t.Errorf("link %d: have %v, want %v", i, links[i], want[i])
		}
	}
	if !s.Elements[1].Pattern.Match(classfile.MethodRef{Class: "b/B", Name: "b", Descriptor: "()V"}) {
		t.Error("the second element does not match b.B.b")
	}
}

// TestSequenceErrors checks the place and the text of each error.
func TestSequenceErrors(t *testing.T) {
	for _, test := range []struct {
		text   string
		column int
		detail string
	}{
		{"", 1, "empty"},
		{"  ", 1, "empty"},
		{"> a.B.m", 1, "is expected before > or >>"},
		{"a.B.m > > c.D.n", 9, "is expected before > or >>"},
		{"a.B.m >>> c.D.n", 7, "'>>>' is not allowed between methods"},
		{"a.B.m -> c.D.n", 7, "'->' is not allowed between methods"},
		{"a.B.m => c.D.n", 7, "'=>' is not allowed between methods"},
		{"a.B.m >> handle", 10, "the class of the method is missing"},
		{"a.B::new >>  c.D::new(", 23, "must end with )"},
		{"a.B.m > c.D.n(int,  wrong type)", 26, "a blank cannot be part"},
		{"a.B.m > !c.D.n", 9, "cannot exclude methods"},
		{"ä.B.m > c..n", 11, "a name is missing"},
		{"a.B.m(int > c.D.n", 10, "must end with )"},
		{strings.Repeat("a.B.m >> ", 28) + "a.B.m", 28*9 + 1, "more than 28"},
		{strings.Repeat("x", 70000), 1, "longer than"},
	} {
		_, err := pattern.ParseSequence(test.text)
		var bad *pattern.Error
		if !errors.As(err, &bad) {
			t.Errorf("%q: have %v, want an error", test.text, err)
			continue
		}
		if bad.Column() != test.column || !strings.Contains(bad.Error(), test.detail) {
			t.Errorf("%q: have %q, want column %d and %q", test.text, bad, test.column, test.detail)
		}
	}
}

func TestSequenceCaret(t *testing.T) {
	_, err := pattern.ParseSequence("a.B.m\t>>> c.D.n")
	var bad *pattern.Error
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	if want := "a.B.m >>> c.D.n\n      ^"; bad.Caret() != want {
		t.Errorf("have\n%s\nwant\n%s", bad.Caret(), want)
	}
}

// FuzzParse: a sequence that is read prints as one that reads the same; what is
// wrong is within the text.
func FuzzSequence(f *testing.F) {
	for _, text := range []string{
		"a.Web.handle >> b.Order.* > c.Pay.charge >", "a.B.<init>>>c.D.<clinit>>", "**.m( int , .. ) >", ">", "a.b->c.d", "a.b >>>", "ä.b > !c.d",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := pattern.ParseSequence(text)
		if err != nil {
			var bad *pattern.Error
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(bad.Text) || bad.Caret() == "" || strings.Count(bad.Caret(), "\n") != 1 {
				t.Fatalf("%q: error %v", text, err)
			}
			return
		}
		again, err := pattern.ParseSequence(s.String())
		if err != nil {
			t.Fatalf("%q printed as %q: %v", text, s, err)
		}
		if again.String() != s.String() || again.Last != s.Last || len(again.Elements) != len(s.Elements) {
			t.Fatalf("%q printed as %q, then %q", text, s, again)
		}
		for i := range s.Elements {
			if s.Elements[i].Link != again.Elements[i].Link {
				t.Fatalf("%q: link %d became another", text, i)
			}
		}
	})
}
