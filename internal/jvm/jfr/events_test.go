package jfr

import (
	"errors"
	"fmt"
	"iter"
)

// The parser is judged by all events of a recording, not by samples alone. This file reads
// them with the types, pools and values of the parser.

// An event is any event of a recording.
type event struct {
	typ   *typeDef
	chunk *chunk
	body  []byte // its fields
}

func (e event) fields() iter.Seq2[*fieldDef, value] {
	return e.chunk.fields(e.typ, &cursor{data: e.body})
}

// check reports whether the fields are as long as the event.
func (e event) check() error {
	c := cursor{data: e.body}
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
		p := piece{data: data[headerSize:size], at: headerSize, cut: size < h.size}
		ch.add(p)
		if visit != nil && ch.meta != nil {
			ch.each(p, visit)
		}
		ch.finish()
		data = data[size:]
	}
	return all, nil
}

// each visits the events of a piece that was added, up to the first incomplete one.
func (ch *chunk) each(p piece, visit func(event)) {
	for at := 0; at < len(p.data); {
		size, id, body, ok := ch.head(p.data, at)
		if !ok {
			return
		}
		if t := ch.meta[id]; t != nil && t.event && !t.broken {
			visit(event{t, ch, p.data[body : at+size]})
		}
		at += size
	}
}

// realKind is the kind of the value that v stands for; kindNull if there is none.
func (v value) realKind() kind {
	v = v.resolve()
	if v.kind() == kindString && len(v.data) > 0 {
		switch v.data[0] {
		case textNull:
			return kindNull
		case textPooled:
			c := cursor{data: v.data[1:]}
			return v.chunk.find(v.field.typ, c.long()).kind()
		}
	}
	return v.kind()
}

// elements are the elements of an array.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		s := v.resolve()
		if s.kind() != kindArray {
			return
		}
		c := cursor{data: s.data}
		element := *s.field
		element.array = false
		for range c.count() {
			from := c.at
			element.skip(&c)
			if !yield(value{s.chunk, &element, c.data[from:c.at]}) {
				return
			}
		}
	}
}
