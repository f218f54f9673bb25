package descriptor

// The model of generic signatures (JVMS 4.7.9.1):
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

// MethodSignature is the generic form of a method declaration.
type MethodSignature struct {
	TypeParams []TypeParam
	Params     []SigType
	Return     SigType
	Throws     []SigType // Kind 'L' or 'T'
}

// TypeParam declares a type variable with its bounds.
type TypeParam struct {
	Name            string
	ClassBound      *SigType // nil where only interfaces bound the variable
	InterfaceBounds []SigType
}

// SigType is a type in a signature. Kind says which fields hold: a letter of
// "BCDFIJSZ" or 'V' alone; 'T' with Name, a type variable; '[' with Elem, an
// array; 'L' with Classes, a class.
type SigType struct {
	Kind    byte
	Name    string
	Elem    *SigType
	Classes []SigClass // outermost first; never empty for Kind 'L'
}

// SigClass is one class of a class type: the outermost with its package,
// a/b/C, then each member class with its simple name.
type SigClass struct {
	Name string
	Args []TypeArg
}

// TypeArg is an argument of a class type. Wildcard is 0 for the type itself,
// '+' for "? extends", '-' for "? super", '*' for "?" alone, which has no
// type.
type TypeArg struct {
	Wildcard byte
	Type     SigType
}

// stopSignature are the bytes that end an identifier inside a signature.
const stopSignature = ".;[/<>:"

// ParseMethodSignature reads the Signature of a method.
func ParseMethodSignature(s string) (*MethodSignature, error) {
	p := scanner{kind: "method signature", input: s}
	p.checkLength()
	var m MethodSignature
	m.TypeParams = p.typeParams()
	p.expect('(')
	for p.err == nil && p.peek() != ')' {
		m.Params = append(m.Params, p.sigType(false))
	}
	p.expect(')')
	if p.peek() == 'V' {
		p.pos++
		m.Return = SigType{Kind: 'V'}
	} else {
		m.Return = p.sigType(false)
	}
	for p.peek() == '^' {
		p.pos++
		if p.peek() == '[' {
			p.fail(p.pos, "an array cannot be thrown")
		}
		m.Throws = append(m.Throws, p.sigType(true))
	}
	p.end()
	if p.err != nil {
		return nil, p.err
	}
	return &m, nil
}

// ParseFieldSignature reads the Signature of a field, record component or
// local variable.
func ParseFieldSignature(s string) (SigType, error) {
	p := scanner{kind: "field signature", input: s}
	p.checkLength()
	t := p.sigType(true)
	p.end()
	if p.err != nil {
		return SigType{}, p.err
	}
	return t, nil
}

func (p *scanner) typeParams() []TypeParam {
	if p.peek() != '<' {
		return nil
	}
	p.pos++
	var params []TypeParam
	for p.err == nil && (len(params) == 0 || p.peek() != '>') {
		params = append(params, p.typeParam())
	}
	p.expect('>')
	return params
}

func (p *scanner) typeParam() TypeParam {
	t := TypeParam{Name: p.sigIdentifier()}
	p.expect(':')
	if c := p.peek(); c == 'L' || c == 'T' || c == '[' {
		bound := p.sigType(true)
		t.ClassBound = &bound
	}
	for p.peek() == ':' {
		p.pos++
		t.InterfaceBounds = append(t.InterfaceBounds, p.sigType(true))
	}
	return t
}

// sigType reads one type, refusing primitives where only references may stand.
func (p *scanner) sigType(reference bool) SigType {
	switch c := p.peek(); c {
	case 'L':
		return p.sigClassType()
	case 'T':
		p.pos++
		name := p.sigIdentifier()
		p.expect(';')
		return SigType{Kind: 'T', Name: name}
	case '[':
		return p.sigArray()
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z':
		if reference {
			p.fail(p.pos, "primitive type where a reference type is needed")
		}
		p.pos++
		return SigType{Kind: c}
	}
	if p.pos >= len(p.input) {
		p.fail(p.pos, "ends where a type should follow")
	}
	p.fail(p.pos, "no type begins here")
	return SigType{}
}

// sigArray counts dimensions in a loop, so that depth costs no stack.
func (p *scanner) sigArray() SigType {
	start := p.pos
	for p.peek() == '[' {
		p.pos++
	}
	dims := p.pos - start
	if dims > maxDimensions {
		p.fail(start, "array of more than 255 dimensions")
		return SigType{}
	}
	t := p.sigType(false)
	for range dims {
		elem := t
		t = SigType{Kind: '[', Elem: &elem}
	}
	return t
}

func (p *scanner) sigClassType() SigType {
	p.expect('L')
	start := p.pos
	p.sigIdentifier()
	for p.peek() == '/' {
		p.pos++
		p.sigIdentifier()
	}
	t := SigType{Kind: 'L', Classes: []SigClass{{Name: p.input[start:p.pos], Args: p.typeArgs()}}}
	for p.peek() == '.' {
		p.pos++
		t.Classes = append(t.Classes, SigClass{Name: p.sigIdentifier(), Args: p.typeArgs()})
	}
	p.expect(';')
	return t
}

func (p *scanner) typeArgs() []TypeArg {
	if p.peek() != '<' {
		return nil
	}
	p.pos++
	var args []TypeArg
	for p.err == nil && (len(args) == 0 || p.peek() != '>') {
		args = append(args, p.typeArg())
	}
	p.expect('>')
	return args
}

func (p *scanner) typeArg() TypeArg {
	switch c := p.peek(); c {
	case '*':
		p.pos++
		return TypeArg{Wildcard: c}
	case '+', '-':
		p.pos++
		return TypeArg{Wildcard: c, Type: p.sigType(true)}
	}
	return TypeArg{Type: p.sigType(true)}
}

func (p *scanner) sigIdentifier() string {
	start := p.pos
	p.identifier(stopSignature)
	if p.err != nil {
		return ""
	}
	return p.input[start:p.pos]
}
