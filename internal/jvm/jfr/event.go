package jfr

import (
	"fmt"
	"time"
)

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
