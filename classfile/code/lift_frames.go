package code

import "fmt"

// stackMap lifts a StackMapTable: a frame mark before the instruction each frame
// speaks of.
func (l *lift) stackMap(data []byte) error {
	if len(l.frames) > 0 {
		return malformed("StackMapTable", 0, "a body has one at most")
	}
	in := reader{data: data}
	count := in.u2()
	pc := -1
	for range count {
		mark := in.at
		f := Frame{Form: FrameForm(in.u1())}
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
			delta = in.u2()
			f.Stack, err = l.types(&in, 1)
		case f.Form <= SameFrameFar:
			delta = in.u2()
		case f.Form < FullFrame:
			delta = in.u2()
			f.Locals, err = l.types(&in, int(f.Form-SameFrameFar))
		default:
			delta = in.u2()
			if f.Locals, err = l.types(&in, in.u2()); err == nil {
				f.Stack, err = l.types(&in, in.u2())
			}
		}
		if err != nil {
			return err
		}
		if in.short {
			return malformed("StackMapTable", in.at, "truncated")
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
	if in.short || in.at != len(data) {
		return malformed("StackMapTable", in.at, "its frames do not fill it")
	}
	return nil
}

func (l *lift) types(in *reader, n int) ([]Type, error) {
	if n > len(in.data)-in.at {
		return nil, malformed("StackMapTable", in.at, fmt.Sprintf("%d types do not fit", n))
	}
	types := l.memory.newTypes(n)
	for i := range types {
		mark := in.at
		t := Type{Item: Item(in.u1())}
		switch t.Item {
		case Object:
			t.Class = uint16(in.u2())
		case Uninitialized:
			pc := in.u2()
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
