package classfile_test

import (
	"bytes"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

func TestUtf8(t *testing.T) {
	for _, test := range []struct{ modified, plain string }{
		{"", ""},
		{"java/lang/Object", "java/lang/Object"},
		{"caf\u00e9 \u20ac", "caf\u00e9 \u20ac"},
		{"a\xC0\x80b", "a\x00b"},
		{"\xED\xA0\xBD\xED\xB8\x80!", "\U0001F600!"},
		{"\xED\xA0\x80\xED\xB0\x80", "\U00010000"},
		{"\xED\xAF\xBF\xED\xBF\xBF", "\U0010FFFF"},
		{"x\xED\xA0\xBDy", "x\xED\xA0\xBDy"},                               // a high surrogate alone
		{"\xED\xB8\x80\xED\xA0\xBD", "\xED\xB8\x80\xED\xA0\xBD"},           // a pair the wrong way round
		{"\xED\xA0\xBD\xED\xA0\xBD\xED\xB8\x80", "\xED\xA0\xBD\U0001F600"}, // two high ones, one low
		{"\uD7FF\uE000", "\uD7FF\uE000"},                                   // the neighbours of the surrogates
		{"\xED\xA0", "\xED\xA0"},                                           // cut short
		{"\xFF\xC0", "\xFF\xC0"},                                           // no text at all
	} {
		if got := classfile.DecodeUtf8([]byte(test.modified)); got != test.plain {
			t.Errorf("decoding %x gives %x, want %x", test.modified, got, test.plain)
		}
		if got := string(classfile.EncodeUtf8(test.plain)); got != test.modified {
			t.Errorf("encoding %x gives %x, want %x", test.plain, got, test.modified)
		}
	}
}

// FuzzUtf8: what a class file may hold comes back, and so does any Go string that
// is text.
func FuzzUtf8(f *testing.F) {
	f.Add("a\x00\U0001F600\uFFFD")
	f.Add("\xED\xA0\xBD\xED\xB8\x80")
	f.Fuzz(func(t *testing.T, text string) {
		modified := classfile.EncodeUtf8(text)
		if bytes.IndexByte(modified, 0) >= 0 {
			t.Fatalf("%x encodes to %x, with a zero", text, modified)
		}
		again := classfile.EncodeUtf8(classfile.DecodeUtf8(modified))
		if !bytes.Equal(again, modified) {
			t.Fatalf("%x came back as %x", modified, again)
		}
	})
}
