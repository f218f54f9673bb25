package jfr

import "math"

// read takes the next field from the cursor, as a Null where it is not whole.
func (ch *chunk) read(f *Field, c *cursor) (v Value) {
	ch.readInto(&v, f, c)
	return v
}

func (ch *chunk) readInto(v *Value, f *Field, c *cursor) {
	if !f.Array {
		ch.element(v, f, c)
		return
	}
	n := c.count()
	first := c.at
	f.skipElements(n, c)
	if c.short {
		*v = Value{}
		return
	}
	*v = Value{chunk: ch, field: f, kind: Array, bits: uint64(n), data: c.data[first:c.at]}
}

// element reads one value of a field, array or not.
func (ch *chunk) element(v *Value, f *Field, c *cursor) {
	*v = Value{chunk: ch, field: f, kind: f.Type.kind, pooled: f.Pooled}
	if f.Pooled {
		v.bits = c.long()
	} else {
		switch v.kind {
		case Long:
			v.bits = c.long()
		case Int:
			v.bits = uint64(uint32(c.int()))
		case Bool, Byte:
			v.bits = uint64(c.byte())
		case Short, Char:
			v.bits = uint64(c.int16())
		case Float:
			v.bits = uint64(math.Float32bits(c.float()))
		case Double:
			v.bits = math.Float64bits(c.double())
		default:
			from := c.at
			f.Type.skip(c)
			v.data = c.data[from:c.at]
			if f.Type.empty {
				v.kind = Null
			}
		}
	}
	if c.short {
		*v = Value{}
	}
}

// pooled is a value that bytes of a pool begin with. Where it ends is of no
// interest, and would take time to find out.
func (ch *chunk) pooled(t *Type, data []byte) Value {
	switch {
	case t.empty:
		return Value{}
	case t.kind == Struct || t.kind == String:
		return Value{chunk: ch, field: &t.alone, kind: t.kind, data: data}
	}
	c := cursor{data: data, fixed: ch.fixed}
	return ch.read(&t.alone, &c)
}

// fields reads those of a type from bytes, as far as they go.
func (ch *chunk) fields(t *Type, data []byte, yield func(*Field, Value) bool) {
	c := cursor{data: data, fixed: ch.fixed}
	var v Value
	for i := range t.Fields {
		f := &t.Fields[i]
		ch.readInto(&v, f, &c)
		if c.short || !yield(f, v) {
			return
		}
	}
}

// maxSteps is how often a value may stand for another.
const maxSteps = 8

// stands says whether the value may stand for another.
func (v *Value) stands() bool { return v.pooled || v.kind == Struct }

// settled follows what the value stands for: the pool it is in, and the only
// field of types that are no more than that.
func (v Value) settled() Value {
	for range maxSteps {
		switch {
		case v.pooled:
			t := v.field.Type
			data := v.chunk.pools.find(t, v.bits)
			if data == nil {
				return Value{}
			}
			v = v.chunk.pooled(t, data)
		case v.kind == Struct && v.field.Type.Simple && len(v.field.Type.Fields) == 1:
			c := cursor{data: v.data, fixed: v.chunk.fixed}
			v = v.chunk.read(&v.field.Type.Fields[0], &c)
		default:
			return v
		}
	}
	return Value{}
}
