package jfr

import (
	"cmp"
	"strings"
	"time"
)

// A role is the meaning of a field of a sample.
type role uint8

const (
	roleNone role = iota
	roleStart
	roleThread
	roleStack
	roleState
)

// A samplePlan reads the samples of a type without looking up fields by name each time.
type samplePlan struct {
	source Source
	roles  []role // per field
}

var sampleSources = map[string]Source{
	"jdk.ExecutionSample": Execution, "jdk.NativeMethodSample": NativeCode, "jdk.CPUTimeSample": CPUTime,
}

var sampleRoles = map[string]role{
	"startTime": roleStart, "sampledThread": roleThread, "eventThread": roleThread, "stackTrace": roleStack, "state": roleState,
}

func newSamplePlan(t *typeDef) *samplePlan {
	source, ok := sampleSources[t.name]
	if !ok {
		return nil
	}
	p := &samplePlan{source: source, roles: make([]role, len(t.fields))}
	for i := range t.fields {
		// A field of an unexpected form has no role.
		f := &t.fields[i]
		r := sampleRoles[f.name]
		if !f.array && (f.pooled || r == roleStart && f.typ.kind == kindLong) {
			p.roles[i] = r
		}
	}
	return p
}

// A rawSample is a sample whose thread, stack and state are not looked up yet.
type rawSample struct {
	plan                 *samplePlan
	nanos                int64
	thread, stack, state value
}

// rawSample reads a sample, and reports whether it is complete.
func (ch *chunk) rawSample(t *typeDef, body []byte) (rawSample, bool) {
	c := cursor{data: body, fixed: ch.fixed}
	raw := rawSample{plan: t.plan}
	for i, r := range t.plan.roles {
		f := &t.fields[i]
		switch r {
		case roleStart:
			raw.nanos = ch.header.nanos(int64(c.long()))
		case roleThread:
			raw.thread = value{chunk: ch, field: f, pooled: true, bits: c.long()}
		case roleStack:
			raw.stack = value{chunk: ch, field: f, pooled: true, bits: c.long()}
		case roleState:
			raw.state = value{chunk: ch, field: f, pooled: true, bits: c.long()}
		default:
			f.skip(&c)
		}
	}
	return raw, !c.short
}

// sample emits a sample, or holds it back if its stack may come with the next flush.
func (ch *chunk) sample(t *typeDef, body []byte) {
	raw, whole := ch.rawSample(t, body)
	switch {
	case !whole:
		ch.damaged++
	case raw.nanos < ch.since:
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
	return !v.pooled || v.bits == 0 || ch.pools.find(v.field.typ, v.bits) != nil
}

// release emits the samples that were held back. Those that are still unresolved stay so.
func (ch *chunk) release() {
	held := ch.held
	ch.held = nil
	for i := range held {
		ch.emit(&held[i])
	}
}

func (ch *chunk) emit(raw *rawSample) {
	if !ch.isResolved(raw) {
		ch.missing++
	}
	ch.out.Samples = append(ch.out.Samples, Sample{
		At:     time.Unix(0, raw.nanos),
		Source: raw.plan.source,
		State:  ch.state(raw.state),
		Thread: ch.thread(raw.thread),
		Stack:  ch.stack(raw.stack),
	})
}

// A notice is an event by which the JVM reports that other events are missing.
type notice uint8

const (
	noticeNone notice = iota
	noticeData
	noticeSamples
)

var notices = map[string]notice{"jdk.DataLoss": noticeData, "jdk.CPUTimeSamplesLost": noticeSamples}

func (ch *chunk) notice(t *typeDef, body []byte) {
	var start, lost int64
	for f, v := range ch.fields(t, body) {
		switch f.name {
		case "startTime":
			start = v.int()
		case "amount", "lostSamples":
			lost = v.int()
		}
	}
	switch {
	case ch.header.nanos(start) < ch.since:
	case t.notice == noticeSamples:
		ch.lostSamples += lost
	default:
		ch.lostBytes += lost
	}
}

// shared are the objects that the samples of a chunk share, by their keys in the pools.
type shared struct {
	stacks  table[*Stack]
	methods table[*Method]
	threads table[*Thread]
	kinds   table[FrameKind]
	states  table[string]
}

var (
	noStack  = &Stack{}
	noThread = &Thread{}
	noMethod = &Method{}
)

// once returns the object that a value describes: from the table, or made and put there.
// make returns the zero value if the chunk does not hold the value, or not yet.
func once[T comparable](known *table[T], v value, make func(value) T) T {
	if !v.pooled {
		return make(v)
	}
	made, ok := known.get(v.bits)
	if !ok {
		made = make(v)
		known.put(v.bits, made)
	}
	return made
}

// stack returns the stack that a value describes, noStack if the chunk does not hold it.
func (ch *chunk) stack(v value) *Stack { return cmp.Or(once(&ch.stacks, v, ch.makeStack), noStack) }

func (ch *chunk) makeStack(v value) *Stack {
	if !v.isStruct() {
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

func (ch *chunk) frames(array value) []Frame {
	if array.kind != kindArray || array.field.pooled {
		return nil
	}
	of := array.field.typ
	if of.kind != kindStruct || of.empty {
		return nil
	}
	frames := make([]Frame, 0, array.bits)
	c := cursor{data: array.data, fixed: ch.fixed}
	for range array.bits {
		frame := Frame{Method: noMethod}
		for i := range of.fields {
			f := &of.fields[i]
			v := ch.read(f, &c)
			switch f.name {
			case "method":
				frame.Method = cmp.Or(once(&ch.methods, v, makeMethod), noMethod)
			case "lineNumber":
				frame.Line = max(0, int(v.int()))
			case "bytecodeIndex":
				frame.BCI = int(v.int())
			case "type":
				frame.Kind = once(&ch.kinds, v, makeFrameKind)
			}
		}
		frames = append(frames, frame)
	}
	return frames
}

func makeMethod(v value) *Method {
	if !v.isStruct() {
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
		case "hidden":
			m.Hidden = field.bool()
		}
	}
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

// frameKinds are the names of frame kinds in recordings.
var frameKinds = map[string]FrameKind{
	"Interpreted": Interpreted, "JIT compiled": Compiled, "Inlined": Inlined, "Native": Native,
}

func makeFrameKind(v value) FrameKind {
	return frameKinds[cmp.Or(v.text(), v.member("description").text())]
}

// thread returns the thread that a value describes, noThread if the chunk does not hold it.
func (ch *chunk) thread(v value) *Thread { return cmp.Or(once(&ch.threads, v, makeThread), noThread) }

func makeThread(v value) *Thread {
	if !v.isStruct() {
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
	if t.JavaID == 0 && t.Name == "" {
		t.Name = osName
	}
	return t
}

func (ch *chunk) state(v value) string { return once(&ch.states, v, makeState) }

func makeState(v value) string { return cmp.Or(v.text(), v.member("name").text()) }
