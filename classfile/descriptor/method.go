package descriptor

import (
	"iter"
	"strings"
)

// Method is a valid method descriptor, such as
// "(ILjava/lang/String;)V". The zero Method is not valid.
type Method struct {
	text  string
	close int // position of the ')'
	slots int
}

// ParseMethod checks a method descriptor. It does not allocate unless it
// fails.
func ParseMethod(s string) (Method, error) {
	p := scanner{kind: "method descriptor", input: s}
	p.checkLength()
	p.expect('(')
	slots := 0
	for p.err == nil && p.peek() != ')' {
		start := p.pos
		p.fieldType()
		if p.err != nil {
			break
		}
		if slots += Type(s[start:p.pos]).Slots(); slots > maxArgumentSlots {
			p.fail(start, "parameters take more than 255 slots")
		}
	}
	closing := p.pos
	p.expect(')')
	if p.peek() == 'V' {
		p.pos++
	} else {
		p.fieldType()
	}
	p.end()
	if p.err != nil {
		return Method{}, p.err
	}
	return Method{text: s, close: closing, slots: slots}, nil
}

// String is the descriptor.
func (m Method) String() string { return m.text }

// Slots is how many local-variable slots the parameters take, `this` not
// counted.
func (m Method) Slots() int { return m.slots }

// Return is the type of the result.
func (m Method) Return() Type { return Type(m.text[m.close+1:]) }

// Params yields each parameter type with its index, from 0.
func (m Method) Params() iter.Seq2[int, Type] {
	return func(yield func(int, Type) bool) {
		rest := m.text[1:m.close]
		for i := 0; rest != ""; i++ {
			n := typeLength(rest)
			if !yield(i, Type(rest[:n])) {
				return
			}
			rest = rest[n:]
		}
	}
}

// NumParams is the number of parameters.
func (m Method) NumParams() int {
	n := 0
	for range m.Params() {
		n++
	}
	return n
}

// Human is the parameter list as a Java programmer writes it, then the result:
// "(int, java.lang.String): void".
func (m Method) Human() string {
	var b strings.Builder
	b.WriteByte('(')
	for i, t := range m.Params() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.Human())
	}
	b.WriteString("): ")
	b.WriteString(m.Return().Human())
	return b.String()
}

// typeLength is the length of the valid field descriptor s begins with.
func typeLength(s string) int {
	n := 0
	for s[n] == '[' {
		n++
	}
	if s[n] == 'L' {
		return n + strings.IndexByte(s[n:], ';') + 1
	}
	return n + 1
}
