package classtest

import "fmt"

// body is a method's instructions by number; positions in it are written as
// those numbers, so that the size of an instruction does not show.
type body struct {
	number map[int]int // offset of an instruction → its number
	length int
}

// label names a position where an instruction must start.
func (b *body) label(c *cursor, offset int) string {
	n, ok := b.number[offset]
	if !ok {
		c.fail("offset %d is not that of an instruction", offset)
	}
	return fmt.Sprint("L", n)
}

// labelOrEnd also accepts the end of the code.
func (b *body) labelOrEnd(c *cursor, offset int) string {
	if offset == b.length {
		return "end"
	}
	return b.label(c, offset)
}

// position names a place in debugging data, which may be nonsense without harm.
func (b *body) position(offset int) string {
	if offset == b.length {
		return "end"
	}
	if n, ok := b.number[offset]; ok {
		return fmt.Sprint("L", n)
	}
	return fmt.Sprintf("offset %d", offset)
}

// code decodes JVMS 4.7.3.
func (p *parser) code(c *cursor, _ *body) {
	p.line("stack %d locals %d", c.u2(), c.u2())
	length := c.u4()
	if length == 0 || length > 65535 {
		c.at -= 4
		c.fail("a code length of %d is impossible", length)
	}
	instructions := c.part("code", length)
	b := &body{number: map[int]int{}, length: length}
	for !instructions.done() {
		b.number[instructions.at] = len(b.number)
		p.instruction(instructions, nil)
	}
	instructions.at = 0
	for i := 0; !instructions.done(); i++ {
		p.line("L%d: %s", i, p.instruction(instructions, b))
	}
	for n := c.u2(); n > 0; n-- {
		start, end, handler, caught := c.u2(), c.u2(), c.u2(), c.u2()
		if start >= end {
			c.fail("handler range from %d to %d", start, end)
		}
		p.line("handler [%s,%s) at %s for %s", b.label(c, start), b.labelOrEnd(c, end), b.label(c, handler),
			p.classOrNone(c, caught))
	}
	p.attributes(c, inCode, b)
}

func (p *parser) lineNumbers(c *cursor, body *body) {
	for n := c.u2(); n > 0; n-- {
		p.line("%s line %d", body.position(c.u2()), c.u2())
	}
}

// localVariables decodes both tables of variables: one names types by
// descriptors, the other by signatures.
func (p *parser) localVariables(c *cursor, body *body) {
	for n := c.u2(); n > 0; n-- {
		start, length := c.u2(), c.u2()
		p.line("[%s,%s) %s:%s slot %d", body.position(start), body.position(start+length),
			p.quoted(c, c.u2()), p.quoted(c, c.u2()), c.u2())
	}
}
