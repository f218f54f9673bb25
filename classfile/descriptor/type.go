package descriptor

import "strings"

// Type is a valid field descriptor, such as "I", "[[J" or
// "Ljava/lang/String;", or "V" where it is the result of a method. Values come
// from [ParseField], [ParseHuman] and [Method]; the methods of a Type made any
// other way are undefined.
type Type string

// Void is the result of a method that returns nothing.
const Void Type = "V"

// ParseField checks a field descriptor. It does not allocate unless it fails.
func ParseField(s string) (Type, error) {
	p := scanner{kind: "field descriptor", input: s}
	p.checkLength()
	p.fieldType()
	p.end()
	if p.err != nil {
		return "", p.err
	}
	return Type(s), nil
}

// Kind is the first byte: one of "BCDFIJSZV", 'L' for a class, '[' for an
// array.
func (t Type) Kind() byte { return t[0] }

// IsPrimitive reports whether t is a primitive type; void is not.
func (t Type) IsPrimitive() bool {
	return t[0] != 'L' && t[0] != '[' && t[0] != 'V'
}

// IsReference reports whether t is a class or array type.
func (t Type) IsReference() bool { return t[0] == 'L' || t[0] == '[' }

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

// Dimensions is the number of array dimensions, 0 for what is no array.
func (t Type) Dimensions() int {
	n := 0
	for t[n] == '[' {
		n++
	}
	return n
}

// Elem is the component type of an array, t itself for anything else.
func (t Type) Elem() Type {
	if t[0] != '[' {
		return t
	}
	return t[1:]
}

// ClassName is the internal name of a class type, "" for any other type.
func (t Type) ClassName() string {
	if t[0] != 'L' {
		return ""
	}
	return string(t[1 : len(t)-1])
}

// PoolName is the text by which CONSTANT_Class refers to t: the internal name
// of a class, the descriptor itself of an array.
func (t Type) PoolName() string {
	if t[0] == 'L' {
		return t.ClassName()
	}
	return string(t)
}

// Array is the type of arrays with t as component.
func (t Type) Array() Type { return "[" + t }

// String is the descriptor.
func (t Type) String() string { return string(t) }

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
