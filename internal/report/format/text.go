package format

import (
	"strings"
	"unicode"
)

// Printable takes from a name what could steer a terminal: class files may call a
// method anything, and processes call themselves what they like.
func Printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// Line writes a value of a program on one line. A question mark may be its own, so what
// cannot be shown is written as what Unicode has for it.
func Line(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, value)
}

// Cut is a text in so many columns at most, its end left out where it is longer.
func Cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:max(0, width-1)]) + "…"
}
