package jfr

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// The parser is judged by all events of a recording, not by samples alone. This file reads
// them with the types, pools and values of the product.

// An event is any event of a recording.
type event struct {
	typ   *typeDef
	chunk *chunk
	body  []byte // its fields
}

func (e event) fields() iter.Seq2[*fieldDef, value] { return e.chunk.fields(e.typ, e.body) }

// check reports whether the fields are as long as the event.
func (e event) check() error {
	c := cursor{data: e.body, fixed: e.chunk.fixed}
	e.typ.skip(&c)
	switch {
	case c.short:
		return fmt.Errorf("event %s of %d bytes: %w", e.typ.name, len(e.body), errShort)
	case c.left() > 0:
		return fmt.Errorf("event %s of %d bytes: %d are left after its fields", e.typ.name, len(e.body), c.left())
	}
	return nil
}

// readChunks reads a recording of several chunks, one after the other, and calls visit, if
// there is one, for every event.
func readChunks(data []byte, visit func(event)) (all Batch, err error) {
	for len(data) > 0 {
		h, err := parseHeader(data)
		if err != nil {
			return all, err
		}
		if h.size < headerSize || h.ticksPerSecond <= 0 {
			return all, errors.New("the chunk has no size or no clock")
		}
		ch := newChunk(h, "")
		ch.out = &all
		size := min(h.size, int64(len(data)))
		p := piece{data: data[:size], cut: size < h.size}
		ch.add(p)
		if visit != nil && ch.meta != nil {
			ch.each(p, visit)
		}
		ch.finish()
		data = data[size:]
	}
	return all, nil
}

// each visits the events of a piece that was added.
func (ch *chunk) each(p piece, visit func(event)) {
	out := ch.out
	ch.out = &Batch{} // the survey has reported its losses
	found := ch.survey(p)
	ch.out = out
	for _, r := range found.runs {
		for at := r.from; at < r.to; {
			size, id, body, _ := ch.head(p.data, at)
			if t := ch.meta.lookup(id); t != nil && t.event && !t.broken {
				visit(event{t, ch, p.data[body : at+size]})
			}
			at += size
		}
	}
}

// realKind is the kind of the value that v stands for; kindNull if there is none.
func (v value) realKind() kind {
	v = v.resolve()
	if v.kind == kindString && len(v.data) > 0 {
		switch v.data[0] {
		case textNull:
			return kindNull
		case textPooled:
			c := cursor{data: v.data[1:], fixed: v.chunk.fixed}
			return value{chunk: v.chunk, field: v.field, pooled: true, bits: c.long()}.resolve().kind
		}
	}
	return v.kind
}

// float is the value of floating point numbers, and of integers.
func (v value) float() float64 {
	v = v.resolve()
	switch v.kind {
	case kindFloat:
		return float64(math.Float32frombits(uint32(v.bits)))
	case kindDouble:
		return math.Float64frombits(v.bits)
	}
	return float64(v.int())
}

// elements are the elements of an array.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		s := v.resolve()
		if s.kind != kindArray {
			return
		}
		c := cursor{data: s.data, fixed: s.chunk.fixed}
		var element value
		for range s.bits {
			s.chunk.element(&element, s.field, &c)
			if !yield(element) {
				return
			}
		}
	}
}

// unit is the annotation that makes a number a time or a duration, such as
// "jdk.jfr.Timespan NANOSECONDS"; "" for other numbers.
func (v value) unit() string {
	if v.field == nil {
		return ""
	}
	i := slices.IndexFunc(v.field.annotations, func(a annotation) bool { return a.name == timespan || a.name == timestamp })
	if i < 0 {
		return ""
	}
	return v.field.annotations[i].name + " " + v.field.annotations[i].value
}

const timespan, timestamp = "jdk.jfr.Timespan", "jdk.jfr.Timestamp"

var spans = map[string]time.Duration{
	timespan + " NANOSECONDS": 1, timespan + " MICROSECONDS": time.Microsecond,
	timespan + " MILLISECONDS": time.Millisecond, timespan + " SECONDS": time.Second,
}

// duration is the value of a timespan, or the longest Duration for one that is longer: the
// JVM writes such a timespan for "for ever".
func (v value) duration() time.Duration {
	n := v.int()
	if v.unit() == timespan+" TICKS" {
		return time.Duration(v.chunk.header.span(n))
	}
	scale := int64(max(spans[v.unit()], 1))
	switch {
	case n > math.MaxInt64/scale:
		return math.MaxInt64
	case n < math.MinInt64/scale:
		return math.MinInt64
	}
	return time.Duration(n * scale)
}

// time is the value of a timestamp; the zero time for others and for those left open.
func (v value) time() time.Time {
	n := v.int()
	switch {
	case n == math.MinInt64:
	case v.unit() == timestamp+" TICKS":
		return time.Unix(0, v.chunk.header.nanos(n))
	case v.unit() == timestamp+" MILLISECONDS_SINCE_EPOCH":
		return time.UnixMilli(n)
	}
	return time.Time{}
}
