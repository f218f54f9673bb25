package classtest

import "strings"

// mostElementNesting bounds annotations within annotations; javac stops far below.
const mostElementNesting = 200

func (p *parser) annotations(c *cursor, _ *body) {
	for n := c.u2(); n > 0; n-- {
		p.annotation(c, "", mostElementNesting)
	}
}

// parameterAnnotations keeps one line per parameter, since a parameter without
// annotations still counts.
func (p *parser) parameterAnnotations(c *cursor, _ *body) {
	for i := range c.u1() {
		p.line("parameter %d", i)
		p.within(func() { p.annotations(c, nil) })
	}
}

func (p *parser) annotationDefault(c *cursor, _ *body) {
	p.elementValue(c, "", mostElementNesting)
}

func (p *parser) annotation(c *cursor, prefix string, depth int) {
	p.line("%s@%s", prefix, p.quoted(c, c.u2()))
	p.within(func() {
		for n := c.u2(); n > 0; n-- {
			p.elementValue(c, p.quoted(c, c.u2())+" = ", depth)
		}
	})
}

// elementValue decodes JVMS 4.7.16.1.
func (p *parser) elementValue(c *cursor, prefix string, depth int) {
	if depth == 0 {
		c.fail("annotation values nest deeper than %d", mostElementNesting)
	}
	kind := c.u1()
	switch {
	case strings.IndexByte("BCISZ", byte(kind)) >= 0:
		p.line("%s%c %s", prefix, kind, p.pool.text(c, c.u2(), tagInteger))
	case kind == 'D':
		p.line("%sD %s", prefix, p.pool.text(c, c.u2(), tagDouble))
	case kind == 'F':
		p.line("%sF %s", prefix, p.pool.text(c, c.u2(), tagFloat))
	case kind == 'J':
		p.line("%sJ %s", prefix, p.pool.text(c, c.u2(), tagLong))
	case kind == 's':
		p.line("%ss %s", prefix, p.quoted(c, c.u2()))
	case kind == 'e':
		p.line("%senum %s.%s", prefix, p.quoted(c, c.u2()), p.quoted(c, c.u2()))
	case kind == 'c':
		p.line("%sclass %s", prefix, p.quoted(c, c.u2()))
	case kind == '@':
		p.annotation(c, prefix, depth-1)
	case kind == '[':
		n := c.u2()
		p.line("%sarray of %d", prefix, n)
		p.within(func() {
			for range n {
				p.elementValue(c, "", depth-1)
			}
		})
	default:
		c.at--
		c.fail("an annotation value cannot be of kind %#02x", kind)
	}
}
