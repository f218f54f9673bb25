package jfr

import (
	"iter"
	"math"
)

// A value is a field of an event, or a part of one. It refers to the bytes of its chunk.
type value struct {
	chunk  *chunk
	field  *fieldDef // the field that holds the value or its array; nil for none
	kind   kind
	pooled bool   // bits is its key
	bits   uint64 // a number, the length of an array, or the key in a pool
	data   []byte // starts with the text, struct or array
}

// read reads the next field at the cursor; an incomplete one is null.
func (ch *chunk) read(f *fieldDef, c *cursor) (v value) {
	ch.readInto(&v, f, c)
	return v
}

func (ch *chunk) readInto(v *value, f *fieldDef, c *cursor) {
	if !f.array {
		ch.element(v, f, c)
		return
	}
	n := c.count()
	first := c.at
	f.skipElements(n, c)
	if c.short {
		*v = value{}
		return
	}
	*v = value{chunk: ch, field: f, kind: kindArray, bits: uint64(n), data: c.data[first:c.at]}
}

// element reads the value of a field, or one element of its array.
func (ch *chunk) element(v *value, f *fieldDef, c *cursor) {
	*v = value{chunk: ch, field: f, kind: f.typ.kind, pooled: f.pooled}
	if f.pooled {
		v.bits = c.long()
	} else {
		switch v.kind {
		case kindLong:
			v.bits = c.long()
		case kindInt:
			v.bits = uint64(uint32(c.int()))
		case kindBool, kindByte:
			v.bits = uint64(c.byte())
		case kindShort, kindChar:
			v.bits = uint64(c.int16())
		case kindFloat:
			v.bits = uint64(math.Float32bits(c.float()))
		case kindDouble:
			v.bits = math.Float64bits(c.double())
		default:
			from := c.at
			f.typ.skip(c)
			v.data = c.data[from:c.at]
			if f.typ.empty {
				v.kind = kindNull
			}
		}
	}
	if c.short {
		*v = value{}
	}
}

// pooledValue returns the value at the start of bytes of a pool. Finding its end would take
// time and is not needed.
func (ch *chunk) pooledValue(t *typeDef, data []byte) value {
	switch {
	case t.empty:
		return value{}
	case t.kind == kindStruct || t.kind == kindString:
		return value{chunk: ch, field: &t.alone, kind: t.kind, data: data}
	}
	c := cursor{data: data, fixed: ch.fixed}
	return ch.read(&t.alone, &c)
}

// fields reads the fields of a type from bytes, up to the first incomplete one.
func (ch *chunk) fields(t *typeDef, data []byte) iter.Seq2[*fieldDef, value] {
	return func(yield func(*fieldDef, value) bool) {
		c := cursor{data: data, fixed: ch.fixed}
		var v value
		for i := range t.fields {
			f := &t.fields[i]
			ch.readInto(&v, f, &c)
			if c.short || !yield(f, v) {
				return
			}
		}
	}
}

// maxSteps bounds the chain of values that stand for other values.
const maxSteps = 8

// isIndirect reports whether the value may stand for another one.
func (v *value) isIndirect() bool { return v.pooled || v.kind == kindStruct }

// resolve returns the value that v stands for: the value in its pool, or the only field of
// a simple type.
func (v value) resolve() value {
	for range maxSteps {
		switch {
		case v.pooled:
			t := v.field.typ
			data := v.chunk.pools.find(t, v.bits)
			if data == nil {
				return value{}
			}
			v = v.chunk.pooledValue(t, data)
		case v.kind == kindStruct && v.field.typ.simple && len(v.field.typ.fields) == 1:
			c := cursor{data: v.data, fixed: v.chunk.fixed}
			v = v.chunk.read(&v.field.typ.fields[0], &c)
		default:
			return v
		}
	}
	return value{}
}

// isStruct reports whether the value is a struct that the chunk holds.
func (v value) isStruct() bool {
	if v.pooled && v.kind == kindStruct && !v.field.typ.simple {
		return !v.field.typ.empty && v.chunk.pools.find(v.field.typ, v.bits) != nil
	}
	return v.resolve().kind == kindStruct
}

// int returns the value of an integer or boolean, and 0 for other kinds. An unsigned number
// of 64 bits keeps its bits.
func (v value) int() int64 {
	if v.isIndirect() {
		v = v.resolve()
	}
	switch v.kind {
	case kindBool, kindChar, kindLong:
		return int64(v.bits)
	case kindByte, kindShort, kindInt:
		if v.field.unsigned {
			return int64(v.bits)
		}
	}
	switch v.kind {
	case kindByte:
		return int64(int8(v.bits))
	case kindShort:
		return int64(int16(v.bits))
	case kindInt:
		return int64(int32(v.bits))
	}
	return 0
}

func (v value) bool() bool { return v.int() != 0 }

// text returns the value of a string, and "" for other kinds. Strings of pools are decoded
// once.
func (v value) text() string {
	if !v.pooled {
		return v.decodeText()
	}
	if v.chunk.pools.find(v.field.typ, v.bits) == nil {
		return ""
	}
	texts := &v.field.typ.pool.texts
	text, known := texts.get(v.bits)
	if !known {
		text = v.decodeText()
		texts.put(v.bits, text)
	}
	return text
}

func (v value) decodeText() string {
	for range maxSteps {
		if v.isIndirect() {
			v = v.resolve()
		}
		if v.kind != kindString {
			return ""
		}
		c := cursor{data: v.data, fixed: v.chunk.fixed}
		text, key, pooled := c.text()
		if !pooled {
			return text
		}
		v = value{chunk: v.chunk, field: v.field, pooled: true, bits: key}
	}
	return ""
}

// member returns a field of a struct by its name, null if there is none.
func (v value) member(name string) value {
	for f, field := range v.members() {
		if f.name == name {
			return field
		}
	}
	return value{}
}

// members are the fields of a struct in their order.
func (v value) members() iter.Seq2[*fieldDef, value] {
	s := v.resolve()
	if s.kind != kindStruct || s.field.typ.broken {
		return func(func(*fieldDef, value) bool) {}
	}
	return s.chunk.fields(s.field.typ, s.data)
}
