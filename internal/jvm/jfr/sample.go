package jfr

import (
	"time"
)

// A role is what a field of a sample is good for.
type role uint8

const (
	roleNone role = iota
	roleStart
	roleThread
	roleStack
	roleState
)

// A samplePlan says how to read the samples of a type without asking for its
// fields by their names each time.
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

func newSamplePlan(t *Type) *samplePlan {
	source, ok := sampleSources[t.Name]
	if !ok {
		return nil
	}
	p := &samplePlan{source: source, roles: make([]role, len(t.Fields))}
	for i := range t.Fields {
		// Only what is where it was expected has a role.
		f := &t.Fields[i]
		r := sampleRoles[f.Name]
		if !f.Array && (f.Pooled || r == roleStart && f.Type.kind == Long) {
			p.roles[i] = r
		}
	}
	return p
}

// A rawSample is one whose names are not looked up yet.
type rawSample struct {
	plan                 *samplePlan
	nanos                int64
	thread, stack, state Value
}

// rawSample reads a sample, and says whether it is whole.
func (ch *chunk) rawSample(t *Type, body []byte) (rawSample, bool) {
	c := cursor{data: body, fixed: ch.fixed}
	raw := rawSample{plan: t.plan}
	for i, r := range t.plan.roles {
		f := &t.Fields[i]
		switch r {
		case roleStart:
			raw.nanos = ch.header.nanos(int64(c.long()))
		case roleThread:
			raw.thread = Value{chunk: ch, field: f, pooled: true, bits: c.long()}
		case roleStack:
			raw.stack = Value{chunk: ch, field: f, pooled: true, bits: c.long()}
		case roleState:
			raw.state = Value{chunk: ch, field: f, pooled: true, bits: c.long()}
		default:
			f.skip(&c)
		}
	}
	return raw, !c.short
}

// A notice is an event by which the JVM says that others are missing.
type notice uint8

const (
	noticeNone notice = iota
	noticeData
	noticeSamples
)

var notices = map[string]notice{"jdk.DataLoss": noticeData, "jdk.CPUTimeSamplesLost": noticeSamples}

func (ch *chunk) notice(t *Type, body []byte) {
	e := Event{Type: t, chunk: ch, body: body}
	if e.Start().Before(time.Unix(0, ch.since)) {
		return
	}
	if t.notice == noticeSamples {
		ch.lostSamples += e.Field("lostSamples").Int()
	} else {
		ch.lostBytes += e.Field("amount").Int()
	}
}

// sample takes a sample, or holds it back where the chunk does not hold its
// stack yet but may do so after the next flush.
func (ch *chunk) sample(t *Type, body []byte) {
	raw, whole := ch.rawSample(t, body)
	if !whole {
		ch.damaged++
		return
	}
	if raw.nanos < ch.since {
		return
	}
	if ch.live && !ch.resolved(&raw) {
		ch.held = append(ch.held, raw)
		return
	}
	ch.emit(&raw)
}

// resolved says whether the chunk holds the stack and thread of a sample. One
// without a stack, whose key is 0, is as complete as it will be.
func (ch *chunk) resolved(raw *rawSample) bool {
	return ch.holds(raw.stack) && ch.holds(raw.thread)
}

func (ch *chunk) holds(v Value) bool {
	return !v.pooled || v.bits == 0 || ch.pools.find(v.field.Type, v.bits) != nil
}

// release gives out what was held back before. What is still not resolved then
// will not be.
func (ch *chunk) release() {
	held := ch.held
	ch.held = nil
	for i := range held {
		ch.emit(&held[i])
	}
}

func (ch *chunk) emit(raw *rawSample) {
	if !ch.resolved(raw) {
		ch.missing++
	}
	ch.out.Samples = append(ch.out.Samples, Sample{
		At:     time.Unix(0, raw.nanos),
		Source: raw.plan.source,
		State:  ch.state(raw.state),
		Thread: ch.thread(raw.thread),
		Stack:  ch.stackOf(raw.stack),
	})
}

// What is shared by the frames and samples of a chunk, each under its key in
// the pool of its type.
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

// stackOf is a stack that an event names, noStack where it names none that the
// chunk holds.
func (ch *chunk) stackOf(v Value) *Stack {
	if v.pooled {
		if s, ok := ch.stacks.get(v.bits); ok {
			return s
		}
	}
	if v.Kind() != Struct {
		return noStack
	}
	s := &Stack{}
	for f, field := range v.Fields() {
		switch f.Name {
		case "truncated":
			s.Truncated = field.Bool()
		case "frames":
			s.Frames = ch.frames(field)
		}
	}
	if v.pooled {
		ch.stacks.put(v.bits, s)
	}
	return s
}

func (ch *chunk) frames(array Value) []Frame {
	if array.kind != Array || array.field.Pooled {
		return nil
	}
	of := array.field.Type
	if of.kind != Struct || of.empty {
		return nil
	}
	frames := make([]Frame, 0, array.bits)
	c := cursor{data: array.data, fixed: ch.fixed}
	for range array.bits {
		frame := Frame{Method: noMethod}
		for i := range of.Fields {
			f := &of.Fields[i]
			v := ch.read(f, &c)
			switch f.Name {
			case "method":
				frame.Method = ch.method(v)
			case "lineNumber":
				frame.Line = max(0, int(v.Int()))
			case "bytecodeIndex":
				frame.BCI = int(v.Int())
			case "type":
				frame.Kind = ch.frameKind(v)
			}
		}
		frames = append(frames, frame)
	}
	return frames
}

func (ch *chunk) method(v Value) *Method {
	if v.pooled {
		if m, ok := ch.methods.get(v.bits); ok {
			return m
		}
	}
	if v.Kind() != Struct {
		return noMethod
	}
	m := &Method{}
	for f, field := range v.Fields() {
		switch f.Name {
		case "type":
			m.Class = className(field.Field("name").Text())
		case "name":
			m.Name = field.Text()
		case "descriptor":
			m.Descriptor = field.Text()
		case "modifiers":
			m.Modifiers = int(field.Int())
		case "hidden":
			m.Hidden = field.Bool()
		}
	}
	if v.pooled {
		ch.methods.put(v.bits, m)
	}
	return m
}

// frameKinds are the names that recordings have for kinds of frames.
var frameKinds = map[string]FrameKind{
	"Interpreted": Interpreted, "JIT compiled": Compiled, "Inlined": Inlined, "Native": Native,
}

func (ch *chunk) frameKind(v Value) FrameKind {
	if v.pooled {
		if kind, ok := ch.kinds.get(v.bits); ok {
			return kind
		}
	}
	name := v.Text()
	if name == "" {
		name = v.Field("description").Text()
	}
	kind := frameKinds[name]
	if v.pooled && name != "" {
		ch.kinds.put(v.bits, kind)
	}
	return kind
}

func (ch *chunk) thread(v Value) *Thread {
	if v.pooled {
		if t, ok := ch.threads.get(v.bits); ok {
			return t
		}
	}
	if v.Kind() != Struct {
		return noThread
	}
	t := &Thread{}
	osName := ""
	for f, field := range v.Fields() {
		switch f.Name {
		case "osName":
			osName = field.Text()
		case "osThreadId":
			t.OSID = field.Int()
		case "javaName":
			t.Name = field.Text()
		case "javaThreadId":
			t.JavaID = max(0, field.Int())
		case "virtual":
			t.Virtual = field.Bool()
		}
	}
	if t.JavaID == 0 && t.Name == "" {
		t.Name = osName
	}
	if v.pooled {
		ch.threads.put(v.bits, t)
	}
	return t
}

func (ch *chunk) state(v Value) string {
	if v.pooled {
		if s, ok := ch.states.get(v.bits); ok {
			return s
		}
	}
	s := v.Text()
	if s == "" {
		s = v.Field("name").Text()
	}
	if v.pooled && s != "" {
		ch.states.put(v.bits, s)
	}
	return s
}
