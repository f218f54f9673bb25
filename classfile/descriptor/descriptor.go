// Package descriptor reads the names, descriptors and generic signatures of
// class files.
//
//	FieldType        = BaseType | "L" InternalName ";" | "[" FieldType .
//	MethodDescriptor = "(" { FieldType } ")" ( FieldType | "V" ) .
//
// Descriptors stay the strings they are: a [Type] or [Method] is a checked
// piece of the input, so that taking one apart allocates nothing. Signatures
// (JVMS 4.7.9.1) are trees that callers can walk.
//
// Names are bytes in modified UTF-8, taken as they stand: this package looks
// only at the ASCII delimiters, which no longer encoding contains.
package descriptor

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
)

// Type is a valid field descriptor, such as "I", "[[J" or
// "Ljava/lang/String;", or "V" where it is the result of a method. Values come
// from [ParseHuman] and [Method]; the methods of a Type made any
// other way are undefined.
type Type string

// Void is the result of a method that returns nothing.
const Void Type = "V"

// Kind is the first byte: one of "BCDFIJSZV", 'L' for a class, '[' for an
// array.
func (t Type) Kind() byte { return t[0] }

// Slots is how many local-variable or operand-stack slots a value takes.
func (t Type) Slots() int {
	switch t[0] {
	case 'V':
		return 0
	case 'J', 'D':
		return 2
	}
	return 1
}

// Dimensions is the number of array dimensions, 0 for other types.
func (t Type) Dimensions() int {
	n := 0
	for t[n] == '[' {
		n++
	}
	return n
}

// ClassName is the internal name of a class type, "" for any other type.
func (t Type) ClassName() string {
	if t[0] != 'L' {
		return ""
	}
	return string(t[1 : len(t)-1])
}

// Human is the type as a Java programmer writes it: java.lang.String, int[].
func (t Type) Human() string {
	n := t.Dimensions()
	base := t[n:]
	name := primitiveNames[base[0]]
	if base[0] == 'L' {
		name = ExternalName(base.ClassName())
	}
	if n == 0 {
		return name
	}
	return name + strings.Repeat("[]", n)
}

// primitiveNames maps the letter of a primitive type, or V, to its keyword.
var primitiveNames = [256]string{
	'B': "byte", 'C': "char", 'D': "double", 'F': "float", 'I': "int",
	'J': "long", 'S': "short", 'Z': "boolean", 'V': "void",
}

// Method is a valid method descriptor, such as
// "(ILjava/lang/String;)V". The zero Method is not valid.
type Method struct {
	text  string
	close int // position of the ')'
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
	return Method{text: s, close: closing}, nil
}

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

// EachArgument calls f with the descriptor of each argument of a method. It
// allocates nothing for a well-formed descriptor.
func EachArgument(desc []byte, f func(field []byte)) error {
	at := 1
	for at > 0 && at < len(desc) && desc[at] != ')' {
		next := skipField(desc, at)
		if next > 0 {
			f(desc[at:next])
		}
		at = next
	}
	if at < 0 || at >= len(desc) || desc[0] != '(' {
		return &SyntaxError{Kind: "method descriptor", Input: string(desc), Detail: "malformed"}
	}
	return nil
}

// maxDimensions is the deepest array type a descriptor may name (JVMS 4.3.2).
const maxDimensions = 255

// maxArgumentSlots bounds the parameters of a method, `this` included
// (JVMS 4.3.3); long and double count twice.
const maxArgumentSlots = 255

// ArgSlots returns how many local-variable slots the parameters of a method
// descriptor take, `this` not counted, and the first byte of its return
// descriptor: one of "BCDFIJSZV", 'L' or '['.
//
// It is the fast path for code that meets a descriptor per instruction: no
// allocation, one pass. ok is false exactly when [ParseMethod] would refuse
// the descriptor, except that names inside L…; are only checked for being
// there.
func ArgSlots(desc []byte) (slots int, ret byte, ok bool) {
	if len(desc) < 3 || desc[0] != '(' {
		return 0, 0, false
	}
	pos := 1
	for pos < len(desc) && desc[pos] != ')' {
		size := 1
		if desc[pos] == 'J' || desc[pos] == 'D' {
			size = 2
		}
		next := skipField(desc, pos)
		if next < 0 {
			return 0, 0, false
		}
		slots += size
		pos = next
	}
	pos++
	if pos >= len(desc) || slots > maxArgumentSlots {
		return 0, 0, false
	}
	ret = desc[pos]
	if ret == 'V' {
		return slots, ret, pos+1 == len(desc)
	}
	return slots, ret, skipField(desc, pos) == len(desc)
}

// skipField returns the position after the field descriptor at pos, or -1
// where none stands.
func skipField(desc []byte, pos int) int {
	first := pos
	for pos < len(desc) && desc[pos] == '[' {
		pos++
	}
	if pos == len(desc) || pos-first > maxDimensions {
		return -1
	}
	switch desc[pos] {
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z':
		return pos + 1
	case 'L':
		end := bytes.IndexByte(desc[pos:], ';')
		if end < 2 {
			return -1
		}
		return pos + end + 1
	}
	return -1
}

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
// A 0 byte in the input is no delimiter either, so callers need not distinguish the two.
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

// maxLength is the longest text a CONSTANT_Utf8 can hold. Refusing longer
// input bounds the depth of every recursion in this package.
const maxLength = 65535

// SyntaxError says why a text is not the descriptor, name or signature it
// should be.
type SyntaxError struct {
	Kind   string // what was parsed: "method descriptor", "class signature", …
	Input  string
	Offset int // byte of Input at which the defect was seen
	Detail string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s %s: offset %d: %s", e.Kind, shorten(e.Input), e.Offset, e.Detail)
}

// shorten quotes a text for an error message, keeping the message one line of
// reasonable length whatever the input.
func shorten(s string) string {
	const longest = 120
	if len(s) <= longest {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:longest], len(s))
}
