package classfile

// StackMapTable gives the types of locals and stack where branches of a body meet.
type StackMapTable []StackMapFrame

// StackMapFrame is one frame in the file's own, compressed form.
//
//	tag   0–63    same            offset delta is tag
//	tag  64–127   same, 1 stack   offset delta is tag-64; a type
//	tag 247       same, 1 stack   u2 offset delta; a type
//	tag 248–250   chop            u2 offset delta; the last 251-tag locals are gone
//	tag 251       same            u2 offset delta
//	tag 252–254   append          u2 offset delta; tag-251 types
//	tag 255       full            u2 offset delta; u2 n, types of n locals; u2 n, of n on the stack
type StackMapFrame struct {
	Tag         uint8
	OffsetDelta uint16 // for tags below 128 it follows from the tag
	Locals      []VerificationType
	Stack       []VerificationType
}

// The tags that are not a range, and the first ones of those that are.
const (
	FrameSameLocals1         = 64
	FrameReserved            = 128
	FrameSameLocals1Extended = 247
	FrameChop                = 248
	FrameSameExtended        = 251
	FrameAppend              = 252
	FrameFull                = 255
)

// VerificationType is the type of a local or of a value on the stack.
type VerificationType struct {
	Tag   TypeTag
	Value uint16 // TypeObject: Class entry; TypeUninitialized: offset of the new
}

// TypeTag is the kind of a VerificationType.
type TypeTag uint8

// The kinds of JVMS 4.7.4.
const (
	TypeTop TypeTag = iota
	TypeInteger
	TypeFloat
	TypeDouble
	TypeLong
	TypeNull
	TypeUninitializedThis
	TypeObject
	TypeUninitialized
)

func (in *decoder) stackMapTable() StackMapTable {
	table := make(StackMapTable, in.count(1, "frames"))
	for i := range table {
		table[i] = in.stackMapFrame()
	}
	return table
}

func (in *decoder) stackMapFrame() StackMapFrame {
	at := in.at
	f := StackMapFrame{Tag: in.u1()}
	if f.Tag >= FrameReserved && f.Tag < FrameSameLocals1Extended {
		in.defect(at, "frame tag %d is reserved", f.Tag)
		return f
	}
	switch {
	case f.Tag < FrameSameLocals1:
		f.OffsetDelta = uint16(f.Tag)
	case f.Tag < FrameReserved:
		f.OffsetDelta = uint16(f.Tag - FrameSameLocals1)
	default:
		f.OffsetDelta = in.u2()
	}
	switch {
	case f.Tag == FrameFull:
		f.Locals = in.verificationTypes(in.count(1, "locals"))
		f.Stack = in.verificationTypes(in.count(1, "stack values"))
	case f.Tag >= FrameAppend:
		f.Locals = in.verificationTypes(int(f.Tag - FrameSameExtended))
	case f.Tag >= FrameSameLocals1 && f.Tag <= FrameSameLocals1Extended:
		f.Stack = in.verificationTypes(1)
	}
	return f
}

func (in *decoder) verificationTypes(n int) []VerificationType {
	list := make([]VerificationType, n)
	for i := range list {
		at := in.at
		list[i].Tag = TypeTag(in.u1())
		switch {
		case list[i].Tag > TypeUninitialized:
			in.defect(at, "no such verification type: %d", list[i].Tag)
			return nil
		case list[i].Tag == TypeObject:
			list[i].Value = in.ref(classEntry)
		case list[i].Tag == TypeUninitialized:
			list[i].Value = in.u2()
		}
	}
	return list
}

// AppendTo implements [Contents]. It demands that each frame has as many types as
// its tag says.
func (table StackMapTable) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "StackMapTable"}
	out.count(len(table), "frames")
	for i := range table {
		out.stackMapFrame(&table[i])
	}
	return out.finish()
}

func (out *encoder) stackMapFrame(f *StackMapFrame) {
	locals, stack := 0, 0
	switch {
	case f.Tag == FrameFull:
		locals, stack = len(f.Locals), len(f.Stack)
	case f.Tag >= FrameAppend:
		locals = int(f.Tag - FrameSameExtended)
	case f.Tag >= FrameSameLocals1 && f.Tag <= FrameSameLocals1Extended:
		stack = 1
	}
	if len(f.Locals) != locals || len(f.Stack) != stack {
		out.defect("a frame with tag %d has %d locals and %d stack values", f.Tag, len(f.Locals), len(f.Stack))
	}
	out.u1(f.Tag)
	if f.Tag >= FrameSameLocals1Extended {
		out.u2(f.OffsetDelta)
	}
	if f.Tag == FrameFull {
		out.count(locals, "locals")
	}
	out.verificationTypes(f.Locals)
	if f.Tag == FrameFull {
		out.count(stack, "stack values")
	}
	out.verificationTypes(f.Stack)
}

func (out *encoder) verificationTypes(list []VerificationType) {
	for _, t := range list {
		out.u1(uint8(t.Tag))
		if t.Tag >= TypeObject {
			out.u2(t.Value)
		}
	}
}
