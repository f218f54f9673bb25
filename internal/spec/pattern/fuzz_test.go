package pattern

import (
	"errors"
	"testing"
)

// FuzzPattern holds that a pattern parses to one that prints and matches the
// same after parsing again, or to a PatternError that points into it; and that
// an exclusion matches what the pattern without its "!" does.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		"com.acme.Order.pay", "com.acme.**", "**.Service.*(java.lang.String,int)", "!a.B$C.<init>(..):void",
		"**", "a.**.b$**.c*d", "x(", "a.b:int[]", "$.x", "a$.b", "**(*[], ..)",
	} {
		f.Add(p, "com/acme/Order$Item", "pay", "(Ljava/lang/String;[I)V")
	}
	f.Fuzz(func(t *testing.T, text, class, name, desc string) {
		p, err := Parse(text)
		if err != nil {
			var bad *PatternError
			if !errors.As(err, &bad) || bad.Offset > len(bad.Pattern) || bad.Caret() == "" {
				t.Fatalf("%q: error %v", text, err)
			}
			return
		}
		again, err := Parse(p.String())
		if err != nil {
			t.Fatalf("%q printed as %q: %v", text, p, err)
		}
		if again.String() != p.String() {
			t.Errorf("%q printed as %q, then %q", text, p, again)
		}
		matched := p.Match(class, name, desc)
		if again.Match(class, name, desc) != matched {
			t.Errorf("%q and its print %q match differently", text, again)
		}
		if all, _ := Parse("**"); p.Excludes() {
			set, err := NewSet(all, p)
			if err != nil {
				t.Fatal(err)
			}
			if set.Match(class, name, desc) == matched {
				t.Errorf("exclusion %q: in the set %t though it matches %t", text, !matched, matched)
			}
		}
	})
}
