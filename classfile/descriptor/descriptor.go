// Package descriptor reads the names, descriptors and generic signatures of
// class files.
//
//	FieldType        = BaseType | "L" InternalName ";" | "[" FieldType .
//	MethodDescriptor = "(" { FieldType } ")" ( FieldType | "V" ) .
//
// Descriptors are not copied: a [Type] or [Method] is a checked
// piece of the input string, so that parsing it allocates nothing. Signatures
// (JVMS 4.7.9.1) are reduced to erasures with their type arguments.
//
// Names are bytes in modified UTF-8 and are not decoded: this package looks
// only for ASCII delimiters, which are never part of a multi-byte character.
package descriptor

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"unsafe"
)

// Type is a valid field descriptor, such as "I", "[[J" or
// "Ljava/lang/String;", or "V" where it is the result of a method. Values come
// from [Method] and [Generic]; the methods of a Type made any other way are undefined.
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
// fails. Names inside L…; are only checked for being there.
func ParseMethod(s string) (Method, error) {
	closing, _, defect := scan(unsafe.Slice(unsafe.StringData(s), len(s)))
	if defect >= 0 {
		return Method{}, &SyntaxError{Kind: "method descriptor", Input: s, Offset: defect, Detail: "malformed"}
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
// the descriptor.
func ArgSlots(desc []byte) (slots int, ret byte, ok bool) {
	closing, slots, defect := scan(desc)
	if defect >= 0 {
		return 0, 0, false
	}
	return slots, desc[closing+1], true
}

// scan returns the position of the ')' of a method descriptor and how many slots its
// parameters take, or the offset of its first defect, which is -1 otherwise.
func scan(desc []byte) (closing, slots, defect int) {
	if len(desc) == 0 || desc[0] != '(' {
		return 0, 0, 0
	}
	pos := 1
	for pos < len(desc) && desc[pos] != ')' {
		slots++
		if desc[pos] == 'J' || desc[pos] == 'D' {
			slots++
		}
		next := skipField(desc, pos)
		if next < 0 || slots > maxArgumentSlots {
			return 0, 0, pos
		}
		pos = next
	}
	result := pos + 1
	if result >= len(desc) {
		return 0, 0, len(desc)
	}
	end := result + 1
	if desc[result] != 'V' {
		end = skipField(desc, result)
	}
	if end != len(desc) {
		return 0, 0, max(end, result)
	}
	return pos, slots, -1
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

// ExternalName turns the internal name of a class, a/b/C, into the one
// programmers use, a.b.C. A '$' is kept, as only the class file shows whether it
// separates a nested class.
func ExternalName(internal string) string { return strings.ReplaceAll(internal, "/", ".") }

// InternalName is the inverse of [ExternalName].
func InternalName(external string) string { return strings.ReplaceAll(external, ".", "/") }

// PackageOf returns the package of an internal name; "" for the unnamed one.
func PackageOf(internal string) string {
	return internal[:max(0, strings.LastIndexByte(internal, '/'))]
}

// PrimitiveLetter returns the descriptor of a primitive type, or of void, by its keyword; 0
// for other names.
func PrimitiveLetter(keyword string) byte {
	for c := byte('B'); c <= 'Z'; c++ {
		if keyword != "" && primitiveNames[c] == keyword {
			return c
		}
	}
	return 0
}
