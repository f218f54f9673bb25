package jfr

import (
	"cmp"
	"strings"
	"time"
)

// An eventReader reads the fields of an event.
type eventReader func(ch *chunk, t *typeDef, body []byte)

var eventReaders = map[string]eventReader{
	"jdk.ExecutionSample":    readSample(Execution),
	"jdk.NativeMethodSample": readSample(NativeCode),
	"jdk.CPUTimeSample":      readSample(CPUTime),
	"jdk.DataLoss":           readNotice(lostBytes),
	"jdk.CPUTimeSamplesLost": readNotice(lostSamples),
	"jdk.MethodTrace":        readCall(false),
	"jdk.MethodTiming":       readCall(true),

	"jdk.JVMInformation": readJVM,
	"jdk.CPUInformation": readProcessors,
	"jdk.ActiveSetting":  readSetting,
	"jdk.ThreadCPULoad":  readLoad,

	"jdk.JavaMonitorEnter": readWait(Monitor),
	"jdk.JavaMonitorWait":  readWait(Notification),
	"jdk.ThreadPark":       readWait(Parked),
	"jdk.ThreadSleep":      readWait(Sleeping),
	"jdk.SocketRead":       readWait(IO),
	"jdk.SocketWrite":      readWait(IO),
	"jdk.FileRead":         readWait(IO),
	"jdk.FileWrite":        readWait(IO),
	"jdk.FileForce":        readWait(IO),
}

// A rawSample is a sample whose thread, stack and state are not looked up yet.
type rawSample struct {
	source               Source
	wait                 Wait
	nanos                int64
	period               int64 // in ns; 0 if it has none
	thread, stack, state value
	lock                 value // the class of what it waits for
}

// readSample emits a sample, or holds it back if its stack may come with the next flush.
func readSample(source Source) eventReader {
	return func(ch *chunk, t *typeDef, body []byte) {
		ch.readSample(t, body, rawSample{source: source})
	}
}

// readWait emits a wait as a sample of the period that it lasted.
func readWait(wait Wait) eventReader {
	return func(ch *chunk, t *typeDef, body []byte) {
		if ch.waits {
			ch.readSample(t, body, rawSample{source: WallClock, wait: wait})
		}
	}
}

func (ch *chunk) readSample(t *typeDef, body []byte, raw rawSample) {
	c := cursor{data: body}
	for f, v := range ch.fields(t, &c) {
		switch f.name {
		case "startTime":
			raw.nanos = ch.header.nanos(v.int())
		case "sampledThread", "eventThread":
			raw.thread = v
		case "stackTrace":
			raw.stack = v
		case "state":
			raw.state = v
		case "monitorClass", "parkedClass":
			raw.lock = v
		case "duration", "samplingPeriod":
			raw.period = max(0, ch.header.span(v.int()))
		}
	}
	switch {
	case c.short:
		ch.lost[lostDamaged]++
	case raw.nanos < ch.since:
	case len(ch.out.Samples)+len(ch.held) >= maxSamples:
		ch.lost[lostMany]++
	case ch.live && !ch.isResolved(&raw):
		ch.held = append(ch.held, raw)
	default:
		ch.emit(&raw)
	}
}

// isResolved reports whether the chunk holds the stack and the thread of a sample.
func (ch *chunk) isResolved(raw *rawSample) bool {
	return ch.holds(raw.stack) && ch.holds(raw.thread)
}

// holds reports whether the chunk holds a value. The key 0 stands for none.
func (ch *chunk) holds(v value) bool {
	key, pooled := v.isPooled()
	return !pooled || key == 0 || ch.find(v.field.typ, key).field != nil
}

// release emits the samples that were held back. Those that are still unresolved stay so.
func (ch *chunk) release() {
	held := ch.held
	ch.held = nil
	for i := range held {
		ch.emit(&held[i])
	}
	calls := ch.heldCalls
	ch.heldCalls = nil
	for i := range calls {
		ch.emitCall(&calls[i])
	}
}

func (ch *chunk) emit(raw *rawSample) {
	if !ch.isResolved(raw) {
		ch.lost[lostStacks]++
	}
	var lock *Lock
	if class := className(raw.lock.member("name").text()); class != "" {
		lock = &Lock{Class: class}
	}
	ch.out.Samples = append(ch.out.Samples, Sample{
		At:     time.Unix(0, raw.nanos),
		Source: raw.source,
		Period: time.Duration(raw.period),
		Wait:   raw.wait,
		State:  ch.state(raw.state),
		Thread: ch.thread(raw.thread),
		Stack:  ch.stack(raw.stack),
		Lock:   lock,
	})
}

// readNotice counts the losses that the JVM reports.
func readNotice(lost int) eventReader {
	return func(ch *chunk, t *typeDef, body []byte) {
		var start, amount int64
		for f, v := range ch.fields(t, &cursor{data: body}) {
			switch f.name {
			case "startTime":
				start = v.int()
			case "amount", "lostSamples":
				amount = v.int()
			}
		}
		if ch.header.nanos(start) >= ch.since {
			ch.lost[lost] += amount
		}
	}
}

// shared are the objects that the samples of a chunk share, by their keys in the pools.
type shared struct {
	stacks  map[uint64]*Stack
	methods map[uint64]*Method
	threads map[uint64]*Thread
	kinds   map[uint64]FrameKind
	states  map[uint64]string
}

var (
	noStack  = &Stack{}
	noThread = &Thread{}
	noMethod = &Method{}
)

// once returns the object that a value describes: from the map, or made and put there.
// make returns the zero value if the chunk does not hold the value, or not yet, or has no room for it.
func once[T comparable](known map[uint64]T, v value, make func(value) T) T {
	key, pooled := v.isPooled()
	if made, ok := known[key]; ok && pooled {
		return made
	}
	made := make(v)
	var none T
	if pooled && (made != none || !v.chunk.live && v.chunk.holds(v)) {
		known[key] = made
	}
	return made
}

// stack returns the stack that a value describes, noStack if the chunk does not hold it.
func (ch *chunk) stack(v value) *Stack { return cmp.Or(once(ch.stacks, v, ch.makeStack), noStack) }

func (ch *chunk) makeStack(v value) *Stack {
	if !v.isStruct() || !ch.makes(methodBytes) {
		return nil
	}
	s := &Stack{}
	for f, field := range v.members() {
		switch f.name {
		case "truncated":
			s.Truncated = field.bool()
		case "frames":
			s.Frames = ch.frames(field)
		}
	}
	return s
}

// What a frame, and a stack, method or thread without its frames and texts, takes in memory.
const (
	frameBytes  = 40
	methodBytes = 80
)

func (ch *chunk) frames(array value) []Frame {
	if array.kind() != kindArray || array.field.pooled {
		return nil
	}
	c := cursor{data: array.data}
	n := c.count()
	if !ch.makes(n * frameBytes) {
		return nil
	}
	frames := make([]Frame, n)
	for i := range frames {
		frame := &frames[i]
		frame.Method = noMethod
		for f, v := range ch.fields(array.field.typ, &c) {
			switch f.name {
			case "method":
				frame.Method = cmp.Or(once(ch.methods, v, makeMethod), noMethod)
			case "lineNumber":
				frame.Line = max(0, int(v.int()))
			case "bytecodeIndex":
				frame.BCI = int(v.int())
			case "type":
				frame.Kind = once(ch.kinds, v, makeFrameKind)
			}
		}
		if frame.Kind == Native || frame.Kind == Library {
			frame.Kind = kindOfCode(frame.Method)
		}
	}
	return frames
}

func makeMethod(v value) *Method {
	if !v.isStruct() || !v.chunk.makes(methodBytes) {
		return nil
	}
	m := &Method{}
	for f, field := range v.members() {
		switch f.name {
		case "type":
			m.Class = className(field.member("name").text())
		case "name":
			m.Name = field.text()
		case "descriptor":
			m.Descriptor = field.text()
		case "modifiers":
			m.Modifiers = int(field.int())
		}
	}
	v.chunk.makes(len(m.Class) + len(m.Name) + len(m.Descriptor))
	return m
}

// className converts the name of a class to the form of class files. Only hidden classes
// need it: recordings have their names as Class.getName returns them, with dots, a suffix
// and up to JDK 17 a hash.
//
//	java.lang.invoke.LambdaForm$MH+0x00007f2994009400/433287555
//	java.lang.invoke.LambdaForm$MH/0x000000009b045c00
func className(name string) string {
	at := strings.LastIndex(name, "/0x")
	if plus := strings.LastIndex(name, "+0x"); plus >= 0 {
		at = plus
	}
	if at < 0 {
		return name
	}
	suffix, _, _ := strings.Cut(name[at+1:], "/")
	return strings.ReplaceAll(name[:at], ".", "/") + "+" + suffix
}

// frameKinds are the names of frame kinds in recordings; those of the second line are only in recordings of async-profiler.
var frameKinds = map[string]FrameKind{
	"Interpreted": Interpreted, "JIT compiled": Compiled, "Inlined": Inlined, "Native": Native,
	"C1 compiled": C1, "C++": Library, "Kernel": Kernel,
}

// functionDescriptor is what async-profiler writes as the descriptor of a function that is no method. Its class is the library's file.
const functionDescriptor = "()L;"

// kindOfCode returns the kind of a frame that is native code by its name in the recording.
func kindOfCode(m *Method) FrameKind {
	switch {
	case m.Descriptor != functionDescriptor:
		return Native
	case m.Class == "" || strings.HasPrefix(m.Class, "libjvm."): // without a library, it is code that the JVM has generated
		return VM
	}
	return Library
}

func makeFrameKind(v value) FrameKind {
	return frameKinds[cmp.Or(v.text(), v.member("description").text())]
}

// thread returns the thread that a value describes, noThread if the chunk does not hold it.
func (ch *chunk) thread(v value) *Thread { return cmp.Or(once(ch.threads, v, makeThread), noThread) }

func makeThread(v value) *Thread {
	if !v.isStruct() || !v.chunk.makes(methodBytes) {
		return nil
	}
	t := &Thread{}
	osName := ""
	for f, field := range v.members() {
		switch f.name {
		case "osName":
			osName = field.text()
		case "osThreadId":
			t.OSID = field.int()
		case "javaName":
			t.Name = field.text()
		case "javaThreadId":
			t.JavaID = max(0, field.int())
		case "virtual":
			t.Virtual = field.bool()
		}
	}
	if t.Virtual {
		return VirtualThreads
	}
	if t.JavaID == 0 && t.Name == "" {
		t.Name = osName
	}
	v.chunk.makes(len(t.Name))
	return t
}

func (ch *chunk) state(v value) string {
	return once(ch.states, v, func(v value) string { return cmp.Or(v.text(), v.member("name").text()) })
}
