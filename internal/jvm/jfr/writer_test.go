package jfr

import (
	"encoding/binary"
	"math"
	"strconv"
)

// A writer makes chunks as the JVM does, for tests that need one of a certain
// shape. Integers are compressed unless it is fixed.
type writer struct {
	fixed bool
	b     []byte
}

func (w *writer) byte(v byte)      { w.b = append(w.b, v) }
func (w *writer) float(v float32)  { w.b = binary.BigEndian.AppendUint32(w.b, math.Float32bits(v)) }
func (w *writer) double(v float64) { w.b = binary.BigEndian.AppendUint64(w.b, math.Float64bits(v)) }

func (w *writer) varint(v uint64) {
	for range 8 {
		if v < 0x80 {
			w.byte(byte(v))
			return
		}
		w.byte(byte(v) | 0x80)
		v >>= 7
	}
	w.byte(byte(v))
}

func (w *writer) long(v int64) {
	if w.fixed {
		w.b = binary.BigEndian.AppendUint64(w.b, uint64(v))
		return
	}
	w.varint(uint64(v))
}

func (w *writer) int(v int32) {
	if w.fixed {
		w.b = binary.BigEndian.AppendUint32(w.b, uint32(v))
		return
	}
	w.varint(uint64(uint32(v)))
}

func (w *writer) int16(v uint16) {
	if w.fixed {
		w.b = binary.BigEndian.AppendUint16(w.b, v)
		return
	}
	w.varint(uint64(v))
}

func (w *writer) text(s string) {
	w.byte(textUTF8)
	w.int(int32(len(s)))
	w.b = append(w.b, s...)
}

// event adds an event with its size before it.
func (w *writer) event(id int64, fields func(w *writer)) {
	body := writer{fixed: w.fixed}
	body.long(id)
	fields(&body)
	// The JVM pads sizes to four bytes.
	size := uint32(len(body.b) + 4)
	if w.fixed {
		w.b = binary.BigEndian.AppendUint32(w.b, size)
	} else {
		w.b = append(w.b, byte(size)|0x80, byte(size>>7)|0x80, byte(size>>14)|0x80, byte(size>>21)&0x7f)
	}
	w.b = append(w.b, body.b...)
}

// A class is a type to declare; fields are "name type", where the type may be
// followed by "[]" and "*" for an array and for values in pools.
type class struct {
	id     int64
	name   string
	event  bool
	simple bool
	fields []field
}

type field struct {
	name, typ     string
	array, pooled bool
	timestamp     bool
}

// metadata adds the event that declares types.
func (w *writer) metadata(classes []class) {
	var texts []string
	places := map[string]int32{}
	text := func(s string) int32 {
		if _, ok := places[s]; !ok {
			places[s] = int32(len(texts))
			texts = append(texts, s)
		}
		return places[s]
	}
	ids := map[string]string{}
	for _, c := range classes {
		ids[c.name] = strconv.FormatInt(c.id, 10)
	}
	tree := writer{fixed: w.fixed}
	element := func(name string, children int, attributes ...string) {
		tree.int(text(name))
		tree.int(int32(len(attributes) / 2))
		for _, a := range attributes {
			tree.int(text(a))
		}
		tree.int(int32(children))
	}
	element("root", 2)
	element("metadata", len(classes))
	for _, c := range classes {
		attributes := []string{"id", ids[c.name], "name", c.name}
		if c.event {
			attributes = append(attributes, "superType", eventType)
		}
		if c.simple {
			attributes = append(attributes, "simpleType", "true")
		}
		element("class", len(c.fields), attributes...)
		for _, f := range c.fields {
			attributes := []string{"name", f.name, "class", ids[f.typ]}
			if f.array {
				attributes = append(attributes, "dimension", "1")
			}
			if f.pooled {
				attributes = append(attributes, "constantPool", "true")
			}
			if f.timestamp {
				element("field", 1, attributes...)
				element("annotation", 0, "class", ids["jdk.jfr.Timestamp"], "value", "TICKS")
				continue
			}
			element("field", 0, attributes...)
		}
	}
	element("region", 0)
	w.event(metadataEvent, func(w *writer) {
		w.long(1)
		w.long(0)
		w.long(1)
		w.int(int32(len(texts)))
		for _, s := range texts {
			w.text(s)
		}
		w.b = append(w.b, tree.b...)
	})
}

// checkpoint adds an event with values of pools, which fill writes.
func (w *writer) checkpoint(before int64, pools int32, fill func(w *writer)) {
	w.event(checkpointEvent, func(w *writer) {
		w.long(1)
		w.long(0)
		w.long(before)
		w.byte(0)
		w.int(pools)
		fill(w)
	})
}

// poolOf begins a pool within a checkpoint.
func (w *writer) poolOf(id int64, count int32) {
	w.long(id)
	w.int(count)
}

// Where the synthetic clock begins, and how fast it ticks.
const (
	testNanos = 1_700_000_000_000_000_000
	testTicks = 1_000
	testSpeed = 10_000_000 // ticks per second
)

// header writes the header of a chunk of a size over what its first bytes are.
func (w *writer) header(size, checkpoint, metadata int64, state byte) {
	h := make([]byte, 0, headerSize)
	h = append(h, magic...)
	h = append(h, 0, 2, 0, 1)
	for _, v := range []int64{size, checkpoint, metadata, testNanos, 1_000_000_000, testTicks, testSpeed} {
		h = binary.BigEndian.AppendUint64(h, uint64(v))
	}
	flags := byte(flagCompressed)
	if w.fixed {
		flags = 0
	}
	copy(w.b, append(h, state, 0, 0, flags))
}
