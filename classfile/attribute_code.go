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
	at := x.At
	size := x.U4()
	if int64(size) > int64(x.Left()) {
		x.defect(at, "%d bytes of code do not fit in %d", size, x.Left())
	}
	*b = x.Bytes(int(size))
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
