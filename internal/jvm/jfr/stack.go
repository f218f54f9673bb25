package jfr

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
