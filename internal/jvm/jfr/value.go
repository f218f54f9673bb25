package jfr

import (
	"math"
	"time"
)

// A Value is one of an event. It reads from the chunk it is of, so it is valid
// as long as its event is; numbers and texts taken from it last.
type Value struct {
	chunk  *chunk
	field  *Field // that it is of, or is an element of; nil for none
	kind   Kind
	pooled bool   // bits are its key
	bits   uint64 // of a number; of an array how many; the key of what is in a pool
	data   []byte // of a text, struct, array: begins with it
}

// Kind says what the value is made of; Null where there is none.
func (v Value) Kind() Kind {
	if v.pooled && v.kind == Struct && !v.field.Type.Simple {
		if v.field.Type.empty || v.chunk.pools.find(v.field.Type, v.bits) == nil {
			return Null
		}
		return Struct
	}
	if v.stands() {
		v = v.settled()
	}
	if v.kind == String && len(v.data) > 0 {
		switch v.data[0] {
		case textNull:
			return Null
		case textPooled:
			c := cursor{data: v.data[1:], fixed: v.chunk.fixed}
			return Value{chunk: v.chunk, field: v.field, pooled: true, bits: c.long()}.settled().kind
		}
	}
	return v.kind
}

// Type is that of the value, or of its elements where it is an array; nil where
// there is none.
func (v Value) Type() *Type {
	if v.field == nil {
		return nil
	}
	return v.field.Type
}

// Key names the value in the pool of its type: two values of one chunk and type
// with the same key are the same. It is 0 where the value is in no pool.
func (v Value) Key() uint64 {
	if v.pooled {
		return v.bits
	}
	return 0
}

// Int is the value of integers and booleans, 0 of others. Of unsigned fields of
// 64 bits it has the bits.
func (v Value) Int() int64 {
	if v.stands() {
		v = v.settled()
	}
	switch v.kind {
	case Bool, Char, Long:
		return int64(v.bits)
	case Byte, Short, Int:
		if v.field.unsigned {
			return int64(v.bits)
		}
	}
	switch v.kind {
	case Byte:
		return int64(int8(v.bits))
	case Short:
		return int64(int16(v.bits))
	case Int:
		return int64(int32(v.bits))
	}
	return 0
}

// Bool is the value of booleans.
func (v Value) Bool() bool { return v.Int() != 0 }

// Float is the value of floating point numbers, and of integers.
func (v Value) Float() float64 {
	if v.stands() {
		v = v.settled()
	}
	switch v.kind {
	case Float:
		return float64(math.Float32frombits(uint32(v.bits)))
	case Double:
		return math.Float64frombits(v.bits)
	}
	return float64(v.Int())
}

func (v *Value) unit() unit {
	if v.field == nil {
		return unitNone
	}
	return v.field.unit
}

// Duration is the value of fields that are lengths of time. One that is longer
// than a Duration can be is as long as one can be: the JVM has such for ever.
func (v Value) Duration() time.Duration {
	n := v.Int()
	scale := int64(1)
	switch v.unit() {
	case unitTicks:
		return time.Duration(v.chunk.header.span(n))
	case unitMicros:
		scale = int64(time.Microsecond)
	case unitMillis:
		scale = int64(time.Millisecond)
	case unitSeconds:
		scale = int64(time.Second)
	}
	switch {
	case n > math.MaxInt64/scale:
		return math.MaxInt64
	case n < math.MinInt64/scale:
		return math.MinInt64
	}
	return time.Duration(n * scale)
}

// Time is the value of fields that are instants, the zero time of others and of
// those that the JVM left open.
func (v Value) Time() time.Time {
	n := v.Int()
	switch {
	case n == math.MinInt64:
	case v.unit() == unitTickTime:
		return v.chunk.header.time(n)
	case v.unit() == unitSinceEpoch:
		return time.UnixMilli(n)
	}
	return time.Time{}
}

// Text is the value of texts, "" of others.
func (v Value) Text() string {
	if !v.pooled {
		return v.text()
	}
	if v.chunk.pools.find(v.field.Type, v.bits) == nil {
		return ""
	}
	texts := &v.field.Type.pool.texts
	text, known := texts.get(v.bits)
	if !known {
		text = v.text()
		texts.put(v.bits, text)
	}
	return text
}

func (v Value) text() string {
	for range maxSteps {
		if v.stands() {
			v = v.settled()
		}
		if v.kind != String {
			return ""
		}
		c := cursor{data: v.data, fixed: v.chunk.fixed}
		text, key, pooled := c.text()
		if !pooled {
			return text
		}
		v = Value{chunk: v.chunk, field: v.field, pooled: true, bits: key}
	}
	return ""
}

// Field is a field of a struct, Null where it has none of that name.
func (v Value) Field(name string) Value {
	for f, field := range v.Fields() {
		if f.Name == name {
			return field
		}
	}
	return Value{}
}

// Fields are those of a struct, in their order.
func (v Value) Fields() func(yield func(*Field, Value) bool) {
	return func(yield func(*Field, Value) bool) {
		s := v.settled()
		if s.kind == Struct && !s.field.Type.broken {
			s.chunk.fields(s.field.Type, s.data, yield)
		}
	}
}

// Len is how many elements an array has, 0 for others.
func (v Value) Len() int {
	if s := v.settled(); s.kind == Array {
		return int(s.bits)
	}
	return 0
}

// Elements are those of an array.
func (v Value) Elements() func(yield func(Value) bool) {
	return func(yield func(Value) bool) {
		s := v.settled()
		if s.kind != Array {
			return
		}
		c := cursor{data: s.data, fixed: s.chunk.fixed}
		var v Value
		for range s.bits {
			s.chunk.element(&v, s.field, &c)
			if !yield(v) {
				return
			}
		}
	}
}
