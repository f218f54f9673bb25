// Package classtest judges class files in tests. It holds a reference parser
// that was written from the Java SE 25 specification, slow and plain, and shares
// no code with package classfile, so that the two can check each other. It also
// has a small builder for class files that javac does not write.
//
// [Describe] decodes everything in a class file and writes it as text in which
// every constant pool reference is resolved and every position in a body is the
// number of an instruction. Two class files with the same text differ at most in
// the layout of their constant pools.
package classtest

import (
	"fmt"
	"strings"
)

//go:generate go run ./zoogen

// Equal answers nil when two class files say the same, however their constant
// pools are laid out; otherwise the first difference with the lines that lead to
// it.
func Equal(a, b []byte) error {
	textA, err := Describe(a)
	if err != nil {
		return fmt.Errorf("first class: %w", err)
	}
	textB, err := Describe(b)
	if err != nil {
		return fmt.Errorf("second class: %w", err)
	}
	if textA == textB {
		return nil
	}
	return firstDifference(strings.Split(textA, "\n"), strings.Split(textB, "\n"))
}

func firstDifference(a, b []string) error {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return fmt.Errorf("line %d differs:\n%s- %s\n+ %s", i+1, enclosing(a, i), lineAt(a, i), lineAt(b, i))
}

// enclosing gives the less indented lines above line i, which say what it is part of.
func enclosing(lines []string, i int) string {
	depth := depthOf(lineAt(lines, i))
	context := ""
	for i--; i >= 0 && depth > 0; i-- {
		if d := depthOf(lines[i]); d < depth {
			context = "  " + lines[i] + "\n" + context
			depth = d
		}
	}
	return context
}

func depthOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}

// parser decodes one class file into text.
type parser struct {
	*pool
	text   strings.Builder
	indent int
	minor  int
	major  int
}

// Describe decodes a class file wholly and returns it as text that does not
// depend on the layout of its constant pool. The error is a *MalformedError.
func Describe(data []byte) (text string, err error) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case *MalformedError:
			text, err = "", problem
		default:
			panic(problem)
		}
	}()
	p := &parser{}
	p.classFile(&cursor{where: "class file", data: data})
	return p.text.String(), nil
}

// mostDescription bounds the whole text: a class may name one long text often.
const mostDescription = 256 << 20

func (p *parser) line(format string, args ...any) {
	if p.text.Len() > mostDescription {
		panic(&MalformedError{"class file", 0, fmt.Sprintf("its description is longer than %d bytes", mostDescription)})
	}
	p.text.WriteString(strings.Repeat("  ", p.indent))
	fmt.Fprintf(&p.text, format, args...)
	p.text.WriteByte('\n')
}

// within indents what f writes.
func (p *parser) within(f func()) {
	p.indent++
	f()
	p.indent--
}

func (p *parser) classFile(c *cursor) {
	if magic := c.u4(); magic != 0xCAFEBABE {
		c.at -= 4
		c.fail("magic number %08x, want cafebabe", magic)
	}
	p.minor, p.major = c.u2(), c.u2()
	p.pool = readPool(c)
	start := c.at
	p.findBootstraps(c)
	c.at = start

	p.line("version %d.%d", p.major, p.minor)
	p.line("access %04x", c.u2())
	p.line("this %s", p.class(c, c.u2()))
	p.line("super %s", p.classOrNone(c, c.u2()))
	for n := c.u2(); n > 0; n-- {
		p.line("implements %s", p.class(c, c.u2()))
	}
	p.members(c, "field", inField)
	p.members(c, "method", inMethod)
	p.attributes(c, inClass, nil)
	c.finish()
	p.checkPool(c)
}

func (p *parser) members(c *cursor, what string, place place) {
	count := c.u2()
	for i := range count {
		p.line("%s %04x %s:%s", what, c.u2(), p.quoted(c, c.u2()), p.quoted(c, c.u2()))
		p.within(func() {
			outer := c.where
			c.where = fmt.Sprintf("%s/%s %d", outer, what, i)
			p.attributes(c, place, nil)
			c.where = outer
		})
	}
}

// findBootstraps reads ahead to the BootstrapMethods attribute, which stands at
// the end of the class but gives meaning to entries used everywhere.
func (p *parser) findBootstraps(c *cursor) {
	c.u2() // access
	c.u2() // this
	c.u2() // super
	c.take(2 * c.u2())
	for range 2 {
		for n := c.u2(); n > 0; n-- {
			c.take(6)
			for m := c.u2(); m > 0; m-- {
				c.u2()
				c.take(c.u4())
			}
		}
	}
	found := false
	for n := c.u2(); n > 0; n-- {
		name := p.utf8(c, c.u2())
		body := c.part(name, c.u4())
		if name != "BootstrapMethods" {
			continue
		}
		if found {
			body.fail("a second BootstrapMethods attribute")
		}
		found = true
		for k := body.u2(); k > 0; k-- {
			method := []int{body.u2()}
			for a := body.u2(); a > 0; a-- {
				method = append(method, body.u2())
			}
			p.bootstraps = append(p.bootstraps, method)
		}
		body.finish()
	}
}

// checkPool resolves every entry, because an unused entry must still be
// well-formed.
func (p *parser) checkPool(c *cursor) {
	for i, e := range p.constants {
		if e.tag != 0 {
			at := &cursor{where: "class file/pool", origin: e.at}
			p.pool.text(at, i)
		}
	}
	for i := range p.bootstraps {
		p.bootstrap(c, i, mostNesting)
	}
}

// MalformedError says where a class file breaks the specification.
type MalformedError struct {
	Where  string // path through the structures, such as "method 2/Code"
	Offset int    // from the start of the class file
	Detail string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", e.Where, e.Offset, e.Detail)
}

// cursor reads big-endian values out of one structure. The parser gives up by
// panicking with a *MalformedError, which Describe catches: each decoder reads
// like the layout it decodes.
type cursor struct {
	where  string
	data   []byte
	at     int
	origin int // offset of data[0] in the class file
}

func (c *cursor) fail(format string, args ...any) {
	panic(&MalformedError{c.where, c.origin + c.at, fmt.Sprintf(format, args...)})
}

func (c *cursor) take(n int) []byte {
	if n > len(c.data)-c.at {
		c.fail("%d bytes wanted, %d left", n, len(c.data)-c.at)
	}
	taken := c.data[c.at : c.at+n]
	c.at += n
	return taken
}

func (c *cursor) u1() int { return int(c.take(1)[0]) }

func (c *cursor) u2() int {
	b := c.take(2)
	return int(b[0])<<8 | int(b[1])
}

func (c *cursor) u4() int {
	b := c.take(4)
	return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])
}

func (c *cursor) s1() int { return int(int8(c.u1())) }
func (c *cursor) s2() int { return int(int16(c.u2())) }
func (c *cursor) s4() int { return int(int32(c.u4())) }

// part cuts off the next n bytes as a structure of its own.
func (c *cursor) part(name string, n int) *cursor {
	origin := c.origin + c.at
	return &cursor{where: c.where + "/" + name, data: c.take(n), origin: origin}
}

func (c *cursor) done() bool { return c.at == len(c.data) }

// finish insists that a declared length was the true one.
func (c *cursor) finish() {
	if !c.done() {
		c.fail("%d bytes left over", len(c.data)-c.at)
	}
}
