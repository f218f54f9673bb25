package dump

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// offsetTable prints the tables of a body with offsets as they are, @n, for bodies
// that cannot be lifted and tables that stand where they do not belong.
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
	case classfile.StackMapTable:
		at := -1
		for i := range v {
			at += int(v[i].OffsetDelta) + 1
			p.line("@%d frame %s", at, p.rawFrame(&v[i]))
		}
	default:
		p.line("%v", v)
	}
}

func (p *printer) rawVariables(table []classfile.LocalVariable) {
	for _, v := range table {
		p.line("%d %s %s @%d to @%d", v.Slot, p.name(v.Name), p.name(v.Type), v.Start, int(v.Start)+int(v.Length))
	}
}

func (p *printer) rawFrame(f *classfile.StackMapFrame) string {
	switch {
	case f.Tag == classfile.FrameFull:
		return "full locals" + p.rawTypes(f.Locals) + " stack" + p.rawTypes(f.Stack)
	case f.Tag >= classfile.FrameAppend:
		return "append" + p.rawTypes(f.Locals)
	case f.Tag >= classfile.FrameChop && f.Tag < classfile.FrameSameExtended:
		return fmt.Sprintf("chop %d", classfile.FrameSameExtended-f.Tag)
	case len(f.Stack) > 0:
		return "same stack" + p.rawTypes(f.Stack)
	}
	return "same"
}

func (p *printer) rawTypes(list []classfile.VerificationType) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteByte(' ')
		switch t.Tag {
		case classfile.TypeObject:
			b.WriteString(p.objectType(t.Value))
		case classfile.TypeUninitialized:
			fmt.Fprintf(&b, "uninitialized@%d", t.Value)
		default:
			b.WriteString(itemNames[t.Tag])
		}
	}
	return b.String()
}

// orAny writes what a handler catches.
func orAny(i uint16, f func(uint16) string) string {
	if i == 0 {
		return "any"
	}
	return f(i)
}
