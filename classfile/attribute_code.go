package classfile

import (
	"math"
)

// Code is a method's body as the file has it. Package code makes an editable list
// of it.
//
//	u2 max_stack, max_locals;
//	u4 n; u1 code[n];
//	u2 n; { u2 start, end, handler, type; } handlers[n];
//	u2 n; attribute attributes[n];
type Code struct {
	MaxStack, MaxLocals uint16
	Bytes               []byte
	Handlers            []Handler
	Attributes          []Attribute
}

// Handler is one row of the exception table: offsets into the code, End being the
// first one no longer covered.
type Handler struct {
	Start, End, Handler uint16
	Type                uint16 // Class entry; 0 catches all
}

// Code decodes the Code attribute among the attributes of a method. It returns nil where
// there is none.
func (c *Class) Code(attributes []Attribute) (*Code, error) {
	attribute := c.Find(attributes, KindCode)
	if attribute == nil {
		return nil, nil
	}
	contents, err := c.Decode(*attribute)
	if err != nil {
		return nil, err
	}
	return contents.(*Code), nil
}

func (in *decoder) code() *Code {
	c := &Code{MaxStack: in.u2(), MaxLocals: in.u2()}
	at := in.at
	size := in.u4()
	if int64(size) > int64(in.left()) {
		in.defect(at, "%d bytes of code do not fit in %d", size, in.left())
		return nil
	}
	c.Bytes = in.bytes(int(size))
	c.Handlers = make([]Handler, in.count(8, "handlers"))
	for i := range c.Handlers {
		c.Handlers[i] = Handler{in.u2(), in.u2(), in.u2(), in.refOrNone(classEntry)}
	}
	c.Attributes = in.attributes()
	return c
}

// AppendTo implements [Contents].
func (c *Code) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "Code"}
	out.u2(c.MaxStack, c.MaxLocals)
	if uint64(len(c.Bytes)) > math.MaxUint32 {
		out.defect("code exceeds 4 GiB")
	}
	out.u4(uint32(len(c.Bytes)))
	out.u1(c.Bytes...)
	out.count(len(c.Handlers), "handlers")
	for _, h := range c.Handlers {
		out.u2(h.Start, h.End, h.Handler, h.Type)
	}
	out.attributes(c.Attributes)
	return out.finish()
}

// LineNumberTable says which source line the instructions from an offset on
// come from. Several tables of one body add up.
type LineNumberTable []LineNumber

// LineNumber is one row of a LineNumberTable.
type LineNumber struct {
	Start uint16 // offset into the code
	Line  uint16
}

// LocalVariableTable names local variables and their types.
type LocalVariableTable []LocalVariable

// LocalVariableTypeTable gives the generic signatures of those that have one.
type LocalVariableTypeTable []LocalVariable

// LocalVariable is one row of a LocalVariableTable or LocalVariableTypeTable.
//
//	u2 start, length, name, type, slot;
type LocalVariable struct {
	Start, Length uint16 // offsets into the code where the variable has a value
	Name          uint16 // Utf8 entry
	Type          uint16 // Utf8 entry: descriptor, or signature in a LocalVariableTypeTable
	Slot          uint16
}

func (in *decoder) lineNumberTable() LineNumberTable {
	table := make(LineNumberTable, in.count(4, "lines"))
	for i := range table {
		table[i] = LineNumber{in.u2(), in.u2()}
	}
	return table
}

func (in *decoder) localVariables() []LocalVariable {
	table := make([]LocalVariable, in.count(10, "variables"))
	for i := range table {
		table[i] = LocalVariable{in.u2(), in.u2(), in.ref(utf8Entry), in.ref(utf8Entry), in.u2()}
	}
	return table
}

// AppendTo implements [Contents].
func (table LineNumberTable) AppendTo(dst []byte) ([]byte, error) {
	out := &encoder{dst: dst, structure: "LineNumberTable"}
	out.count(len(table), "lines")
	for _, row := range table {
		out.u2(row.Start, row.Line)
	}
	return out.finish()
}

// AppendTo implements [Contents].
func (table LocalVariableTable) AppendTo(dst []byte) ([]byte, error) {
	return appendLocalVariables(dst, "LocalVariableTable", table)
}

// AppendTo implements [Contents].
func (table LocalVariableTypeTable) AppendTo(dst []byte) ([]byte, error) {
	return appendLocalVariables(dst, "LocalVariableTypeTable", table)
}

func appendLocalVariables(dst []byte, structure string, table []LocalVariable) ([]byte, error) {
	out := &encoder{dst: dst, structure: structure}
	out.count(len(table), "variables")
	for _, v := range table {
		out.u2(v.Start, v.Length, v.Name, v.Type, v.Slot)
	}
	return out.finish()
}

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
