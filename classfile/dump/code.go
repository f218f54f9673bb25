package dump

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// code prints a method's body; one that cannot be lifted, as bytes, with the reason.
func (p *printer) code(m *classfile.Member, a classfile.Attribute) {
	body, names := p.lifted, p.names
	p.lifted = nil
	if body == nil {
		var err error
		if body, err = p.lifter.LiftCode(p.class, a.Data); err != nil {
			p.line("Code %s", broken(err))
			p.within(func() { p.unlifted(a) })
			return
		}
		names = number(body)
	}
	p.names = names
	p.body(m, a, body)
	p.names = nil
}

func (p *printer) unlifted(a classfile.Attribute) {
	contents, err := p.class.Decode(a)
	if err != nil {
		p.line("%s", broken(err))
		p.hex(a.Data)
		return
	}
	p.contents(contents)
}

func (p *printer) body(m *classfile.Member, a classfile.Attribute, b *code.Body) {
	p.line("Code stack %d locals %d", b.MaxStack, b.MaxLocals)
	p.indent++
	frames := p.newFrameTeller(m)
	for n := b.First(); n != nil && !p.full(); n = n.Next() {
		switch n.Kind {
		case code.Label:
			p.line("%s:", p.names[n])
			continue
		case code.Line:
			p.within(func() { p.node(n, fmt.Sprintf("line %d", n.Value())) })
		case code.FrameMark:
			p.within(func() { p.frame(n, frames.next(b.Frame(n))) })
		case code.Instruction:
			p.within(func() { p.instruction(b, n) })
		}
	}
	for _, h := range b.Handlers {
		p.line("try %s to %s catch %s at %s", p.names[h.Start], p.names[h.End], orAny(h.Catch, p.className), p.names[h.Entry])
	}
	for i := range b.Vars {
		v := &b.Vars[i]
		p.line("%s %s to %s", p.variable(b, v), p.names[v.Start], p.names[v.End])
	}
	p.typeAnnotations(a, b)
	b.Attributes(p.attribute)
	p.indent--
}

// variable is what is said of a local variable besides where it lives.
func (p *printer) variable(b *code.Body, v *code.Var) string {
	kind := "var"
	if b.VarTypes(v) {
		kind = "var-signature"
	}
	return fmt.Sprintf("%s %d %s %s", kind, v.Slot, p.name(v.Name), p.name(v.Descriptor))
}

// node prints what stands at a position of the code.
func (p *printer) node(n *code.Node, text string) {
	if !p.opts.Offsets {
		p.line("%s", text)
		return
	}
	if n.Kind == code.Instruction {
		p.line("%5d  %s", n.Offset(), text)
	} else {
		p.line("       %s", text)
	}
}

// typeAnnotations prints those within the body. The list knows where they are, the
// attribute what they say; both have them in the same order.
func (p *printer) typeAnnotations(a classfile.Attribute, b *code.Body) {
	if len(b.TypeAnnotations) == 0 {
		return
	}
	contents, err := p.class.Decode(a)
	if err != nil {
		p.line("type annotations %s", broken(err))
		return
	}
	k := 0
	for _, table := range contents.(*classfile.Code).Attributes {
		kind := p.class.Kind(table.Name)
		if kind != classfile.KindRuntimeVisibleTypeAnnotations && kind != classfile.KindRuntimeInvisibleTypeAnnotations {
			continue
		}
		said, err := p.class.Decode(table)
		if err != nil {
			p.undecoded(table, err)
			return
		}
		p.line("%s", kind)
		p.within(func() {
			for _, t := range said.(classfile.TypeAnnotations) {
				if k < len(b.TypeAnnotations) {
					p.line("%s%s %s", p.bodyTarget(&b.TypeAnnotations[k]), path(t.Path), p.annotation(&t.Annotation))
				}
				k++
			}
		})
	}
}

// bodyTarget is target with labels for positions.
func (p *printer) bodyTarget(a *code.TypeAnnotation) string {
	target := classfile.TargetType(a.Target)
	text := targetNames[target]
	switch {
	case a.At != nil && target >= classfile.TargetCast:
		return fmt.Sprintf("%s %d %s", text, a.Extra, p.names[a.At])
	case a.At != nil:
		return text + " " + p.names[a.At]
	case target == classfile.TargetHandler:
		return fmt.Sprintf("%s %d", text, a.Extra)
	}
	var b strings.Builder
	b.WriteString(text)
	for _, r := range a.Ranges {
		fmt.Fprintf(&b, " %d %s to %s", r.Slot, p.names[r.Start], p.names[r.End])
	}
	return b.String()
}
