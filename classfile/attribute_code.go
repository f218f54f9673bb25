package classfile

import "math"

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
