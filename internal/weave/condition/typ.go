package condition

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

const (
	objectClass = "java/lang/Object"
	stringClass = "java/lang/String"
	enumClass   = "java/lang/Enum"
	stringDesc  = "Ljava/lang/String;"
	objectDesc  = "Ljava/lang/Object;"
)

// typ is the static type of a value: a descriptor and, where the class file tells
// them, type arguments.
type typ struct {
	desc string
	args []typ
}

func (t typ) isRef() bool   { return t.desc[0] == 'L' || t.desc[0] == '[' }
func (t typ) isArray() bool { return t.desc[0] == '[' }

// class is the internal name of a class type, "" for others.
func (t typ) class() string {
	if t.desc[0] != 'L' {
		return ""
	}
	return t.desc[1 : len(t.desc)-1]
}

func (t typ) elem() typ {
	e := typ{desc: t.desc[1:]}
	e.args = t.args
	return e
}

// human is how a Java programmer would write it.
func (t typ) human() string {
	s := descriptor.Type(t.desc).Human()
	if len(t.args) > 0 && !t.isArray() {
		var args []string
		for _, a := range t.args {
			args = append(args, a.human())
		}
		s += "<" + strings.Join(args, ", ") + ">"
	}
	return s
}

func classType(name string) typ { return typ{desc: "L" + name + ";"} }

// boxed are the primitive types of the classes that box them.
var boxed = map[string]struct{ desc, method string }{
	"java/lang/Boolean": {"Z", "booleanValue"}, "java/lang/Byte": {"B", "byteValue"}, "java/lang/Short": {"S", "shortValue"},
	"java/lang/Character": {"C", "charValue"}, "java/lang/Integer": {"I", "intValue"}, "java/lang/Long": {"J", "longValue"},
	"java/lang/Float": {"F", "floatValue"}, "java/lang/Double": {"D", "doubleValue"},
}

// memberType is the type of a field, or the result of a method, with type arguments
// from its signature where that agrees with the descriptor.
func memberType(c *classfile.Class, m *classfile.Member, desc string) typ {
	plain := typ{desc: desc}
	a := c.Find(m.Attributes, classfile.KindSignature)
	if a == nil {
		return plain
	}
	contents, err := c.Decode(*a)
	if err != nil {
		return plain
	}
	index, ok := contents.(classfile.Signature)
	if !ok {
		return plain
	}
	text, err := c.Pool.Utf8(uint16(index))
	if err != nil {
		return plain
	}
	if strings.Contains(string(text), "(") {
		if sig, err := descriptor.ParseMethodSignature(string(text)); err == nil {
			return withArgs(plain, &sig.Return)
		}
		return plain
	}
	if sig, err := descriptor.ParseFieldSignature(string(text)); err == nil {
		return withArgs(plain, &sig)
	}
	return plain
}

// parameterTypes are the types of a method's parameters.
func parameterTypes(c *classfile.Class, m *classfile.Member, d descriptor.Method) []typ {
	var list []typ
	for _, t := range d.Params() {
		list = append(list, typ{desc: string(t)})
	}
	a := c.Find(m.Attributes, classfile.KindSignature)
	if a == nil {
		return list
	}
	contents, err := c.Decode(*a)
	if err != nil {
		return list
	}
	index, _ := contents.(classfile.Signature)
	text, err := c.Pool.Utf8(uint16(index))
	if err != nil {
		return list
	}
	// A signature leaves out what the compiler added; then it is of no use.
	if sig, err := descriptor.ParseMethodSignature(string(text)); err == nil && len(sig.Params) == len(list) {
		for i := range list {
			list[i] = withArgs(list[i], &sig.Params[i])
		}
	}
	return list
}

// withArgs adds a signature's type arguments to a type with the same descriptor.
func withArgs(t typ, sig *descriptor.SigType) typ {
	if made := fromSignature(sig); made.desc == t.desc {
		return made
	}
	return t
}

// fromSignature is the erasure of a type, with arguments. Type variables are objects:
// what they stand for is not followed.
func fromSignature(sig *descriptor.SigType) typ {
	switch sig.Kind {
	case 'L':
		name := sig.Classes[0].Name
		for _, c := range sig.Classes[1:] {
			name += "$" + c.Name
		}
		t := classType(name)
		for _, a := range sig.Classes[len(sig.Classes)-1].Args {
			if a.Wildcard == '*' || a.Wildcard == '-' {
				t.args = append(t.args, classType(objectClass))
			} else {
				t.args = append(t.args, fromSignature(&a.Type))
			}
		}
		return t
	case '[':
		e := fromSignature(sig.Elem)
		return typ{desc: "[" + e.desc, args: e.args}
	case 'T':
		return classType(objectClass)
	}
	return typ{desc: string(rune(sig.Kind))}
}
