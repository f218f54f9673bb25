package liveprobes

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// A method is one of a class that could be opened.
type method struct {
	class            *class
	member           *classfile.Member
	name, descriptor string
}

func (m method) id() condition.Method {
	return condition.Method{Class: m.class.name, Name: m.name, Descriptor: m.descriptor}
}

// String is the method as people read it: class.name(descriptor).
func (m method) String() string {
	return strings.ReplaceAll(m.class.name, "/", ".") + "." + m.name + m.descriptor
}

// methods are those of a class that can be called by themselves: what the compiler made
// to bridge to another, and what is abstract, is not.
func (w *world) methods(c *class) (all []method) {
	parsed := w.open(c)
	if parsed == nil {
		return nil
	}
	for i := range parsed.File.Methods {
		m := &parsed.File.Methods[i]
		if m.Access.Has(classfile.AccBridge) || m.Access.Has(classfile.AccAbstract) {
			continue
		}
		if name, desc, err := parsed.File.MemberName(m); err == nil {
			all = append(all, method{c, m, string(name), string(desc)})
		}
	}
	return all
}

// bridges are the methods by which the compiler has calls of others reach one: they
// have its name, in its class or above it.
func (w *world) bridges(m method) (members []string) {
	for _, name := range w.ancestors(m.class) {
		above := w.seen(name, m.class)
		if above == nil {
			continue
		}
		parsed := w.open(above)
		if parsed == nil {
			continue
		}
		for i := range parsed.File.Methods {
			other := &parsed.File.Methods[i]
			own, desc, err := parsed.File.MemberName(other)
			if err == nil && other.Access.Has(classfile.AccBridge) && string(own) == m.name {
				members = append(members, name+"."+m.name+string(desc))
			}
		}
	}
	return members
}

// code is a method's body; nil where it has none.
func (m method) code() *classfile.Code {
	file := m.class.parsed.File
	attribute := file.Find(m.member.Attributes, classfile.KindCode)
	if attribute == nil {
		return nil
	}
	contents, err := file.Decode(*attribute)
	code, is := contents.(*classfile.Code)
	if err != nil || !is {
		return nil
	}
	return code
}

// parameterNames are what a parameter is called, as far as the class file says, and what
// its type is called.
func (m method) parameterNames(number int) (names []string) {
	parsed, err := descriptor.ParseMethod(m.descriptor)
	if err != nil || number >= parsed.NumParams() {
		return nil
	}
	slot := 1
	if m.member.Access.Has(classfile.AccStatic) {
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
	file := m.class.parsed.File
	if attribute := file.Find(m.member.Attributes, classfile.KindMethodParameters); attribute != nil {
		contents, err := file.Decode(*attribute)
		if table, is := contents.(classfile.MethodParameters); err == nil && is && number < len(table) {
			if name, err := file.Pool.Utf8(table[number].Name); err == nil {
				names = append(names, string(name))
			}
		}
	}
	return append(names, m.localNames(slot)...)
}

// localNames are those of the variable that a method begins with in a slot.
func (m method) localNames(slot int) (names []string) {
	code := m.code()
	if code == nil {
		return nil
	}
	file := m.class.parsed.File
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
