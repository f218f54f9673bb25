package jfr

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
