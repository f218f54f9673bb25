package jfr

import (
	"strings"
	"unicode/utf16"
)

// className brings the name of a class to the form of class files. Only names of
// hidden classes need it, which recordings have as Class.getName does: with dots,
// a mark of their own, and up to JDK 17 a hash.
//
//	java.lang.invoke.LambdaForm$MH+0x00007f2994009400/433287555
//	java.lang.invoke.LambdaForm$MH/0x000000009b045c00
func className(name string) string {
	at := strings.LastIndex(name, "/0x")
	if plus := strings.LastIndex(name, "+0x"); plus >= 0 {
		at = plus
	}
	if at < 0 {
		return name
	}
	mark, _, _ := strings.Cut(name[at+1:], "/")
	return strings.ReplaceAll(name[:at], ".", "/") + "+" + mark
}

func latin1(b []byte) string {
	for _, x := range b {
		if x >= 0x80 {
			runes := make([]rune, len(b))
			for i, x := range b {
				runes[i] = rune(x)
			}
			return string(runes)
		}
	}
	return string(b)
}

func decodeChars(chars []uint16) string { return string(utf16.Decode(chars)) }
