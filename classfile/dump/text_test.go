package dump

import (
	"math"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

func TestQuote(t *testing.T) {
	for _, test := range []struct{ modified, want string }{
		{"", `""`},
		{"say \"hi\"\\", `"say \"hi\"\\"`},
		{"\n\r\t\x01\x7f", `"\n\r\t\u0001\u007f"`},
		{"\xC0\x80", `"\u0000"`},
		{"\u00e9\u200b\u2028", `"é\u200b\u2028"`},
		{"\xED\xA0\xBD\xED\xB8\x80", `"😀"`},
		{"\xED\xAF\xBF\xED\xBF\xBF", `"\U0010ffff"`},
		{"\xED\xA0\xBD!", `"\ud83d!"`},
		{"\xED\xB8\x80", `"\ude00"`},
		{"\xFF\xED\xA0", `"\xff\xed\xa0"`},
	} {
		if got := quote([]byte(test.modified)); got != test.want {
			t.Errorf("%x: %s, want %s", test.modified, got, test.want)
		}
	}
}

func TestWord(t *testing.T) {
	for _, test := range []struct{ modified, want string }{
		{"<init>", "<init>"},
		{"a/b/C$1", "a/b/C$1"},
		{"größe", "größe"},
		{"", `""`},
		{"two words", `"two words"`},
		{`a"b`, `"a\"b"`},
		{"line\nbreak", `"line\nbreak"`},
		{"\xED\xA0\xBD", `"\ud83d"`},
	} {
		if got := word([]byte(test.modified)); got != test.want {
			t.Errorf("%x: %s, want %s", test.modified, got, test.want)
		}
	}
}

func TestNumbersAreExact(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{floatText(0.1), "float 0.1"},
		{floatText(math.MaxFloat32), "float 3.4028235e+38"},
		{floatText(math.SmallestNonzeroFloat32), "float 1e-45"},
		{floatText(float32(math.Inf(-1))), "float -Inf"},
		{floatText(math.Float32frombits(0x7fc00001)), "float NaN 0x7fc00001"},
		{doubleText(math.Copysign(0, -1)), "double -0"},
		{doubleText(1.0 / 3), "double 0.3333333333333333"},
		{doubleText(math.Float64frombits(0xfff8000000000000)), "double NaN 0xfff8000000000000"},
	} {
		if test.got != test.want {
			t.Errorf("%s, want %s", test.got, test.want)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{classFlags.text(0), ""},
		{classFlags.text(0xFFFF), "public 0x0002 0x0004 0x0008 final super 0x0040 0x0080 0x0100 interface abstract 0x0800 synthetic annotation enum module "},
		{methodFlags.text(classfile.AccSynchronized | classfile.AccBridge), "synchronized bridge "},
		{fieldFlags.text(classfile.AccVolatile), "volatile "},
		{requireFlags.text(classfile.AccTransitive | classfile.AccStaticPhase), "transitive static "},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
