package jfr

import (
	"encoding/binary"
	"iter"
	"math"
)

// A value is a field of an event, or a part of one. It refers to the bytes of its chunk and
// is decoded on demand.
type value struct {
	chunk *chunk
	field *fieldDef // the field that holds the value; nil if there is none
	data  []byte    // starts with the value, or with its key if it is in a pool
}

// fields reads the fields of a type at the cursor, up to the first incomplete one.
func (ch *chunk) fields(t *typeDef, c *cursor) iter.Seq2[*fieldDef, value] {
	return func(yield func(*fieldDef, value) bool) {
		for i := range t.fields {
			f, from := &t.fields[i], c.at
			f.skip(c)
			if c.short || !yield(f, value{ch, f, c.data[from:c.at]}) {
				return
			}
		}
	}
}

// isPooled reports whether the value is in a pool, and returns its key.
func (v value) isPooled() (key uint64, pooled bool) {
	if v.field == nil || !v.field.pooled || v.field.array {
		return 0, false
	}
	c := cursor{data: v.data}
	return c.long(), true
}

// maxSteps bounds the chain of values that stand for other values.
const maxSteps = 8

// resolve returns the value that v stands for: the value in its pool, or the only field of
// a simple type.
func (v value) resolve() value {
	for range maxSteps {
		if v.field == nil || v.field.array {
			return v
		}
		key, pooled := v.isPooled()
		switch t := v.field.typ; {
		case pooled:
			v = v.chunk.find(t, key)
		case t.simple && len(t.fields) == 1:
			v.field = &t.fields[0]
		default:
			return v
		}
	}
	return value{}
}

// find returns a value of a pool.
func (ch *chunk) find(t *typeDef, key uint64) value {
	data, ok := ch.pools[t.id][key]
	if !ok {
		return value{}
	}
	return value{ch, &t.alone, data}
}

// kind returns the kind of a value that was resolved.
func (v value) kind() kind {
	switch {
	case v.field == nil:
		return kindNull
	case v.field.array:
		return kindArray
	}
	return v.field.typ.kind
}

// int returns the value of an integer or boolean, and 0 for other kinds.
func (v value) int() int64 {
	v = v.resolve()
	c := cursor{data: v.data}
	switch v.kind() {
	case kindBool, kindByte:
		return int64(int8(c.byte()))
	case kindShort:
		return int64(int16(c.long()))
	case kindChar:
		return int64(uint16(c.long()))
	case kindInt:
		return int64(int32(c.long()))
	case kindLong:
		return int64(c.long())
	}
	return 0
}

// float returns the value of a float, and 0 for other kinds.
func (v value) float() float64 {
	v = v.resolve()
	if v.kind() != kindFloat || len(v.data) < 4 {
		return 0
	}
	return float64(math.Float32frombits(binary.BigEndian.Uint32(v.data)))
}

func (v value) bool() bool { return v.int() != 0 }

// text returns the value of a string, and "" for other kinds.
func (v value) text() string {
	for range maxSteps {
		v = v.resolve()
		if v.kind() != kindString {
			return ""
		}
		c := cursor{data: v.data}
		text, key, pooled := c.text()
		if !pooled {
			return text
		}
		v = v.chunk.find(v.field.typ, key)
	}
	return ""
}

// isStruct reports whether the value is a struct that the chunk holds.
func (v value) isStruct() bool { return v.resolve().kind() == kindStruct }

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
	if s.kind() != kindStruct || s.field.typ.broken {
		return func(func(*fieldDef, value) bool) {}
	}
	return s.chunk.fields(s.field.typ, &cursor{data: s.data})
}
