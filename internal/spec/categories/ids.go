package categories

import (
	_ "embed" // of the rules
	"slices"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

var (
	//go:embed ids.yaml
	ids []byte
	//go:embed propagate.yaml
	propagate []byte
)

// Propagation returns tags without a value, whose hooks write the traceparent of the running traced call on the requests
// that it sends. Where there is no such thing they have no effect.
func Propagation() ([]probeset.Tag, error) {
	set, err := probeset.ParseOwn(propagate, "propagate.yaml")
	if err != nil {
		return nil, err
	}
	for i := range set.Tags {
		set.Tags[i].Optional = true
	}
	return set.Tags, nil
}

// OpenTelemetry's Java agent brings its own copy of the API, which every class of the program can use. The current span
// is that of the context of the calling thread.
const (
	agentAPI     = "io.opentelemetry.javaagent.shaded.io.opentelemetry.api.trace."
	currentTrace = "$(" + agentAPI + "Span).current().getSpanContext().getTraceId()"
)

var currentMayCall = []string{agentAPI + "Span.current()", agentAPI + "Span.getSpanContext()", agentAPI + "SpanContext.getTraceId()"}

// TraceIDs returns tags that are the trace of others: of requests that bring a traceparent, and, at the methods whose
// calls are transactions, of the current span of an OpenTelemetry agent. Where there is no such thing they have no effect.
func TraceIDs(roots []*pattern.Pattern) ([]probeset.Tag, error) {
	set, err := probeset.ParseOwn(ids, "ids.yaml")
	if err != nil {
		return nil, err
	}
	current := probeset.Tag{Name: "opentelemetry", As: probeset.AsTrace}
	if current.Value, err = expr.ParseOwn(currentTrace); err != nil {
		return nil, err
	}
	for _, text := range currentMayCall {
		method, err := pattern.Parse(text)
		if err != nil {
			return nil, err
		}
		current.MayCall = append(current.MayCall, method)
	}
	tags := set.Tags
	for i, root := range roots {
		isAgain := slices.ContainsFunc(roots[:i], func(p *pattern.Pattern) bool { return p.String() == root.String() })
		if current.At = root; !isAgain && !root.Excludes() {
			tags = append(tags, current)
		}
	}
	for i := range tags {
		tags[i].Optional = true
	}
	return tags, nil
}
