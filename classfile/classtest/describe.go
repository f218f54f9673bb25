package classtest

import (
	"fmt"
	"strings"
)

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

// checkPool resolves every entry, since one that nothing uses must still be
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
