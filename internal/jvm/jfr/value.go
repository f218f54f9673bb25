package jfr

import (
	"fmt"
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

// A Visitor is shown events.
type Visitor struct {
	Wants func(t *Type) bool  // which types it is shown, asked once per type and metadata; nil for all
	Event func(e *Event) bool // false ends the reading; the event is valid during the call only
}

// An Event is one that the JVM recorded.
type Event struct {
	Type  *Type
	chunk *chunk
	body  []byte // its fields
}

// Start is when it began, which is when it happened for those that take no time.
func (e *Event) Start() time.Time {
	if i := e.Type.start; i != 0 || e.Type.Fields[0].unit != unitTickTime || e.Type.Fields[0].Type.kind != Long {
		return e.field(i).Time()
	}
	// So it is in every recording of a JVM.
	c := cursor{data: e.body, fixed: e.chunk.fixed}
	return e.chunk.header.time(int64(c.long()))
}

// Duration is how long it took, 0 for those that take no time.
func (e *Event) Duration() time.Duration { return e.field(e.Type.duration).Duration() }

// Field is the value of a field, Null where the type has none of that name.
func (e *Event) Field(name string) Value { return e.field(e.Type.index(name)) }

func (e *Event) field(i int) Value {
	if i < 0 {
		return Value{}
	}
	c := cursor{data: e.body, fixed: e.chunk.fixed}
	for before := range i {
		e.Type.Fields[before].skip(&c)
	}
	return e.chunk.read(&e.Type.Fields[i], &c)
}

// Fields are all of its fields in their order, each read when it is its turn.
func (e *Event) Fields() func(yield func(*Field, Value) bool) {
	return func(yield func(*Field, Value) bool) { e.chunk.fields(e.Type, e.body, yield) }
}

// Thread is the one the event happened in. It is never nil: what is not known
// of it is zero.
func (e *Event) Thread() *Thread {
	if e.Type.thread < 0 {
		return noThread
	}
	return e.chunk.thread(e.field(e.Type.thread))
}

// Stack is where the thread was, without frames where the event has none.
func (e *Event) Stack() *Stack {
	if e.Type.stack < 0 {
		return noStack
	}
	return e.chunk.stackOf(e.field(e.Type.stack))
}

// Check says whether the fields are as long as the event: it is nil for every
// event that the metadata describes rightly.
func (e *Event) Check() error {
	c := cursor{data: e.body, fixed: e.chunk.fixed}
	e.Type.skip(&c)
	switch {
	case c.short:
		return fmt.Errorf("event %s of %d bytes: %w", e.Type.Name, len(e.body), errShort)
	case c.left() > 0:
		return fmt.Errorf("event %s of %d bytes: %d are left after its fields", e.Type.Name, len(e.body), c.left())
	}
	return nil
}
