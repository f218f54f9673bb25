package dump

import (
	"bytes"
	"errors"

	"github.com/sonde-jvm/sonde/classfile"
)

var errTooDeep = errors.New("attributes nest too deeply")

func (p *printer) attributes(list []classfile.Attribute) {
	for _, a := range list {
		p.attribute(a)
	}
}

// attribute prints any attribute but a method's Code: that is for code.
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

// contents prints what takes lines of its own.
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
			p.line("%s%s %s", p.target(&v[i].Target), path(v[i].Path), p.annotation(&v[i].Annotation))
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

// undecoded shows an attribute that is not what its name says.
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
