package classtest

import (
	"fmt"
	"strings"
)

// typeAnnotations decodes JVMS 4.7.20: a target, a path into its type, and then
// an ordinary annotation.
func (p *parser) typeAnnotations(c *cursor, body *body) {
	for n := c.u2(); n > 0; n-- {
		target := p.target(c, body)
		path := p.typePath(c)
		p.line("on %s path %s", target, path)
		p.within(func() { p.annotation(c, "", mostElementNesting) })
	}
}

func (p *parser) target(c *cursor, body *body) string {
	kind := c.u1()
	switch kind {
	case 0x00, 0x01:
		return fmt.Sprintf("%02x type parameter %d", kind, c.u1())
	case 0x10:
		return fmt.Sprintf("%02x supertype %d", kind, c.u2())
	case 0x11, 0x12:
		return fmt.Sprintf("%02x type parameter %d bound %d", kind, c.u1(), c.u1())
	case 0x13, 0x14, 0x15:
		return fmt.Sprintf("%02x", kind)
	case 0x16:
		return fmt.Sprintf("%02x parameter %d", kind, c.u1())
	case 0x17:
		return fmt.Sprintf("%02x throws %d", kind, c.u2())
	}
	if body == nil {
		c.at--
		c.fail("type annotation target %#02x outside a body", kind)
	}
	switch kind {
	case 0x40, 0x41:
		var ranges strings.Builder
		for n := c.u2(); n > 0; n-- {
			start, length, slot := c.u2(), c.u2(), c.u2()
			fmt.Fprintf(&ranges, " [%s,%s) slot %d", body.position(start), body.position(start+length), slot)
		}
		return fmt.Sprintf("%02x variable%s", kind, ranges.String())
	case 0x42:
		return fmt.Sprintf("%02x handler %d", kind, c.u2())
	case 0x43, 0x44, 0x45, 0x46:
		return fmt.Sprintf("%02x at %s", kind, body.position(c.u2()))
	case 0x47, 0x48, 0x49, 0x4A, 0x4B:
		return fmt.Sprintf("%02x at %s argument %d", kind, body.position(c.u2()), c.u1())
	}
	c.at--
	c.fail("unknown type annotation target %#02x", kind)
	return ""
}

func (p *parser) typePath(c *cursor) string {
	n := c.u1()
	if n == 0 {
		return "whole"
	}
	steps := make([]string, n)
	for i := range steps {
		kind, argument := c.u1(), c.u1()
		if kind > 3 {
			c.fail("type path kind %d is unknown", kind)
		}
		steps[i] = []string{"element", "nested", "bound", "argument"}[kind]
		if kind == 3 {
			steps[i] += fmt.Sprint(" ", argument)
		}
	}
	return strings.Join(steps, " / ")
}
