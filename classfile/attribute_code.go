package classfile

import (
	"encoding/binary"
	"math"
)

// Code is a method's body in the form of the class file. Package code turns it into an
// editable list.
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

func (c *Code) transfer(x *codec) Contents {
	if !x.writing {
		c = new(Code)
	}
	x.u2(&c.MaxStack, &c.MaxLocals)
	x.instructions(&c.Bytes)
	table(x, &c.Handlers, 8, "handlers", func(h *Handler) {
		x.u2(&h.Start, &h.End, &h.Handler)
		x.refOrNone(&h.Type, classEntry)
	})
	x.attributes(&c.Attributes)
	return c
}

// instructions transfers bytes after their length.
func (x *codec) instructions(b *[]byte) {
	if x.writing {
		if uint64(len(*b)) > math.MaxUint32 {
			x.defect(0, "code exceeds 4 GiB")
		}
		x.dst = binary.BigEndian.AppendUint32(x.dst, uint32(len(*b)))
		x.dst = append(x.dst, *b...)
		return
	}
	at := x.at
	size := x.u4()
	if int64(size) > int64(x.left()) {
		x.defect(at, "%d bytes of code do not fit in %d", size, x.left())
	}
	*b = x.bytes(int(size))
}

// LineNumberTable maps code offsets to source lines. A body may have several, which
// complement each other.
type LineNumberTable []LineNumber

// LineNumber is one row of a LineNumberTable.
type LineNumber struct {
	Start uint16 // offset into the code
	Line  uint16
}

// LocalVariableTable names local variables and their types.
type LocalVariableTable []LocalVariable

// LocalVariableTypeTable gives the generic signatures of the local variables that have one.
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

func (l LineNumberTable) transfer(x *codec) Contents {
	table(x, &l, 4, "lines", func(line *LineNumber) { x.u2(&line.Start, &line.Line) })
	return l
}

func (l LocalVariableTable) transfer(x *codec) Contents {
	table(x, &l, 10, "variables", x.localVariable)
	return l
}

func (l LocalVariableTypeTable) transfer(x *codec) Contents {
	table(x, &l, 10, "variables", x.localVariable)
	return l
}

func (x *codec) localVariable(v *LocalVariable) {
	x.u2(&v.Start, &v.Length)
	x.ref(&v.Name, utf8Entry)
	x.ref(&v.Type, utf8Entry)
	x.u2(&v.Slot)
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

// The single frame tags, and the first tag of each range.
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

func (l StackMapTable) transfer(x *codec) Contents {
	table(x, &l, 1, "frames", x.stackMapFrame)
	return l
}

func (x *codec) stackMapFrame(f *StackMapFrame) {
	at := x.at
	x.u1(&f.Tag)
	switch {
	case f.Tag >= FrameSameLocals1Extended:
		x.u2(&f.OffsetDelta)
	case f.Tag >= FrameReserved:
		x.defect(at, "frame tag %d is reserved", f.Tag)
		return
	case !x.writing:
		f.OffsetDelta = uint16(f.Tag % FrameSameLocals1)
	}
	if f.Tag == FrameFull {
		table(x, &f.Locals, 1, "locals", x.verificationType)
		table(x, &f.Stack, 1, "stack values", x.verificationType)
		return
	}
	locals, stack := f.counts()
	if !x.writing && locals > 0 {
		f.Locals = make([]VerificationType, locals)
	}
	if !x.writing && stack > 0 {
		f.Stack = make([]VerificationType, stack)
	}
	if len(f.Locals) != locals || len(f.Stack) != stack {
		x.defect(at, "a frame with tag %d has %d locals and %d stack values", f.Tag, len(f.Locals), len(f.Stack))
		return
	}
	for i := range f.Locals {
		x.verificationType(&f.Locals[i])
	}
	for i := range f.Stack {
		x.verificationType(&f.Stack[i])
	}
}

// counts returns how many types follow a frame's tag, unless it is a full frame.
func (f *StackMapFrame) counts() (locals, stack int) {
	switch {
	case f.Tag >= FrameAppend:
		return int(f.Tag - FrameSameExtended), 0
	case f.Tag >= FrameSameLocals1 && f.Tag <= FrameSameLocals1Extended:
		return 0, 1
	}
	return 0, 0
}

func (x *codec) verificationType(t *VerificationType) {
	at := x.at
	x.u1((*uint8)(&t.Tag))
	switch {
	case t.Tag > TypeUninitialized:
		x.defect(at, "no such verification type: %d", t.Tag)
	case t.Tag == TypeUninitialized:
		x.u2(&t.Value)
	case t.Tag == TypeObject:
		x.ref(&t.Value, classEntry)
	}
}
