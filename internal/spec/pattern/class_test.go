package pattern_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

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
		"":                         "a class should stand here",
		"com/acme/Order":           "write . instead of /",
		"com..Order":               "a name is missing here",
		"com.acme.Order(int)":      "'(' cannot be part of a name",
		"!com.acme":                "'!' cannot be part of a name",
		"com.ac**":                 "** stands for whole names",
		"com acme":                 "a blank cannot be part of a name",
		strings.Repeat("a", 70000): "longer than",
	} {
		_, err := pattern.ParseClass(text)
		var bad *pattern.PatternError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: have %v, want %q", text, err, want)
		}
	}
}
