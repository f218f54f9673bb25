package universe

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// A Method is a method of a class that could be read.
type Method struct {
	classfile.MethodRef
	Owner  *Class
	Member *classfile.Member
}

// Methods returns the methods of a class that can be called by themselves: without
// abstract methods, and without bridges that the compiler made.
func (u *Universe) Methods(c *Class) (all []Method) {
	parsed := u.Open(c)
	if parsed == nil {
		return nil
	}
	for i := range parsed.Methods {
		m := &parsed.Methods[i]
		if m.Access.Has(classfile.AccBridge) || m.Access.Has(classfile.AccAbstract) {
			continue
		}
		if name, desc, err := parsed.MemberName(m); err == nil {
			ref := classfile.MethodRef{Class: c.Name, Name: string(name), Descriptor: string(desc)}
			all = append(all, Method{MethodRef: ref, Owner: c, Member: m})
		}
	}
	return all
}

// Find returns a method of a class that is known.
func (u *Universe) Find(ref classfile.MethodRef) (Method, bool) {
	for _, c := range u.classes[ref.Class] {
		for _, m := range u.Methods(c) {
			if m.MethodRef == ref {
				return m, true
			}
		}
	}
	return Method{}, false
}

// InheritedFrom returns the superclass or interface of a method's class that declares the method or inherits it; ""
// where none is known.
func (u *Universe) InheritedFrom(m Method) string {
	parsed := u.Open(m.Owner)
	if parsed == nil {
		return ""
	}
	for _, parent := range Parents(parsed) {
		c := u.Lookup(parent, m.Owner)
		if c == nil {
			continue
		}
		for _, name := range u.Ancestors(c) {
			above := u.Lookup(name, m.Owner)
			if above != nil && u.Open(above).Method(m.Name, m.Descriptor) != nil {
				return parent
			}
		}
	}
	return ""
}

// Bridges returns the methods, class.name(descriptor), by which the compiler makes calls
// of other methods reach this one: they have its name, in its class or above it.
func (u *Universe) Bridges(m Method) (members []string) {
	for _, name := range u.Ancestors(m.Owner) {
		above := u.resolve(name, m.Owner)
		if above == nil {
			continue
		}
		parsed := u.Open(above)
		if parsed == nil {
			continue
		}
		for i := range parsed.Methods {
			other := &parsed.Methods[i]
			own, desc, err := parsed.MemberName(other)
			if err == nil && other.Access.Has(classfile.AccBridge) && string(own) == m.Name {
				members = append(members, name+"."+m.Name+string(desc))
			}
		}
	}
	return members
}

// Code returns the body of a method; nil where it has none.
func (m Method) Code() *classfile.Code {
	code, err := m.Owner.parsed.Code(m.Member.Attributes)
	if err != nil {
		return nil
	}
	return code
}

// ParameterNames returns the names of a parameter, counted from 0, as far as the class
// file has them, and the simple name of its type.
func (m Method) ParameterNames(number int) (names []string) {
	parsed, err := descriptor.ParseMethod(m.Descriptor)
	if err != nil || number >= parsed.NumParams() {
		return nil
	}
	slot := 1
	if m.Member.Access.Has(classfile.AccStatic) {
		slot = 0
	}
	var typed string
	for i, p := range parsed.Params() {
		if i == number {
			typed = p.Human()
			break
		}
		slot += p.Slots()
	}
	names = append(names, typed[strings.LastIndexAny(typed, ".$")+1:])
	file := m.Owner.parsed
	if attribute := file.Find(m.Member.Attributes, classfile.KindMethodParameters); attribute != nil {
		contents, err := file.Decode(*attribute)
		if table, is := contents.(classfile.MethodParameters); err == nil && is && number < len(table) {
			if name, err := file.Pool.Utf8(table[number].Name); err == nil {
				names = append(names, string(name))
			}
		}
	}
	return append(names, m.localNames(slot)...)
}

// localNames returns the names of the variable that is in a slot when the method begins.
func (m Method) localNames(slot int) (names []string) {
	code := m.Code()
	if code == nil {
		return nil
	}
	file := m.Owner.parsed
	attribute := file.Find(code.Attributes, classfile.KindLocalVariableTable)
	if attribute == nil {
		return nil
	}
	contents, err := file.Decode(*attribute)
	table, is := contents.(classfile.LocalVariableTable)
	if err != nil || !is {
		return nil
	}
	for _, v := range table {
		if v.Start == 0 && int(v.Slot) == slot {
			if name, err := file.Pool.Utf8(v.Name); err == nil {
				names = append(names, string(name))
			}
		}
	}
	return names
}
