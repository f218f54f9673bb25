package classtest

import (
	"fmt"
	"strings"
)

// stackMapTable decodes JVMS 4.7.4. The form of each frame is kept in the text:
// a full frame that a shorter one could say is another table.
func (p *parser) stackMapTable(c *cursor, body *body) {
	at := -1
	for n := c.u2(); n > 0; n-- {
		kind := c.u1()
		text := ""
		delta := 0
		switch {
		case kind <= 63:
			delta, text = kind, "same"
		case kind <= 127:
			delta = kind - 64
			text = "same, stack " + p.verificationType(c, body)
		case kind < 247:
			c.at--
			c.fail("frame type %d is reserved", kind)
		case kind == 247:
			delta = c.u2()
			text = "same, extended, stack " + p.verificationType(c, body)
		case kind <= 250:
			delta, text = c.u2(), fmt.Sprint("chop ", 251-kind)
		case kind == 251:
			delta, text = c.u2(), "same, extended"
		case kind <= 254:
			delta = c.u2()
			text = "append " + p.verificationTypes(c, body, kind-251)
		default:
			delta = c.u2()
			locals := p.verificationTypes(c, body, c.u2())
			stack := p.verificationTypes(c, body, c.u2())
			text = "full locals " + locals + " stack " + stack
		}
		at += delta + 1
		p.line("%s %s", body.label(c, at), text)
	}
}

func (p *parser) verificationTypes(c *cursor, body *body, n int) string {
	var types []string
	for range n {
		types = append(types, p.verificationType(c, body))
	}
	return "[" + strings.Join(types, " ") + "]"
}

func (p *parser) verificationType(c *cursor, body *body) string {
	names := []string{"top", "int", "float", "double", "long", "null", "uninitializedThis"}
	switch tag := c.u1(); {
	case tag < len(names):
		return names[tag]
	case tag == 7:
		return p.class(c, c.u2())
	case tag == 8:
		return "new@" + body.label(c, c.u2())
	default:
		c.at--
		c.fail("verification type %d is unknown", tag)
		return ""
	}
}
