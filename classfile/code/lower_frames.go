package code

import "unsafe"

// appendStackMap writes the frames that emit met, relative to each other as their
// form asks.
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

// briefest chooses a form for a frame told in full: the locals of consecutive
// frames are often the very same.
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
	if len(a) != len(b) {
		return false
	}
	if unsafe.SliceData(a) == unsafe.SliceData(b) {
		return true
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
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
