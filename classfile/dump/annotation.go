package dump

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

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

// target says what is annotated, positions in the code as offsets.
func (p *printer) target(t *classfile.Target) string {
	text := targetNames[t.Type]
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
		for _, r := range t.Ranges {
			text += fmt.Sprintf(" %d @%d to @%d", r.Slot, r.Start, int(r.Start)+int(r.Length))
		}
	case classfile.TargetInstanceof, classfile.TargetNew, classfile.TargetConstructorReference, classfile.TargetMethodReference:
		return fmt.Sprintf("%s @%d", text, t.Offset)
	case classfile.TargetCast, classfile.TargetConstructorCallArgument, classfile.TargetMethodCallArgument,
		classfile.TargetConstructorRefArgument, classfile.TargetMethodRefArgument:
		return fmt.Sprintf("%s %d @%d", text, t.Argument, t.Offset)
	}
	return text
}

// path says how to get from the type to the part annotated.
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
