package descriptor

import "strings"

// scanner walks a text from left to right and keeps the first defect it meets;
// after that every step is a no-op, so grammar functions need no error checks
// between their steps.
type scanner struct {
	kind  string
	input string
	pos   int
	err   error
}

func (p *scanner) fail(offset int, detail string) {
	if p.err == nil {
		p.err = &SyntaxError{Kind: p.kind, Input: p.input, Offset: offset, Detail: detail}
	}
}

func (p *scanner) checkLength() {
	if len(p.input) > maxLength {
		p.fail(maxLength, "longer than 65535 bytes")
	}
}

// peek is the byte at the current position, 0 at the end and after a defect.
// A 0 byte in the input is no delimiter either, so callers need not tell the
// two apart.
func (p *scanner) peek() byte {
	if p.err != nil || p.pos >= len(p.input) {
		return 0
	}
	return p.input[p.pos]
}

func (p *scanner) expect(c byte) {
	if p.err != nil {
		return
	}
	if p.pos >= len(p.input) {
		p.fail(p.pos, "ends where '"+string(rune(c))+"' should follow")
		return
	}
	if p.input[p.pos] != c {
		p.fail(p.pos, "'"+string(rune(c))+"' expected")
		return
	}
	p.pos++
}

func (p *scanner) end() {
	if p.err == nil && p.pos != len(p.input) {
		p.fail(p.pos, "text follows the end")
	}
}

// fieldType passes over one field descriptor.
func (p *scanner) fieldType() {
	start := p.pos
	for p.peek() == '[' {
		p.pos++
	}
	if p.pos-start > maxDimensions {
		p.fail(start, "array of more than 255 dimensions")
	}
	switch p.peek() {
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z':
		p.pos++
	case 'L':
		p.pos++
		p.internalName(";")
		p.expect(';')
	case 'V':
		p.fail(p.pos, "void stands where a type is needed")
	default:
		if p.pos >= len(p.input) {
			p.fail(p.pos, "ends where a type should follow")
			return
		}
		p.fail(p.pos, "no type begins here")
	}
}

// internalName passes over identifiers joined by '/', up to one of the stop
// bytes or the end.
func (p *scanner) internalName(stop string) {
	p.identifier(stop + "/")
	for p.peek() == '/' {
		p.pos++
		p.identifier(stop + "/")
	}
}

// identifier passes over a non-empty run of bytes up to one of the stop bytes
// or the end, and refuses the bytes no unqualified name may hold
// (JVMS 4.2.2).
func (p *scanner) identifier(stop string) {
	if p.err != nil {
		return
	}
	start := p.pos
	for ; p.pos < len(p.input); p.pos++ {
		c := p.input[p.pos]
		if strings.IndexByte(stop, c) >= 0 {
			break
		}
		if c == '.' || c == ';' || c == '[' || c == '/' {
			p.fail(p.pos, "'"+string(rune(c))+"' inside a name")
			return
		}
	}
	if p.pos == start {
		p.fail(p.pos, "empty name")
	}
}
