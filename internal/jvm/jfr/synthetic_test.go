package jfr

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
		for key, s := range []string{"shop/Cart", "add", "sum", "()V"} {
			w.long(int64(key) + 1)
			w.text(s)
		}
		w.poolOf(idFrameType, 1)
		w.long(1)
		w.text("JIT compiled")
		w.poolOf(idState, 1)
		w.long(1)
		w.text("STATE_RUNNABLE")
	})
}

// sample adds a sample of thread 1 at a number of ticks.
func (w *writer) sample(ticks, stack int64) {
	w.event(idSample, func(w *writer) {
		w.long(testTicks + ticks)
		w.long(1)
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
// what they name behind them.
func syntheticChunk(fixed bool) []byte {
	w := &writer{fixed: fixed, b: make([]byte, headerSize)}
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
