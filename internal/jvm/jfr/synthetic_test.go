package jfr

import (
	"cmp"
	"encoding/binary"
	"math"
	"strconv"
)

// The types of synthetic chunks, and their numbers.
const (
	idBoolean = 10 + iota
	idByte
	idShort
	idChar
	idInt
	idLong
	idFloat
	idDouble
	idString
	idTimestamp
	idSymbol
	idClass
	idMethod
	idFrameType
	idFrame
	idStack
	idThread
	idState
	idPoint
	idSample
	idEverything
	idLost
)

var syntheticClasses = []class{
	{id: idBoolean, name: "boolean"}, {id: idByte, name: "byte"}, {id: idShort, name: "short"},
	{id: idChar, name: "char"}, {id: idInt, name: "int"}, {id: idLong, name: "long"},
	{id: idFloat, name: "float"}, {id: idDouble, name: "double"}, {id: idString, name: "java.lang.String"},
	{id: idTimestamp, name: "jdk.jfr.Timestamp"},
	{id: idSymbol, name: "jdk.types.Symbol", simple: true, fields: []field{{name: "string", typ: "java.lang.String"}}},
	{id: idClass, name: "java.lang.Class", fields: []field{{name: "name", typ: "jdk.types.Symbol", pooled: true}}},
	{id: idMethod, name: "jdk.types.Method", fields: []field{
		{name: "type", typ: "java.lang.Class", pooled: true}, {name: "name", typ: "jdk.types.Symbol", pooled: true},
		{name: "descriptor", typ: "jdk.types.Symbol", pooled: true}, {name: "modifiers", typ: "int"},
		{name: "hidden", typ: "boolean"},
	}},
	{id: idFrameType, name: "jdk.types.FrameType", simple: true, fields: []field{{name: "description", typ: "java.lang.String"}}},
	{id: idFrame, name: "jdk.types.StackFrame", fields: []field{
		{name: "method", typ: "jdk.types.Method", pooled: true}, {name: "lineNumber", typ: "int"},
		{name: "bytecodeIndex", typ: "int"}, {name: "type", typ: "jdk.types.FrameType", pooled: true},
	}},
	{id: idStack, name: "jdk.types.StackTrace", fields: []field{
		{name: "truncated", typ: "boolean"}, {name: "frames", typ: "jdk.types.StackFrame", array: true},
	}},
	{id: idThread, name: "java.lang.Thread", fields: []field{
		{name: "osName", typ: "java.lang.String"}, {name: "osThreadId", typ: "long"},
		{name: "javaName", typ: "java.lang.String"}, {name: "javaThreadId", typ: "long"},
		{name: "virtual", typ: "boolean"},
	}},
	{id: idState, name: "jdk.types.ThreadState", simple: true, fields: []field{{name: "name", typ: "java.lang.String"}}},
	{id: idPoint, name: "test.Point", fields: []field{{name: "x", typ: "int"}, {name: "y", typ: "double"}}},
	{id: idSample, name: "jdk.ExecutionSample", event: true, fields: []field{
		{name: "startTime", typ: "long", timestamp: true}, {name: "sampledThread", typ: "java.lang.Thread", pooled: true},
		{name: "stackTrace", typ: "jdk.types.StackTrace", pooled: true}, {name: "state", typ: "jdk.types.ThreadState", pooled: true},
	}},
	{id: idEverything, name: "test.Everything", event: true, fields: []field{
		{name: "startTime", typ: "long", timestamp: true},
		{name: "boolean", typ: "boolean"}, {name: "byte", typ: "byte"}, {name: "short", typ: "short"},
		{name: "char", typ: "char"}, {name: "int", typ: "int"}, {name: "long", typ: "long"},
		{name: "float", typ: "float"}, {name: "double", typ: "double"},
		{name: "texts", typ: "java.lang.String", array: true}, {name: "points", typ: "test.Point", array: true},
		{name: "point", typ: "test.Point"}, {name: "symbols", typ: "jdk.types.Symbol", array: true, pooled: true},
	}},
	{id: idLost, name: "jdk.DataLoss", event: true, fields: []field{
		{name: "startTime", typ: "long", timestamp: true}, {name: "amount", typ: "long"}, {name: "total", typ: "long"},
	}},
}

// values adds what samples name: threads 1 and 2, stacks 1 and 2.
func (w *writer) values(before int64) {
	frames := w
	w.checkpoint(before, 7, func(w *writer) {
		w.poolOf(idStack, 2)
		for key := range int64(2) {
			w.long(key + 1)
			w.byte(byte(key))
			w.int(2)
			for line := range int32(2) {
				w.long(int64(line) + 1)
				w.int(10 + line)
				w.int(line)
				w.long(1)
			}
		}
		w.poolOf(idThread, 2)
		for key := range int64(2) {
			w.long(key + 1)
			w.text("os")
			w.long(100 + key)
			w.text("thread-" + string(rune('1'+key)))
			w.long(key + 1)
			w.byte(byte(key))
		}
		w.poolOf(idMethod, 2)
		for key := range int64(2) {
			w.long(key + 1)
			w.long(1)
			w.long(2 + key)
			w.long(4)
			w.int(9)
			w.byte(0)
		}
		w.poolOf(idClass, 1)
		w.long(1)
		w.long(1)
		w.poolOf(idSymbol, 4)
		for key, s := range []string{cmp.Or(frames.class, "shop/Cart"), "add", "sum", cmp.Or(frames.descriptor, "()V")} {
			w.long(int64(key) + 1)
			w.text(s)
		}
		w.poolOf(idFrameType, 1)
		w.long(1)
		w.text(cmp.Or(frames.frameType, "JIT compiled"))
		w.poolOf(idState, 1)
		w.long(1)
		w.text("STATE_RUNNABLE")
	})
}

// sample adds a sample of thread 1 at a number of ticks.
func (w *writer) sample(ticks, stack int64) { w.sampleOf(1, ticks, stack) }

// sampleOf adds a sample of a thread; thread 2 is virtual.
func (w *writer) sampleOf(thread, ticks, stack int64) {
	w.event(idSample, func(w *writer) {
		w.long(testTicks + ticks)
		w.long(thread)
		w.long(stack)
		w.long(1)
	})
}

// everything adds an event with a field of each kind, and a string of each way
// to write one.
func (w *writer) everything() {
	w.event(idEverything, func(w *writer) {
		w.long(testTicks + 5)
		w.byte(1)
		w.byte(0xfe)
		w.int16(0xfffd)
		w.int16('ß')
		w.int(-7)
		w.long(-1 << 62)
		w.float(1.5)
		w.double(-2.25)
		w.int(6)
		w.byte(textNull)
		w.byte(textEmpty)
		w.byte(textPooled)
		w.long(77)
		w.text("größer €")
		w.byte(textChars)
		w.int(3)
		w.int16('a')
		w.int16(0xd83d)
		w.int16(0xde00)
		w.byte(textLatin1)
		w.int(2)
		w.byte('z')
		w.byte(0xe9)
		w.int(2)
		for i := range int32(2) {
			w.int(i)
			w.double(float64(i) / 2)
		}
		w.int(-3)
		w.double(3)
		w.int(2)
		w.long(2)
		w.long(99) // a symbol that is not there
	})
	w.checkpoint(0, 1, func(w *writer) {
		w.poolOf(idString, 1)
		w.long(77)
		w.text("pooled")
	})
}

// syntheticChunk is a finished chunk with two samples, one of everything, and
// the values they refer to after them.
func syntheticChunk() []byte {
	w := &writer{b: make([]byte, headerSize)}
	w.sample(10, 1)
	w.sample(20, 2)
	first := int64(len(w.b))
	w.everything()
	metadata := int64(len(w.b))
	w.metadata(syntheticClasses)
	w.sample(30, 1)
	checkpoint := int64(len(w.b))
	w.values(first - checkpoint)
	w.header(int64(len(w.b)), checkpoint, metadata, stateFinished)
	return w.b
}

// A writer makes chunks as the JVM does, for tests that need one of a certain
// shape.
type writer struct {
	b                            []byte
	class, descriptor, frameType string // of the frames of samples; empty for those of a compiled method
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

func (w *writer) long(v int64)   { w.varint(uint64(v)) }
func (w *writer) int(v int32)    { w.varint(uint64(uint32(v))) }
func (w *writer) int16(v uint16) { w.varint(uint64(v)) }

func (w *writer) text(s string) {
	w.byte(textUTF8)
	w.int(int32(len(s)))
	w.b = append(w.b, s...)
}

// event adds an event with its size before it.
func (w *writer) event(id int64, fields func(w *writer)) {
	body := writer{}
	body.long(id)
	fields(&body)
	// The JVM pads sizes to four bytes.
	size := uint32(len(body.b) + 4)
	w.b = append(w.b, byte(size)|0x80, byte(size>>7)|0x80, byte(size>>14)|0x80, byte(size>>21)&0x7f)
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
	tree := writer{}
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
			attributes = append(attributes, "superType", superEvent)
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
			if f.timestamp { // annotations are skipped
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
	copy(w.b, append(h, state, 0, 0, flagCompressed))
}
