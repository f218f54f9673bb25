package classfile

import (
	"cmp"
	"strings"
)

// MethodRef names a method by its class, name and descriptor. It is comparable, so it
// can be the key of a map.
type MethodRef struct {
	Class      string // internal name, with slashes: java/lang/String
	Name       string
	Descriptor string
}

// ParseMethodRef reads class.name(descriptor), with the packages of the class separated
// by dots, as [MethodRef.String] writes them, or by slashes. It reports whether text has
// that form.
func ParseMethodRef(text string) (MethodRef, bool) {
	// A method's name may contain a parenthesis, but neither a dot nor a slash.
	paren := strings.LastIndexByte(text, '(')
	dot := strings.LastIndexByte(text[:max(paren, 0)], '.')
	if dot <= 0 {
		return MethodRef{}, false
	}
	return MethodRef{
		Class:      strings.ReplaceAll(text[:dot], ".", "/"),
		Name:       text[dot+1 : paren],
		Descriptor: text[paren:],
	}, true
}

// String returns the method as users see it: java.lang.String.indexOf(I)I.
func (m MethodRef) String() string { return m.ClassName() + "." + m.Name + m.Descriptor }

// ClassName returns the name of the class as users see it: java.lang.String.
func (m MethodRef) ClassName() string { return strings.ReplaceAll(m.Class, "/", ".") }

// QualifiedName returns class and name as users see them: java.lang.String.length.
func (m MethodRef) QualifiedName() string { return m.ClassName() + "." + m.Name }

// Member returns the name and descriptor, which identify the method within its class.
func (m MethodRef) Member() string { return m.Name + m.Descriptor }

// Compare orders methods by class, name and descriptor.
func (m MethodRef) Compare(other MethodRef) int {
	return cmp.Or(
		strings.Compare(m.Class, other.Class),
		strings.Compare(m.Name, other.Name),
		strings.Compare(m.Descriptor, other.Descriptor),
	)
}
