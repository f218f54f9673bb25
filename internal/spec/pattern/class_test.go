package pattern_test

import (
	"errors"
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

func TestClassPattern(t *testing.T) {
	for _, test := range []struct {
		pattern, class string
		want           bool
	}{
		{"com.acme.Order", "com/acme/Order", true},
		{"com.acme.Order", "com/acme/Order$Item", false},
		{"com.acme.Order.**", "com/acme/Order$Item", true},
		{"com.acme.Order$**", "com/acme/Order", false},
		{"com.acme.*", "com/acme/Order", true},
		{"com.acme.*", "com/acme/dao/Order", false},
		{"com.acme.**", "com/acme/dao/Order", true},
		{" **.*$$* ", "com/acme/Order$$Lambda", true},
		{"**.*$$*", "com/acme/Order$Item", false},
		{"**", "Top", true},
		{"Top", "com/acme/Top", false},
	} {
		pattern, err := pattern.ParseClass(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		if have := pattern.Match(test.class); have != test.want {
			t.Errorf("%s names %s: have %t", pattern, test.class, have)
		}
		if pattern.String() != strings.TrimSpace(test.pattern) {
			t.Errorf("%q is written %q", test.pattern, pattern)
		}
	}
}

func TestClassPatternRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "a class is expected here",
		"com..Order":               "a name is missing here",
		"com.acme.Order(int)":      "'(' cannot be part of a name",
		"!com.acme":                "'!' cannot be part of a name",
		"com.ac**":                 "** stands for whole names",
		"com acme":                 "a blank cannot be part of a name",
		strings.Repeat("a", 70000): "longer than",
	} {
		_, err := pattern.ParseClass(text)
		var bad *pattern.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: have %v, want %q", text, err, want)
		}
	}
}
