package descriptor

import "strings"

// The grammar of generic signatures (JVMS 4.7.9.1):
//
//	MethodSignature = [TypeParams] "(" { JavaType } ")" ( JavaType | "V" ) { "^" ( ClassType | TypeVar ) } .
//	FieldSignature  = ClassType | TypeVar | ArrayType .
//	TypeParams      = "<" TypeParam { TypeParam } ">" .
//	TypeParam       = Identifier ":" [RefType] { ":" RefType } .
//	ClassType       = "L" { Identifier "/" } Simple { "." Simple } ";" .
//	Simple          = Identifier [ "<" TypeArg { TypeArg } ">" ] .
//	TypeArg         = "*" | [ "+" | "-" ] RefType .
//	TypeVar         = "T" Identifier ";" .
//	ArrayType       = "[" JavaType .

// Generic is a type in a signature. Bounds of type variables are not resolved: the erasure
// of a variable, and of an argument without an upper bound, is Object.
type Generic struct {
	Erased Type
	Args   []Generic // of the class, or of the class of the array's elements
}

const object Type = "Ljava/lang/Object;"

// ParseMethodSignature reads the types of the parameters and of the result from the
// Signature of a method.
func ParseMethodSignature(s string) (params []Generic, result Generic, err error) {
	p := newScanner("method signature", s)
	p.typeParams()
	p.expect('(')
	for p.err == nil && p.peek() != ')' {
		params = append(params, p.sigType(false))
	}
	p.expect(')')
	if p.accept('V') {
		result.Erased = Void
	} else {
		result = p.sigType(false)
	}
	for p.accept('^') {
		if p.peek() == '[' {
			p.fail(p.pos, "an array cannot be thrown")
		}
		p.sigType(true)
	}
	p.end()
	return params, result, p.err
}

// ParseFieldSignature reads the Signature of a field, record component or
// local variable.
func ParseFieldSignature(s string) (Generic, error) {
	p := newScanner("field signature", s)
	t := p.sigType(true)
	p.end()
	return t, p.err
}

// typeParams passes over the declarations of type variables.
func (p *scanner) typeParams() {
	if !p.accept('<') {
		return
	}
	for first := true; p.err == nil && (first || p.peek() != '>'); first = false {
		p.identifier()
		p.expect(':')
		if c := p.peek(); c == 'L' || c == 'T' || c == '[' {
			p.sigType(true)
		}
		for p.accept(':') {
			p.sigType(true)
		}
	}
	p.expect('>')
}

// sigType reads one type, refusing primitives where only references may stand.
func (p *scanner) sigType(reference bool) Generic {
	switch c := p.peek(); c {
	case 'L':
		return p.classType()
	case 'T':
		p.pos++
		p.identifier()
		p.expect(';')
		return Generic{Erased: object}
	case '[':
		return p.arrayType()
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z':
		if reference {
			p.fail(p.pos, "primitive type where a reference type is needed")
		}
		p.pos++
		return Generic{Erased: Type(c)}
	}
	p.fail(p.pos, "no type begins here")
	return Generic{}
}

// arrayType counts dimensions in a loop, so that depth costs no stack.
func (p *scanner) arrayType() Generic {
	start := p.pos
	for p.accept('[') {
	}
	dims := p.pos - start
	if dims > maxDimensions {
		p.fail(start, "array of more than 255 dimensions")
	}
	t := p.sigType(false)
	t.Erased = Type(strings.Repeat("[", dims)) + t.Erased
	return t
}

func (p *scanner) classType() Generic {
	start := p.pos
	p.expect('L')
	p.identifier()
	for p.accept('/') {
		p.identifier()
	}
	t := Generic{Erased: Type(p.input[start:p.pos]), Args: p.typeArgs()}
	for p.accept('.') {
		start := p.pos
		p.identifier()
		t.Erased += "$" + Type(p.input[start:p.pos])
		t.Args = p.typeArgs()
	}
	p.expect(';')
	t.Erased += ";"
	return t
}

func (p *scanner) typeArgs() []Generic {
	if !p.accept('<') {
		return nil
	}
	var args []Generic
	for p.err == nil && (len(args) == 0 || p.peek() != '>') {
		switch {
		case p.accept('*'):
			args = append(args, Generic{Erased: object})
		case p.accept('-'):
			p.sigType(true)
			args = append(args, Generic{Erased: object})
		default:
			p.accept('+')
			args = append(args, p.sigType(true))
		}
	}
	p.expect('>')
	return args
}

// scanner walks a signature from left to right and keeps the first defect it meets;
// after that every step is a no-op, so grammar functions need no error checks
// between their steps.
type scanner struct {
	kind  string
	input string
	pos   int
	err   error
}

// maxLength is the longest text a CONSTANT_Utf8 can hold. Refusing longer
// signatures bounds the depth of the recursion.
const maxLength = 65535

func newScanner(kind, input string) *scanner {
	p := &scanner{kind: kind, input: input}
	if len(input) > maxLength {
		p.fail(maxLength, "longer than 65535 bytes")
	}
	return p
}

func (p *scanner) fail(offset int, detail string) {
	if p.err == nil {
		p.err = &SyntaxError{Kind: p.kind, Input: p.input, Offset: offset, Detail: detail}
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

// accept passes over c if it comes next, and reports whether it did.
func (p *scanner) accept(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.pos++
	return true
}

func (p *scanner) expect(c byte) {
	if !p.accept(c) {
		p.fail(p.pos, "'"+string(rune(c))+"' expected")
	}
}

func (p *scanner) end() {
	if p.pos != len(p.input) {
		p.fail(p.pos, "text follows the end")
	}
}

// identifier passes over a name that is not empty.
func (p *scanner) identifier() {
	if p.err != nil {
		return
	}
	start := p.pos
	if n := strings.IndexAny(p.input[start:], ".;[/<>:"); n >= 0 {
		p.pos += n
	} else {
		p.pos = len(p.input)
	}
	if p.pos == start {
		p.fail(p.pos, "empty name")
	}
}
