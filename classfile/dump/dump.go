package dump

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// Options say what to show. The zero value shows everything but offsets.
type Options struct {
	// Method picks methods by name and descriptor. With it set, only the class's
	// header and the methods picked are shown; nil shows all.
	Method func(name, desc string) bool
	// Offsets puts the offset of each instruction in front of it. Diff, where they
	// would hide what changed, pays no heed to it.
	Offsets bool
	// NoHeader leaves out what is said of the class as a whole.
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

// take hands over the lines printed so far.
func (p *printer) take() []string {
	lines := p.lines
	p.lines, p.size = nil, 0
	return lines
}

// mostText bounds the text of one member, or of the header. A few bytes of a class
// file can ask for much text, again and again; honest ones stay far below.
const mostText = 16 << 20

// deepest is how far attributes within attributes are followed. Those of the
// specification need half of it.
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

// within indents what f prints.
func (p *printer) within(f func()) {
	p.indent++
	f()
	p.indent--
}
