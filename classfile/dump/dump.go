// Package dump writes classes as text, in one canonical form for people, golden files and
// messages. It has names and labels instead of constant pool indices and code offsets,
// so that two texts differ only where the classes do:
//
//	class public super shop/Order
//	  version 61.0
//	  extends java/lang/Object
//	  SourceFile "Order.java"
//
//	method public total (I)I
//	  Code stack 2 locals 2
//	    L0:
//	      line 7
//	      iload 1
//	      ifge L1
//	      iconst_0
//	      ireturn
//	    L1:
//	      line 8
//	      frame locals Lshop/Order; int
//	      iload 1
//	      ireturn
//	    L2:
//	    var 0 this Lshop/Order; L0 to L2
//
// Instructions have one spelling (iload 1, whether the file has iload_1, iload or wide
// iload); frames list all types, whatever their form in the file. A malformed part is
// shown with the reason in its place, followed by the rest of the class.
package dump

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// Options select what to show. The zero value shows everything but offsets.
type Options struct {
	// Method selects methods by name and descriptor: only the class's header and these
	// methods are shown. nil shows the whole class.
	Method func(name, desc string) bool
	// Offsets shows the offset of each instruction before it. Diff ignores it, because
	// offsets would hide the changes.
	Offsets bool
	// NoHeader omits the part about the class as a whole.
	NoHeader bool
}

// Class writes a class. The error is the writer's.
func Class(w io.Writer, c *classfile.Class, opts Options) error {
	p := newPrinter(c, opts)
	out := &unitWriter{w: bufio.NewWriter(w)}
	if !opts.NoHeader {
		p.header()
		out.unit(p.take())
	}
	if opts.Method == nil {
		for i := range c.Fields {
			p.field(&c.Fields[i])
			out.unit(p.take())
		}
	}
	for i := range c.Methods {
		if p.picked(&c.Methods[i]) {
			p.method(&c.Methods[i])
			out.unit(p.take())
		}
	}
	return out.w.Flush()
}

// Method writes one method of a class; opts.Method and opts.NoHeader do not matter.
func Method(w io.Writer, c *classfile.Class, m *classfile.Member, opts Options) error {
	p := newPrinter(c, opts)
	p.method(m)
	out := &unitWriter{w: bufio.NewWriter(w)}
	out.unit(p.take())
	return out.w.Flush()
}

// unitWriter separates units by an empty line. Errors stay with the bufio.Writer
// until Flush.
type unitWriter struct {
	w     *bufio.Writer
	later bool
}

func (u *unitWriter) unit(lines []string) {
	if u.later {
		_ = u.w.WriteByte('\n')
	}
	u.later = true
	for _, line := range lines {
		_, _ = u.w.WriteString(line)
		_ = u.w.WriteByte('\n')
	}
}

// printer turns parts of a class into lines.
type printer struct {
	class      *classfile.Class
	opts       Options
	bootstraps classfile.BootstrapMethods
	lifter     code.Lifter
	lifted     *code.Body // the next body, if it was lifted already, and then
	names      labels     // the names of its labels
	explode    bool       // frames one type a line, for a diff
	lines      []string
	size       int // of the lines
	indent     int
}

func newPrinter(c *classfile.Class, opts Options) *printer {
	p := &printer{class: c, opts: opts}
	if a := c.Find(c.Attributes, classfile.KindBootstrapMethods); a != nil {
		if contents, err := c.Decode(*a); err == nil {
			p.bootstraps = contents.(classfile.BootstrapMethods)
		}
	}
	return p
}

func (p *printer) picked(m *classfile.Member) bool {
	if p.opts.Method == nil {
		return true
	}
	return p.opts.Method(p.rawText(m.Name), p.rawText(m.Descriptor))
}

// rawText is the text of a Utf8 entry, "" where there is none.
func (p *printer) rawText(i uint16) string {
	b, err := p.class.Pool.Utf8(i)
	if err != nil {
		return ""
	}
	return classfile.DecodeUtf8(b)
}

// take returns the lines printed so far and forgets them.
func (p *printer) take() []string {
	lines := p.lines
	p.lines, p.size = nil, 0
	return lines
}

// mostText limits the text of one member, or of the header. A few bytes of a malicious
// class file can produce much text; real ones stay far below.
const mostText = 16 << 20

// deepest limits how deep attributes may nest. The attributes of the specification need
// half of it.
const deepest = 8

func (p *printer) line(format string, args ...any) {
	if p.full() {
		return
	}
	text := strings.Repeat("  ", p.indent) + fmt.Sprintf(format, args...)
	p.lines = append(p.lines, text)
	p.size += len(text)
	if p.full() {
		p.lines = append(p.lines, fmt.Sprintf("<the rest is left out: it takes more than %d MiB>", mostText>>20))
	}
}

func (p *printer) full() bool { return p.size > mostText }

// within indents the output of f.
func (p *printer) within(f func()) {
	p.indent++
	f()
	p.indent--
}

func (p *printer) header() {
	c := p.class
	p.line("class %s%s", classFlags.text(c.Access), p.className(c.This))
	p.within(func() {
		p.line("version %d.%d", c.Major, c.Minor)
		if c.Super != 0 {
			p.line("extends %s", p.className(c.Super))
		}
		for _, i := range c.Interfaces {
			p.line("implements %s", p.className(i))
		}
		p.attributes(c.Attributes)
	})
}

func (p *printer) field(m *classfile.Member) {
	p.line("field %s%s %s", fieldFlags.text(m.Access), p.name(m.Name), p.name(m.Descriptor))
	p.within(func() { p.attributes(m.Attributes) })
}

func (p *printer) method(m *classfile.Member) {
	p.line("method %s%s %s", methodFlags.text(m.Access), p.name(m.Name), p.name(m.Descriptor))
	p.within(func() {
		for _, a := range m.Attributes {
			if p.class.Kind(a.Name) == classfile.KindCode {
				p.code(m, a)
			} else {
				p.attribute(a)
			}
		}
	})
}

// flagNames are the words for the bits of an access mask, from the lowest bit on.
// A bit without a word is shown as a number.
type flagNames [16]string

var (
	classFlags = flagNames{0: "public", 4: "final", 5: "super", 9: "interface", 10: "abstract",
		12: "synthetic", 13: "annotation", 14: "enum", 15: "module"}
	innerFlags = flagNames{0: "public", 1: "private", 2: "protected", 3: "static", 4: "final",
		9: "interface", 10: "abstract", 12: "synthetic", 13: "annotation", 14: "enum"}
	fieldFlags = flagNames{0: "public", 1: "private", 2: "protected", 3: "static", 4: "final",
		6: "volatile", 7: "transient", 12: "synthetic", 14: "enum"}
	methodFlags = flagNames{0: "public", 1: "private", 2: "protected", 3: "static", 4: "final",
		5: "synchronized", 6: "bridge", 7: "varargs", 8: "native", 10: "abstract", 11: "strict", 12: "synthetic"}
	parameterFlags = flagNames{4: "final", 12: "synthetic", 15: "mandated"}
	moduleFlags    = flagNames{5: "open", 12: "synthetic", 15: "mandated"}
	requireFlags   = flagNames{5: "transitive", 6: "static", 12: "synthetic", 15: "mandated"}
	exportFlags    = flagNames{12: "synthetic", 15: "mandated"}
)

// text returns the words for the bits set, each followed by a space.
func (names *flagNames) text(access classfile.Access) string {
	var b strings.Builder
	for bit, name := range names {
		if access>>bit&1 == 0 {
			continue
		}
		if name == "" {
			name = fmt.Sprintf("0x%04x", 1<<bit)
		}
		b.WriteString(name)
		b.WriteByte(' ')
	}
	return b.String()
}

// quote writes modified UTF-8 as a string literal. Invisible characters are escaped: \u
// for a UTF-16 unit, including lone surrogates, \x for bytes that are not text.
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

// plain returns the length of the prefix that needs no escape: most texts are ASCII.
func plain(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(text)
}

// escapeBytes writes bytes that are not UTF-8: a lone surrogate, or else one byte.
func escapeBytes(b *strings.Builder, text string) (size int) {
	if len(text) >= 3 && text[0] == 0xED && text[1]&0xE0 == 0xA0 && text[2]&0xC0 == 0x80 {
		fmt.Fprintf(b, `\u%04x`, 0xD000|rune(text[1]&0x3F)<<6|rune(text[2]&0x3F))
		return 3
	}
	fmt.Fprintf(b, `\x%02x`, text[0])
	return 1
}

// word writes a name without quotes if it cannot be misread, else as a literal.
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

// resolved is word for the result of a lookup in the constant pool.
func resolved(text []byte, err error) string {
	if err != nil {
		return broken(err)
	}
	return word(text)
}

// broken is the text for a part that cannot be shown.
func broken(err error) string { return "<" + err.Error() + ">" }

func (p *printer) name(i uint16) string { return resolved(p.class.Pool.Utf8(i)) }

func (p *printer) className(i uint16) string { return resolved(p.class.Pool.ClassName(i)) }

func (p *printer) moduleName(i uint16) string { return resolved(p.class.Pool.ModuleName(i)) }

func (p *printer) packageName(i uint16) string { return resolved(p.class.Pool.PackageName(i)) }

// orNone writes an index with f, "-" if it is 0.
func orNone(i uint16, f func(uint16) string) string {
	if i == 0 {
		return "-"
	}
	return f(i)
}
