package pattern_test

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

func TestClassBounds(t *testing.T) {
	for _, test := range []struct{ pattern, prefix, suffix string }{
		{"com.acme.Order.pay", "com/acme/Order", ""},
		{"com.acme.Order$Item.pay", "com/acme/Order/Item", ""},
		{"com.acme.*.*", "com/acme/", ""},
		{"com.acme.*Service.run", "com/acme/", "Service"},
		{"com.acme.**", "com/acme", ""},
		{"**.Service.*", "", "Service"},
		{"**.*Dao.find*", "", "Dao"},
		{"com.**.web.*Page.show", "com", "Page"},
		{"**", "", ""},
	} {
		pattern, err := pattern.Parse(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if prefix, suffix := pattern.ClassBounds(); prefix != test.prefix || suffix != test.suffix {
			t.Errorf("%s: have %q and %q, want %q and %q", test.pattern, prefix, suffix, test.prefix, test.suffix)
		}
	}
}

// FuzzClassBounds: what a pattern matches lies within its bounds.
func FuzzClassBounds(f *testing.F) {
	f.Add("com.acme.*Service.run", "com/acme/PayService")
	f.Add("a.**.b$c.*", "a/x/b$c")
	f.Add("**", "A")
	f.Add("a.**.a.m", "a")
	f.Add("*.**.$Proxy1.m", "a/$Proxy1")
	f.Fuzz(func(t *testing.T, text, class string) {
		pattern, err := pattern.Parse(text)
		if err != nil || !pattern.MatchClass(class) {
			return
		}
		prefix, suffix := pattern.ClassBounds()
		name := strings.NewReplacer("$", "/", ".", "/").Replace(class)
		if !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) || len(name) < len(prefix)+len(suffix) {
			t.Errorf("%s matches %s, which is not within %q and %q", text, class, prefix, suffix)
		}
	})
}
