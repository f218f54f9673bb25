package cct

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

// Ref returns the method without what hooks know about it.
func (m Method) Ref() classfile.MethodRef {
	return classfile.MethodRef{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor}
}

// Key returns a string that identifies the method in different runs.
func (m Method) Key() string { return m.Class + "." + m.Name + m.Descriptor }

// Categorize sets the categories of the methods. isSubtype reports whether a class is another or below it; nil if types are not known.
func (p *Profile) Categorize(isSubtype func(class, super string) bool) {
	for i := range p.Methods {
		p.Methods[i].Category = categories.Of(p.Methods[i].Ref(), isSubtype)
	}
}

// Names returns the names to show for methods, by index: com.acme.Cart.total, followed by
// the parameters if several methods have the same name.
func Names(methods []Method) []string {
	count := map[string]int{}
	for _, m := range methods {
		count[m.String()]++
	}
	names := make([]string, len(methods))
	for i, m := range methods {
		name := m.String()
		if count[name] > 1 {
			name += parameters(m.Descriptor)
		}
		names[i] = format.Printable(name)
	}
	return names
}

// parameters returns the parameter types of a descriptor without their packages.
func parameters(text string) string {
	parsed, err := descriptor.ParseMethod(text)
	if err != nil {
		return text
	}
	list := make([]string, 0, parsed.NumParams())
	for _, p := range parsed.Params() {
		human := p.Human()
		list = append(list, human[strings.LastIndexByte(human, '.')+1:])
	}
	return fmt.Sprintf("(%s)", strings.Join(list, ","))
}

// String describes the JVM: shop.jar (process 4711, JDK 17.0.15).
func (t Target) String() string {
	text := cmp.Or(t.Command, "a Java program")
	var known []string
	if t.PID > 0 {
		known = append(known, fmt.Sprintf("process %d", t.PID))
	}
	if t.JDK != "" {
		known = append(known, "JDK "+t.JDK)
	}
	if len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	return text
}

// String returns the thread's name, or its ID if it has none.
func (t Thread) String() string {
	return cmp.Or(format.Printable(t.Name), fmt.Sprintf("thread %d", t.ID))
}
