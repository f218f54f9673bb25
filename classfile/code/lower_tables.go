package code

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/sonde-jvm/sonde/classfile"
)

// appendTables writes the exception table and the attributes, with the positions that
// emit gave to the labels.
func (b *Body) appendTables(dst []byte) ([]byte, error) {
	if len(b.Handlers) > math.MaxUint16 {
		return dst, malformed("exception table", len(dst), "more than 65535 handlers")
	}
	dst = u2(dst, len(b.Handlers))
	for i := range b.Handlers {
		h := &b.Handlers[i]
		start, end, entry, catch := h.Start.pos, h.End.pos, h.Entry.pos, h.Catch
		if start|end|entry < 0 {
			return dst, errUnplaced
		}
		dst = append(dst, byte(start>>8), byte(start), byte(end>>8), byte(end),
			byte(entry>>8), byte(entry), byte(catch>>8), byte(catch))
	}
	if b.lines.shuffled {
		slices.SortStableFunc(b.lowered.lines, func(x, y *Node) int { return int(x.ref - y.ref) })
	}
	b.settleAttributes()
	dst = u2(dst, len(b.attributes))
	for i := range b.attributes {
		a := &b.attributes[i]
		dst = u2(dst, int(a.name))
		mark := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		switch {
		case a.data != nil:
			dst = append(dst, a.data...)
		case a.kind == classfile.KindLineNumberTable:
			dst = b.appendLines(dst, uint16(i))
		case a.kind == classfile.KindLocalVariableTable, a.kind == classfile.KindLocalVariableTypeTable:
			dst = b.appendVars(dst, uint16(i))
		case a.kind == classfile.KindStackMapTable:
			if dst = b.appendStackMap(dst); b.lowered.unplaced {
				return dst, errUnplaced
			}
		case a.kind == classfile.KindRuntimeVisibleTypeAnnotations, a.kind == classfile.KindRuntimeInvisibleTypeAnnotations:
			var err error
			if dst, err = b.appendTypeAnnotations(dst, uint16(i)); err != nil {
				return dst, err
			}
		}
		binary.BigEndian.PutUint32(dst[mark:], uint32(len(dst)-mark-4))
	}
	return dst, b.Class.Pool.Err()
}

// settleAttributes adds the tables that edits made necessary.
func (b *Body) settleAttributes() {
	if len(b.lowered.marks) > 0 && b.first(classfile.KindStackMapTable) < 0 {
		b.addAttribute(classfile.KindStackMapTable)
	}
	if len(b.lowered.lines) > 0 && b.first(classfile.KindLineNumberTable) < 0 {
		b.addAttribute(classfile.KindLineNumberTable)
	}
	for i := range b.Vars {
		if b.Vars[i].table == 0 && b.first(classfile.KindLocalVariableTable) < 0 {
			b.addAttribute(classfile.KindLocalVariableTable)
		}
	}
}

// first returns the index of the first attribute of a kind, or -1.
func (b *Body) first(kind classfile.Kind) int {
	return slices.IndexFunc(b.attributes, func(a attribute) bool { return a.kind == kind })
}

func (b *Body) addAttribute(kind classfile.Kind) {
	b.attributes = append(b.attributes, attribute{name: b.Class.AttributeName(kind), kind: kind})
}

func u2(dst []byte, v int) []byte { return append(dst, byte(v>>8), byte(v)) }

func (b *Body) appendLines(dst []byte, table uint16) []byte {
	mark, count := len(dst), 0
	dst = append(dst, 0, 0)
	first := b.first(classfile.KindLineNumberTable) == int(table)
	for _, n := range b.lowered.lines {
		// A new line belongs to the first table.
		if mine := n.off >= 0 && n.index == table || n.off < 0 && first; b.lines.tables > 1 && !mine {
			continue
		}
		dst = append(dst, byte(n.pos>>8), byte(n.pos), byte(n.value>>8), byte(n.value))
		count++
	}
	dst[mark], dst[mark+1] = byte(count>>8), byte(count)
	return dst
}

func (b *Body) appendVars(dst []byte, table uint16) []byte {
	mark, count := len(dst), 0
	first := b.first(classfile.KindLocalVariableTable) == int(table)
	dst = append(dst, 0, 0)
	for i := range b.Vars {
		v := &b.Vars[i]
		if v.table != table+1 && !(v.table == 0 && first) {
			continue
		}
		start, size := v.Start.pos, v.End.pos-v.Start.pos
		dst = append(dst, byte(start>>8), byte(start), byte(size>>8), byte(size), byte(v.Name>>8), byte(v.Name),
			byte(v.Descriptor>>8), byte(v.Descriptor), byte(v.Slot>>8), byte(v.Slot))
		count++
	}
	dst[mark], dst[mark+1] = byte(count>>8), byte(count)
	return dst
}

func (b *Body) appendTypeAnnotations(dst []byte, table uint16) ([]byte, error) {
	var list classfile.TypeAnnotations
	for i := range b.TypeAnnotations {
		a := &b.TypeAnnotations[i]
		if a.table != table {
			continue
		}
		made := a.TypeAnnotation
		if a.At != nil {
			made.Target.Offset = uint16(a.At.pos)
		}
		made.Target.Ranges = nil
		for _, r := range a.Ranges {
			length := r.End.pos - r.Start.pos
			made.Target.Ranges = append(made.Target.Ranges, classfile.Range{Start: uint16(r.Start.pos), Length: uint16(length), Slot: r.Slot})
		}
		list = append(list, made)
	}
	return classfile.AppendContents(dst, list)
}

// appendStackMap writes the frames that emit found, each in its form.
func (b *Body) appendStackMap(dst []byte) []byte {
	marks := b.lowered.marks
	dst = u2(dst, len(marks))
	last := int32(-1)
	var before *Frame
	for _, n := range marks {
		f := &b.frames[n.ref]
		delta := int(n.pos - last - 1)
		last = n.pos
		form := f.Form
		if form == Absolute {
			form = briefest(before, f)
		}
		switch form {
		case SameFrame:
			if delta <= int(lastSame) {
				dst = append(dst, byte(delta))
			} else {
				dst = append(dst, byte(SameFrameFar), byte(delta>>8), byte(delta))
			}
		case SameLocals1:
			if delta <= int(lastSame) {
				dst = append(dst, byte(SameLocals1)+byte(delta))
			} else {
				dst = append(dst, byte(SameLocals1Far), byte(delta>>8), byte(delta))
			}
			dst = b.appendTypes(dst, f.Stack)
		case SameLocals1Far:
			dst = b.appendTypes(append(dst, byte(form), byte(delta>>8), byte(delta)), f.Stack)
		case FullFrame:
			locals := len(f.Locals)
			dst = append(dst, byte(form), byte(delta>>8), byte(delta), byte(locals>>8), byte(locals))
			dst = b.appendTypes(dst, f.Locals)
			dst = b.appendTypes(u2(dst, len(f.Stack)), f.Stack)
		default: // chop, same far, append
			dst = b.appendTypes(append(dst, byte(form), byte(delta>>8), byte(delta)), f.Locals)
		}
		before = f
	}
	return dst
}

// briefest chooses a form for an expanded frame: consecutive frames often have the same
// locals.
func briefest(before, f *Frame) FrameForm {
	if before == nil || before.Form != Absolute || len(f.Stack) > 1 || !sameTypes(before.Locals, f.Locals) {
		return FullFrame
	}
	if len(f.Stack) == 1 {
		return SameLocals1
	}
	return SameFrame
}

func sameTypes(a, b []Type) bool {
	return len(a) == len(b) && (unsafe.SliceData(a) == unsafe.SliceData(b) || slices.Equal(a, b))
}

func (b *Body) appendTypes(dst []byte, types []Type) []byte {
	for i := range types {
		t := &types[i]
		switch t.Item {
		case Object:
			dst = append(dst, byte(Object), byte(t.Class>>8), byte(t.Class))
		case Uninitialized:
			b.lowered.unplaced = b.lowered.unplaced || t.New.pos < 0
			dst = append(dst, byte(Uninitialized), byte(t.New.pos>>8), byte(t.New.pos))
		default:
			dst = append(dst, byte(t.Item))
		}
	}
	return dst
}
