package dump

import "github.com/sonde-jvm/sonde/classfile"

func (p *printer) header() {
	c := p.class
	p.line("class %s%s", classFlags.text(c.Access), p.className(c.This))
	p.within(func() {
		p.line("version %d.%d", c.Major, c.Minor)
		if c.Super != 0 {
			p.line("extends %s", p.className(c.Super))
		}
		for _, i := range c.Interfaces {
			p.line("implements %s", p.className(i))
		}
		p.attributes(c.Attributes)
	})
}

func (p *printer) field(m *classfile.Member) {
	p.line("field %s%s %s", fieldFlags.text(m.Access), p.name(m.Name), p.name(m.Descriptor))
	p.within(func() { p.attributes(m.Attributes) })
}

func (p *printer) method(m *classfile.Member) {
	p.methodLine(m)
	p.within(func() {
		for _, a := range m.Attributes {
			if p.class.Kind(a.Name) == classfile.KindCode {
				p.code(m, a)
			} else {
				p.attribute(a)
			}
		}
	})
}

func (p *printer) methodLine(m *classfile.Member) {
	p.line("method %s%s %s", methodFlags.text(m.Access), p.name(m.Name), p.name(m.Descriptor))
}
