package dump

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

var errTooDeep = errors.New("attributes nest too deeply")

func (p *printer) attributes(list []classfile.Attribute) {
	for _, a := range list {
		p.attribute(a)
	}
}

// attribute prints any attribute but a method's Code, which code prints.
func (p *printer) attribute(a classfile.Attribute) {
	contents, err := p.class.Decode(a)
	if p.indent > deepest {
		err = errTooDeep
	}
	if err != nil {
		p.undecoded(a, err)
		return
	}
	title := p.class.Kind(a.Name).String()
	switch v := contents.(type) {
	case classfile.Opaque:
		p.line("attribute %s, %d bytes", p.name(a.Name), len(v))
		p.within(func() { p.hex(v) })
	case classfile.ConstantValue:
		p.line("%s %s", title, p.constant(uint16(v)))
	case classfile.Signature:
		p.line("%s %s", title, p.name(uint16(v)))
	case classfile.SourceFile:
		p.line("%s %s", title, p.quoted(uint16(v)))
	case classfile.NestHost:
		p.line("%s %s", title, p.className(uint16(v)))
	case classfile.ModuleMainClass:
		p.line("%s %s", title, p.className(uint16(v)))
	case classfile.Exceptions:
		p.list(title, v, p.className)
	case classfile.NestMembers:
		p.list(title, v, p.className)
	case classfile.PermittedSubclasses:
		p.list(title, v, p.className)
	case classfile.ModulePackages:
		p.list(title, v, p.packageName)
	case classfile.Synthetic, classfile.Deprecated:
		p.line("%s", title)
	default:
		p.line("%s", title)
		p.within(func() { p.contents(contents) })
	}
}

// contents prints attributes that take several lines.
func (p *printer) contents(contents classfile.Contents) {
	switch v := contents.(type) {
	case classfile.SourceDebugExtension:
		for text := range bytes.Lines(v) {
			p.line("%s", quote(text))
		}
	case classfile.InnerClasses:
		for _, c := range v {
			p.line("%s%s in %s called %s", innerFlags.text(c.Access), p.className(c.Inner),
				orNone(c.Outer, p.className), orNone(c.Name, p.name))
		}
	case classfile.EnclosingMethod:
		p.line("%s %s", p.className(v.Class), orNone(v.Method, p.nameAndType))
	case classfile.BootstrapMethods:
		p.bootstrapMethods(v)
	case classfile.MethodParameters:
		for _, m := range v {
			p.line("%s%s", parameterFlags.text(m.Access), orNone(m.Name, p.name))
		}
	case classfile.Record:
		for i := range v {
			p.line("component %s %s", p.name(v[i].Name), p.name(v[i].Descriptor))
			p.within(func() { p.attributes(v[i].Attributes) })
		}
	case *classfile.Module:
		p.module(v)
	case classfile.Annotations:
		for i := range v {
			p.line("%s", p.annotation(&v[i]))
		}
	case classfile.ParameterAnnotations:
		for i := range v {
			p.line("parameter %d", i)
			p.within(func() { p.contents(classfile.Annotations(v[i])) })
		}
	case classfile.TypeAnnotations:
		for i := range v {
			p.line("%s%s %s", p.target(&v[i].Target, nil), path(v[i].Path), p.annotation(&v[i].Annotation))
		}
	case classfile.AnnotationDefault:
		p.line("%s", p.elementValue((*classfile.ElementValue)(&v)))
	default:
		p.offsetTable(contents)
	}
}

func (p *printer) list(title string, indices []uint16, text func(uint16) string) {
	p.line("%s", title)
	p.within(func() {
		for _, i := range indices {
			p.line("%s", text(i))
		}
	})
}

func (p *printer) quoted(i uint16) string {
	text, err := p.class.Pool.Utf8(i)
	if err != nil {
		return broken(err)
	}
	return quote(text)
}

// undecoded prints an attribute whose contents are malformed.
func (p *printer) undecoded(a classfile.Attribute, err error) {
	p.line("attribute %s, %d bytes %s", p.name(a.Name), len(a.Data), broken(err))
	p.within(func() { p.hex(a.Data) })
}

func (p *printer) hex(data []byte) {
	for len(data) > 0 {
		n := min(len(data), 32)
		p.line("% x", data[:n])
		data = data[n:]
	}
}

func (p *printer) annotation(a *classfile.Annotation) string {
	var b strings.Builder
	p.writeAnnotation(&b, a)
	return b.String()
}

func (p *printer) elementValue(v *classfile.ElementValue) string {
	var b strings.Builder
	p.writeValue(&b, v)
	return b.String()
}

func (p *printer) writeAnnotation(b *strings.Builder, a *classfile.Annotation) {
	b.WriteString("@" + p.name(a.Type) + "(")
	for i := range a.Elements {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > longestText {
			b.WriteString("…")
			break
		}
		b.WriteString(p.name(a.Elements[i].Name) + " = ")
		p.writeValue(b, &a.Elements[i].Value)
	}
	b.WriteByte(')')
}

// writeValue relies on decoding for a bound on the depth.
func (p *printer) writeValue(b *strings.Builder, v *classfile.ElementValue) {
	switch v.Tag {
	case 's':
		b.WriteString(p.quoted(v.Index))
	case 'c':
		b.WriteString("class " + p.name(v.Index))
	case 'e':
		b.WriteString("enum " + p.name(v.Enum) + " " + p.name(v.Index))
	case '@':
		p.writeAnnotation(b, v.Nested)
	case '[':
		b.WriteByte('[')
		for i := range v.Array {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > longestText {
				b.WriteString("…")
				break
			}
			p.writeValue(b, &v.Array[i])
		}
		b.WriteByte(']')
	case 'B', 'C', 'I', 'S', 'Z':
		n, err := p.class.Pool.Int(v.Index)
		if err != nil {
			b.WriteString(broken(err))
			return
		}
		fmt.Fprintf(b, "%s %d", intKinds[v.Tag], n)
	default: // D F J: the entry says what it is
		p.writeConstant(b, v.Index, 0)
	}
}

var intKinds = map[byte]string{'B': "byte", 'C': "char", 'I': "int", 'S': "short", 'Z': "boolean"}

var targetNames = map[classfile.TargetType]string{
	classfile.TargetClassTypeParameter:       "type-parameter",
	classfile.TargetMethodTypeParameter:      "type-parameter",
	classfile.TargetSupertype:                "supertype",
	classfile.TargetClassTypeParameterBound:  "type-parameter",
	classfile.TargetMethodTypeParameterBound: "type-parameter",
	classfile.TargetField:                    "type",
	classfile.TargetReturn:                   "return",
	classfile.TargetReceiver:                 "receiver",
	classfile.TargetFormalParameter:          "parameter",
	classfile.TargetThrows:                   "throws",
	classfile.TargetLocalVariable:            "local",
	classfile.TargetResource:                 "resource",
	classfile.TargetHandler:                  "handler",
	classfile.TargetInstanceof:               "instanceof",
	classfile.TargetNew:                      "new",
	classfile.TargetConstructorReference:     "constructor-reference",
	classfile.TargetMethodReference:          "method-reference",
	classfile.TargetCast:                     "cast",
	classfile.TargetConstructorCallArgument:  "constructor-type-argument",
	classfile.TargetMethodCallArgument:       "method-type-argument",
	classfile.TargetConstructorRefArgument:   "constructor-reference-type-argument",
	classfile.TargetMethodRefArgument:        "method-reference-type-argument",
}

// target describes the annotated type. Positions in the code are labels if the annotation
// was lifted, else offsets.
func (p *printer) target(t *classfile.Target, lifted *code.TypeAnnotation) string {
	text, at := targetNames[t.Type], fmt.Sprintf("@%d", t.Offset)
	if lifted != nil {
		at = p.names[lifted.At]
	}
	switch t.Type {
	case classfile.TargetClassTypeParameter, classfile.TargetMethodTypeParameter:
		return fmt.Sprintf("%s %d", text, t.TypeParameter)
	case classfile.TargetClassTypeParameterBound, classfile.TargetMethodTypeParameterBound:
		return fmt.Sprintf("%s %d bound %d", text, t.TypeParameter, t.Bound)
	case classfile.TargetSupertype:
		if t.Index == 65535 {
			return "extends"
		}
		return fmt.Sprintf("implements %d", t.Index)
	case classfile.TargetFormalParameter, classfile.TargetThrows, classfile.TargetHandler:
		return fmt.Sprintf("%s %d", text, t.Index)
	case classfile.TargetLocalVariable, classfile.TargetResource:
		for i, r := range t.Ranges {
			start, end := fmt.Sprintf("@%d", r.Start), fmt.Sprintf("@%d", int(r.Start)+int(r.Length))
			if lifted != nil {
				start, end = p.names[lifted.Ranges[i].Start], p.names[lifted.Ranges[i].End]
			}
			text += fmt.Sprintf(" %d %s to %s", r.Slot, start, end)
		}
	case classfile.TargetInstanceof, classfile.TargetNew, classfile.TargetConstructorReference, classfile.TargetMethodReference:
		return text + " " + at
	case classfile.TargetCast, classfile.TargetConstructorCallArgument, classfile.TargetMethodCallArgument,
		classfile.TargetConstructorRefArgument, classfile.TargetMethodRefArgument:
		return fmt.Sprintf("%s %d %s", text, t.Argument, at)
	}
	return text
}

// path describes the way from the type to its annotated part.
func path(steps []classfile.PathStep) string {
	var b strings.Builder
	for _, s := range steps {
		switch s.Kind {
		case 0:
			b.WriteString(" []")
		case 1:
			b.WriteString(" .")
		case 2:
			b.WriteString(" ?")
		case 3:
			fmt.Fprintf(&b, " <%d>", s.Argument)
		default:
			fmt.Fprintf(&b, " <path kind %d>", s.Kind)
		}
	}
	return b.String()
}

func (p *printer) module(m *classfile.Module) {
	p.line("%s%s version %s", moduleFlags.text(m.Access), p.moduleName(m.Name), orNone(m.Version, p.quoted))
	for _, r := range m.Requires {
		p.line("requires %s%s version %s", requireFlags.text(r.Access), p.moduleName(r.Module), orNone(r.Version, p.quoted))
	}
	p.exports("exports", m.Exports)
	p.exports("opens", m.Opens)
	for _, i := range m.Uses {
		p.line("uses %s", p.className(i))
	}
	for _, s := range m.Provides {
		p.line("provides %s", p.className(s.Service))
		p.within(func() {
			for _, i := range s.With {
				p.line("with %s", p.className(i))
			}
		})
	}
}

func (p *printer) exports(verb string, list []classfile.ModuleExport) {
	for _, e := range list {
		p.line("%s %s%s", verb, exportFlags.text(e.Access), p.packageName(e.Package))
		p.within(func() {
			for _, i := range e.To {
				p.line("to %s", p.moduleName(i))
			}
		})
	}
}

func (p *printer) bootstrapMethods(table classfile.BootstrapMethods) {
	for i := range table {
		var b strings.Builder
		p.writeBootstrap(&b, &table[i], 0)
		p.line("%s", b.String())
	}
}

// offsetTable prints the tables of a body with offsets, @n, for bodies that cannot be
// lifted and tables outside a body.
func (p *printer) offsetTable(contents classfile.Contents) {
	switch v := contents.(type) {
	case *classfile.Code:
		p.line("stack %d locals %d", v.MaxStack, v.MaxLocals)
		p.hex(v.Bytes)
		for _, h := range v.Handlers {
			p.line("try @%d to @%d catch %s at @%d", h.Start, h.End, orAny(h.Type, p.className), h.Handler)
		}
		p.attributes(v.Attributes)
	case classfile.LineNumberTable:
		for _, l := range v {
			p.line("@%d line %d", l.Start, l.Line)
		}
	case classfile.LocalVariableTable:
		p.rawVariables(v)
	case classfile.LocalVariableTypeTable:
		p.rawVariables(v)
	default:
		p.line("%v", v)
	}
}

func (p *printer) rawVariables(table []classfile.LocalVariable) {
	for _, v := range table {
		p.line("%d %s %s @%d to @%d", v.Slot, p.name(v.Name), p.name(v.Type), v.Start, int(v.Start)+int(v.Length))
	}
}

// orAny writes the class that a handler catches.
func orAny(i uint16, f func(uint16) string) string {
	if i == 0 {
		return "any"
	}
	return f(i)
}
