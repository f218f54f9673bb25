package code

import (
	"encoding/binary"
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
)

// tables lifts the exception table and the attributes, which follow the code.
func (l *lift) tables(data []byte, at int) error {
	// LiftCode has checked that there are four bytes at least.
	count := int(binary.BigEndian.Uint16(data[at:]))
	at += 2
	if at+8*count+2 > len(data) {
		return malformed("exception table", at, fmt.Sprintf("%d entries do not fit", count))
	}
	for i := range count {
		e := data[at : at+8 : at+8]
		start, end := int(binary.BigEndian.Uint16(e)), int(binary.BigEndian.Uint16(e[2:]))
		entry := int(binary.BigEndian.Uint16(e[4:]))
		h := Handler{l.label(start), l.label(end), l.label(entry), binary.BigEndian.Uint16(e[6:])}
		if h.Start == nil || h.End == nil || h.Entry == nil || start >= end || entry == len(l.text) {
			return malformed("exception table", at, fmt.Sprintf("entry %d: %d to %d, handler %d: not a range of instructions with a handler", i, start, end, entry))
		}
		l.Handlers = append(l.Handlers, h)
		at += 8
	}
	count = int(binary.BigEndian.Uint16(data[at:]))
	at += 2
	// Line numbers come last, so that a position reads label, frame, line.
	lines := false
	for range count {
		if at+6 > len(data) {
			return malformed("Code attribute", at, "its attributes do not fill it")
		}
		name, size := binary.BigEndian.Uint16(data[at:]), int(binary.BigEndian.Uint32(data[at+2:]))
		if size > len(data)-at-6 {
			return malformed("Code attribute", at, fmt.Sprintf("an attribute of %d bytes does not fit", size))
		}
		contents := data[at+6 : at+6+size : at+6+size]
		at += 6 + size
		a := attribute{name: name, kind: l.Class.Kind(name)}
		var err error
		switch a.kind {
		case classfile.KindLineNumberTable:
			a.data, lines = contents, true
		case classfile.KindLocalVariableTable, classfile.KindLocalVariableTypeTable:
			err = l.vars(contents)
		case classfile.KindStackMapTable:
			err = l.stackMap(contents)
		case classfile.KindRuntimeVisibleTypeAnnotations, classfile.KindRuntimeInvisibleTypeAnnotations:
			err = l.typeAnnotations(classfile.Attribute{Name: name, Data: contents})
		default:
			a.data = contents
		}
		if err != nil {
			return err
		}
		l.attributes = append(l.attributes, a)
	}
	if at != len(data) {
		return malformed("Code attribute", at, "its attributes do not fill it")
	}
	if !lines {
		return nil
	}
	for i := range l.attributes {
		if a := &l.attributes[i]; a.kind == classfile.KindLineNumberTable {
			if err := l.lineNumbers(a.data, uint16(i)); err != nil {
				return err
			}
			a.data = nil
		}
	}
	return nil
}

// lineNumbers puts a Line node before the instruction each entry names. The table's
// own order, where it is not that of the code, is kept in ref.
func (l *lift) lineNumbers(data []byte, table uint16) error {
	if len(data) < 2 || len(data) != 2+4*int(binary.BigEndian.Uint16(data)) {
		return malformed("LineNumberTable", 0, "its length and its count disagree")
	}
	last := -1
	for i, entries := 0, data[2:]; len(entries) > 0; i, entries = i+1, entries[4:] {
		pc := int(binary.BigEndian.Uint16(entries))
		at := l.instructionAt(pc)
		if at == nil {
			return malformed("LineNumberTable", 2+4*i, fmt.Sprintf("a line begins at offset %d, where no instruction does", pc))
		}
		if pc < last {
			l.lines.shuffled = true
		}
		last = pc
		n := l.memory.node()
		*n = Node{Kind: Line, off: int32(pc), index: table, value: int32(binary.BigEndian.Uint16(entries[2:])), ref: int32(i)}
		l.InsertBefore(at, n)
	}
	l.lines.tables++
	return nil
}

func (l *lift) vars(data []byte) error {
	table := uint16(len(l.attributes)) + 1
	if len(data) < 2 || len(data) != 2+10*int(binary.BigEndian.Uint16(data)) {
		return malformed("LocalVariableTable", 0, "its length and its count disagree")
	}
	for at := 2; at < len(data); at += 10 {
		e := data[at : at+10 : at+10]
		start, size := int(binary.BigEndian.Uint16(e)), int(binary.BigEndian.Uint16(e[2:]))
		v := Var{
			Start: l.label(start), End: l.label(start + size),
			Name: binary.BigEndian.Uint16(e[4:]), Descriptor: binary.BigEndian.Uint16(e[6:]),
			Slot: binary.BigEndian.Uint16(e[8:]), table: table,
		}
		if v.Start == nil || v.End == nil {
			return malformed("LocalVariableTable", at, fmt.Sprintf("%d to %d is not a range of instructions", start, start+size))
		}
		l.Vars = append(l.Vars, v)
	}
	return nil
}

// stackMap lifts a StackMapTable: it inserts a frame mark before the instruction of each
// frame.
func (l *lift) stackMap(data []byte) error {
	if len(l.frames) > 0 {
		return malformed("StackMapTable", 0, "a body has one at most")
	}
	in := classfile.Cursor{Data: data}
	count := in.U2()
	pc := -1
	for range count {
		mark := in.At
		f := Frame{Form: FrameForm(in.U1())}
		var delta int
		var err error
		switch {
		case f.Form <= lastSame:
			delta, f.Form = int(f.Form), SameFrame
		case f.Form <= lastSameLocals1:
			delta, f.Form = int(f.Form-SameLocals1), SameLocals1
			f.Stack, err = l.types(&in, 1)
		case f.Form < SameLocals1Far:
			return malformed("StackMapTable", mark, fmt.Sprintf("frame type %d is reserved", f.Form))
		case f.Form == SameLocals1Far:
			delta = int(in.U2())
			f.Stack, err = l.types(&in, 1)
		case f.Form <= SameFrameFar:
			delta = int(in.U2())
		case f.Form < FullFrame:
			delta = int(in.U2())
			f.Locals, err = l.types(&in, int(f.Form-SameFrameFar))
		default:
			delta = int(in.U2())
			if f.Locals, err = l.types(&in, int(in.U2())); err == nil {
				f.Stack, err = l.types(&in, int(in.U2()))
			}
		}
		if err != nil {
			return err
		}
		if in.Short {
			return malformed("StackMapTable", in.At, "truncated")
		}
		pc += delta + 1
		at := l.instructionAt(pc)
		if at == nil {
			return malformed("StackMapTable", mark, fmt.Sprintf("a frame is for offset %d, where no instruction begins", pc))
		}
		n := l.memory.node()
		*n = Node{Kind: FrameMark, off: int32(pc), ref: int32(len(l.frames))}
		l.frames = append(l.frames, f)
		l.InsertBefore(at, n)
	}
	if in.Short || in.At != len(data) {
		return malformed("StackMapTable", in.At, "its frames do not fill it")
	}
	return nil
}

func (l *lift) types(in *classfile.Cursor, n int) ([]Type, error) {
	if n > in.Left() {
		return nil, malformed("StackMapTable", in.At, fmt.Sprintf("%d types do not fit", n))
	}
	types := l.memory.newTypes(n)
	for i := range types {
		mark := in.At
		t := Type{Item: Item(in.U1())}
		switch t.Item {
		case Object:
			t.Class = in.U2()
		case Uninitialized:
			pc := int(in.U2())
			if t.New = l.label(pc); t.New == nil || pc == len(l.text) {
				return nil, malformed("StackMapTable", mark, fmt.Sprintf("an object made at offset %d, where no instruction begins", pc))
			}
		default:
			if t.Item > Uninitialized {
				return nil, malformed("StackMapTable", mark, fmt.Sprintf("no such verification type: %d", t.Item))
			}
		}
		types[i] = t
	}
	return types, nil
}

// TypeAnnotation is an annotation on a type that is used within the body. At and Ranges hold
// in place of the offsets of its target.
type TypeAnnotation struct {
	classfile.TypeAnnotation
	Ranges []TypeRange // where the annotated local variable lives
	At     *Node       // label of the annotated instruction
	table  uint16
}

// TypeRange is a piece of a local variable's life.
type TypeRange struct {
	Start, End *Node
	Slot       uint16
}

func (l *lift) typeAnnotations(attribute classfile.Attribute) error {
	contents, err := l.Class.Decode(attribute)
	if err != nil {
		return err
	}
	for _, t := range contents.(classfile.TypeAnnotations) {
		a := TypeAnnotation{TypeAnnotation: t, table: uint16(len(l.attributes))}
		ok := true
		switch kind := t.Target.Type; kind {
		case classfile.TargetLocalVariable, classfile.TargetResource:
			a.Ranges = make([]TypeRange, len(t.Target.Ranges))
			for i, r := range t.Target.Ranges {
				a.Ranges[i] = TypeRange{l.label(int(r.Start)), l.label(int(r.Start) + int(r.Length)), r.Slot}
				ok = ok && a.Ranges[i].Start != nil && a.Ranges[i].End != nil
			}
		case classfile.TargetHandler:
		default:
			if kind < classfile.TargetLocalVariable {
				return malformed("type annotation", 0, fmt.Sprintf("target %#02x is not one of a body", uint8(kind)))
			}
			a.At = l.label(int(t.Target.Offset))
			ok = a.At != nil
		}
		if !ok {
			return malformed("type annotation", 0, "refers to an offset where no instruction begins")
		}
		l.TypeAnnotations = append(l.TypeAnnotations, a)
	}
	return nil
}
