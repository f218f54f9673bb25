package dump

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
)

// itemNames are the verification types by their tag. Object types are written as
// descriptors, so none can be taken for one of these.
var itemNames = [...]string{"top", "int", "float", "double", "long", "null", "uninitializedThis", "object", "uninitialized"}

// mostFrameTypes bounds how many types are told in full for one body: frames that
// each add to the one before would fill a disk. Those behind it stay relative.
const mostFrameTypes = 1 << 20

// frameTeller tells frames in full that the file has relative to the one before.
type frameTeller struct {
	locals []string // of the frame before
	told   int
	lost   bool // the chain is broken: the descriptor or a frame made no sense
	p      *printer
}

// toldFrame is a frame as text: in full, or, where that cannot be known, relative.
type toldFrame struct {
	locals, stack []string
	relative      string
}

func (p *printer) newFrameTeller(m *classfile.Member) *frameTeller {
	t := &frameTeller{p: p}
	if !m.Access.Has(classfile.AccStatic) {
		if p.rawText(m.Name) == "<init>" && p.class.Name() != "java/lang/Object" {
			t.locals = append(t.locals, "uninitializedThis")
		} else {
			t.locals = append(t.locals, p.objectType(p.class.This))
		}
	}
	text, _ := p.class.Pool.Utf8(m.Descriptor)
	desc, err := descriptor.ParseMethod(string(text))
	if err != nil {
		t.lost = true
		return t
	}
	for _, param := range desc.Params() {
		t.locals = append(t.locals, localType(param))
	}
	return t
}

// localType is the verification type of a parameter.
func localType(param descriptor.Type) string {
	switch param.Kind() {
	case 'F':
		return "float"
	case 'D':
		return "double"
	case 'J':
		return "long"
	case 'L', '[':
		return word([]byte(param))
	}
	return "int"
}

func (t *frameTeller) next(f *code.Frame) toldFrame {
	own, stack := t.p.types(f.Locals), t.p.types(f.Stack)
	locals := t.locals
	relative := "same"
	switch {
	case f.Form == code.FullFrame || f.Form == code.Absolute:
		locals, t.lost = own, false
		relative = "full"
	case f.Form >= code.AppendFrame:
		locals = append(locals[:len(locals):len(locals)], own...)
		relative = "append"
	case f.Form >= code.ChopFrame && f.Form < code.SameFrameFar:
		drop := int(code.SameFrameFar - f.Form)
		relative = fmt.Sprintf("chop %d", drop)
		if drop > len(locals) {
			t.lost = true
		} else {
			locals = locals[:len(locals)-drop]
		}
	}
	t.told += len(locals)
	if t.told > mostFrameTypes {
		t.lost = true
	}
	if t.lost {
		return toldFrame{own, stack, relative}
	}
	t.locals = locals
	return toldFrame{locals: locals, stack: stack}
}

// frame prints a frame: in one line, or for a diff one type a line, by slot, so that
// a local that was added is a line that was added.
func (p *printer) frame(n *code.Node, f toldFrame) {
	if !p.explode || f.relative != "" {
		text := "frame"
		if f.relative != "" {
			text += " " + f.relative
		}
		if len(f.locals) > 0 {
			text += " locals " + strings.Join(f.locals, " ")
		}
		if len(f.stack) > 0 {
			text += " stack " + strings.Join(f.stack, " ")
		}
		p.node(n, text)
		return
	}
	p.node(n, "frame")
	p.within(func() {
		slot := 0
		for _, t := range f.locals {
			if t != "top" {
				p.node(n, fmt.Sprintf("local %d %s", slot, t))
			}
			slot++
			if t == "long" || t == "double" {
				slot++
			}
		}
		for _, t := range f.stack {
			p.node(n, "stack "+t)
		}
	})
}

func (p *printer) types(list []code.Type) []string {
	texts := make([]string, len(list))
	for i, t := range list {
		switch t.Item {
		case code.Object:
			texts[i] = p.objectType(t.Class)
		case code.Uninitialized:
			texts[i] = "uninitialized:" + p.names[t.New]
		default:
			texts[i] = itemNames[t.Item]
		}
	}
	return texts
}

// objectType writes a class as a descriptor.
func (p *printer) objectType(i uint16) string {
	name, err := p.class.Pool.ClassName(i)
	if err != nil {
		return broken(err)
	}
	if len(name) > 0 && name[0] == '[' {
		return word(name)
	}
	return word([]byte("L" + string(name) + ";"))
}
