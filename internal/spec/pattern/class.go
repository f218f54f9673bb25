package pattern

// ClassPattern picks classes by name: what stands before the method in a
// [Pattern], as in com.acme.Order, com.acme.dao.** or **.*Controller. It is
// immutable and matching allocates nothing.
type ClassPattern struct {
	text     string
	segments []segment
}

// ParseClass reads the pattern of a class. The error is a [PatternError].
func ParseClass(text string) (*ClassPattern, error) {
	p := parser{text: removeBlanks(text)}
	pattern := p.class()
	if p.err != nil {
		return nil, p.err
	}
	return pattern, nil
}

func (p *parser) class() *ClassPattern {
	if len(p.text) > maxPattern {
		p.text = p.text[:40] + "…"
		p.fail(0, "longer than 65535 bytes")
		return nil
	}
	if p.text == "" {
		p.fail(0, "a class should stand here, as in com.acme.Order or com.acme.**")
		return nil
	}
	return &ClassPattern{text: p.text, segments: p.segments(0, len(p.text))}
}

// String is the pattern as it was written, blanks removed.
func (c *ClassPattern) String() string { return c.text }

// Match reports whether the pattern names the class with this internal name,
// such as com/acme/Order$Item.
func (c *ClassPattern) Match(internalName string) bool { return matchName(c.segments, internalName) }
