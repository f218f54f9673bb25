package classfile

import "unicode/utf8"

// Modified UTF-8 differs from UTF-8 in two points: U+0000 is C0 80, and a rune above
// U+FFFF is a pair of surrogates of three bytes each, as UTF-16 would have it.
// Surrogates may also stand alone.
const (
	surrogateLead  = 0xED // first byte of every surrogate
	surrogateFirst = 0xD800
	surrogateLow   = 0xDC00
	surrogateEnd   = 0xE000
)

// DecodeUtf8 turns the class file's modified UTF-8 into UTF-8. A surrogate that
// stands alone keeps its three bytes, which UTF-8 does not know but [EncodeUtf8]
// does; so do bytes that are not modified UTF-8 at all. EncodeUtf8 thus gives back
// exactly what a well-formed entry held.
func DecodeUtf8(text []byte) string {
	i := 0
	for i < len(text) && text[i] != 0xC0 && text[i] != surrogateLead {
		i++
	}
	if i == len(text) {
		return string(text)
	}
	out := append(make([]byte, 0, len(text)), text[:i]...)
	for i < len(text) {
		switch rest := text[i:]; {
		case len(rest) >= 2 && rest[0] == 0xC0 && rest[1] == 0x80:
			out = append(out, 0)
			i += 2
		case isPair(rest):
			high, low := surrogate(rest), surrogate(rest[3:])
			out = utf8.AppendRune(out, 0x10000+(high-surrogateFirst)<<10+(low-surrogateLow))
			i += 6
		default:
			out = append(out, rest[0])
			i++
		}
	}
	return string(out)
}

// EncodeUtf8 turns UTF-8 into the class file's modified UTF-8.
func EncodeUtf8(text string) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] == 0 {
			out = append(out, 0xC0, 0x80)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if size < 4 {
			out = append(out, text[i:i+size]...)
		} else {
			r -= 0x10000
			out = appendSurrogate(out, surrogateFirst+r>>10)
			out = appendSurrogate(out, surrogateLow+r&0x3FF)
		}
		i += size
	}
	return out
}

// surrogate returns the surrogate that b begins with, or 0.
func surrogate(b []byte) rune {
	if len(b) < 3 || b[0] != surrogateLead || b[1]&0xE0 != 0xA0 || b[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F)
}

func isPair(b []byte) bool {
	high := surrogate(b)
	if high < surrogateFirst || high >= surrogateLow {
		return false
	}
	low := surrogate(b[3:])
	return low >= surrogateLow && low < surrogateEnd
}

func appendSurrogate(out []byte, r rune) []byte {
	return append(out, surrogateLead, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
}
