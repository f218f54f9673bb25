package dump

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile"
)

// quote writes modified UTF-8 as a string literal. What cannot be seen is escaped:
// \u for a UTF-16 unit, lone surrogates among them, \x for bytes that are no text.
func quote(modified []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	escape(&b, modified)
	b.WriteByte('"')
	return b.String()
}

func escape(b *strings.Builder, modified []byte) {
	for text := classfile.DecodeUtf8(modified); text != ""; {
		if n := plain(text); n > 0 {
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			size = escapeBytes(b, text)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(b, `\U%08x`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
		text = text[size:]
	}
}

// plain is how many bytes text begins with that need no escape: most texts are ASCII.
func plain(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(text)
}

// escapeBytes writes what is not UTF-8: a surrogate that stands alone, else a byte.
func escapeBytes(b *strings.Builder, text string) (size int) {
	if len(text) >= 3 && text[0] == 0xED && text[1]&0xE0 == 0xA0 && text[2]&0xC0 == 0x80 {
		fmt.Fprintf(b, `\u%04x`, 0xD000|rune(text[1]&0x3F)<<6|rune(text[2]&0x3F))
		return 3
	}
	fmt.Fprintf(b, `\x%02x`, text[0])
	return 1
}

// word writes a name bare where that cannot be misread, else as a literal.
func word(modified []byte) string {
	for _, r := range classfile.DecodeUtf8(modified) {
		if r == utf8.RuneError || r == '"' || r == '\\' || r == ' ' || !unicode.IsPrint(r) {
			return quote(modified)
		}
	}
	if len(modified) == 0 {
		return `""`
	}
	return classfile.DecodeUtf8(modified)
}

// resolved is word for what a lookup in the constant pool gave.
func resolved(text []byte, err error) string {
	if err != nil {
		return broken(err)
	}
	return word(text)
}

// broken stands where something should be that cannot be shown.
func broken(err error) string { return "<" + err.Error() + ">" }

func (p *printer) name(i uint16) string { return resolved(p.class.Pool.Utf8(i)) }

func (p *printer) className(i uint16) string { return resolved(p.class.Pool.ClassName(i)) }

func (p *printer) moduleName(i uint16) string { return resolved(p.class.Pool.ModuleName(i)) }

func (p *printer) packageName(i uint16) string { return resolved(p.class.Pool.PackageName(i)) }

// orNone writes an index that may be 0 with its function, "-" where it is.
func orNone(i uint16, f func(uint16) string) string {
	if i == 0 {
		return "-"
	}
	return f(i)
}
