// Package otlp exports to OpenTelemetry. A transaction becomes spans, one per call, in a new trace or in the trace of
// its request, as protobuf over HTTP or as OTLP's JSON in a file. Profiles are written as JSON files.
package otlp

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// spansOf returns the spans of a transaction. Their ids are the same every time.
func spansOf(target trace.Target, t *trace.Transaction) []*tracepb.Span {
	s := &spans{t: t, id: trace.OwnID(target, t), trace: trace.ID(target, t)}
	var parent []byte
	if t.Parent.Span != [8]byte{} {
		parent = t.Parent.Span[:]
	}
	root := s.add(t.Root, parent)
	for _, part := range t.Parts {
		s.add(part, root)
	}
	return s.made
}

type spans struct {
	t         *trace.Transaction
	id, trace [16]byte
	made      []*tracepb.Span
}

// add adds the spans of a call and of the calls below it. Parts on other threads are children
// of the root, because it is unknown which call handed them over.
func (s *spans) add(c *trace.Call, parent []byte) []byte {
	id := trace.SpanID(s.id, len(s.made))
	if sent, err := hex.DecodeString(c.SpanID); err == nil && len(sent) == len(id) {
		id = [8]byte(sent)
	}
	begin := s.t.Begin.Add(c.Start)
	span := &tracepb.Span{
		TraceId: s.trace[:], SpanId: id[:], ParentSpanId: parent, Name: valid(c.Name()), Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanosOf(begin), EndTimeUnixNano: nanosOf(begin.Add(c.Measured)), Attributes: attributes(s.t, c), Status: &tracepb.Status{},
	}
	if c.Threw {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "ended with an exception"}
	}
	describe(span, c)
	s.made = append(s.made, span)
	for _, child := range c.Children {
		s.add(child, span.SpanId)
	}
	return span.SpanId
}

func nanosOf(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func attributes(t *trace.Transaction, c *trace.Call) (list attributeList) {
	list.text("code.function.name", c.Name())
	list.number("thread.id", int64(c.Thread.ID))
	if c.PID != 0 {
		list.number("process.pid", int64(c.PID))
	}
	if c.Thread.Name != "" {
		list.text("thread.name", c.Thread.Name)
	}
	list.number("sonde.duration_ns", int64(c.Duration))
	list.number("sonde.self_ns", int64(c.Self))
	list.flag("sonde.conditional", c.Conditional)
	list.flag("sonde.handed_over", c.Handed)
	list.flag("sonde.no_end_seen", c.Cut)
	notKept := c.Omitted.Calls
	for _, folded := range c.Folded {
		for f := range folded.All() {
			notKept += f.Calls + f.Omitted.Calls
		}
	}
	if notKept > 0 {
		list.number("sonde.calls_not_kept", int64(notKept))
	}
	tags := c.Tags
	if c == t.Root {
		tags = t.Tags
		if t.Lost > 0 {
			list.number("sonde.calls_only_counted", int64(t.Lost))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		list.text("sonde.tag."+name, tags[name])
	}
	for _, v := range c.Values {
		list.value(v)
	}
	return list
}

type attributeList []*commonpb.KeyValue

func (l *attributeList) add(key string, value *commonpb.AnyValue) {
	*l = append(*l, &commonpb.KeyValue{Key: key, Value: value})
}

func (l *attributeList) text(key, text string) {
	l.add(valid(key), &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: valid(text)}})
}

// valid returns a text as valid UTF-8: strings of Java may contain unpaired surrogates.
func valid(text string) string { return strings.ToValidUTF8(text, "�") }

func (l *attributeList) number(key string, n int64) {
	l.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}})
}

// flag adds an attribute only if it is true.
func (l *attributeList) flag(key string, is bool) {
	if is {
		l.add(key, &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}})
	}
}

func (l *attributeList) value(v trace.Value) {
	key := "sonde.value." + v.Expression
	if v.AtExit {
		key = "sonde.exit_value." + v.Expression
	}
	l.text(key, text.Value(v))
}

// resourceOf describes a JVM.
func resourceOf(target cct.Target) (about attributeList) {
	about.text("service.name", cmp.Or(target.Command, "unknown_service:java"))
	about.number("process.pid", int64(target.PID))
	about.text("process.runtime.name", "java")
	if target.JDK != "" {
		about.text("process.runtime.version", target.JDK)
	}
	return about
}

// dataOf returns spans with the resource that they belong to.
func dataOf(t *trace.Trace, version string, spans []*tracepb.Span) *tracepb.TracesData {
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: resourceOf(t.Target)},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "sonde", Version: version}, Spans: spans}},
	}}}
}

// WriteJSON writes a trace as one object of the protocol's JSON.
func WriteJSON(w io.Writer, t *trace.Trace, version string) error {
	var all []*tracepb.Span
	for _, one := range t.Transactions {
		all = append(all, spansOf(t.Target, one)...)
	}
	encoded, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(dataOf(t, version, all))
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	if err := spellIDs(tree); err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(tree)
}

// idFields are the fields that the protocol writes in hexadecimal, where other bytes of
// protobuf's JSON are in base64.
var idFields = map[string]bool{"traceId": true, "spanId": true, "parentSpanId": true}

func spellIDs(tree any) error {
	switch node := tree.(type) {
	case []any:
		for _, one := range node {
			if err := spellIDs(one); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range node {
			text, isText := value.(string)
			if !isText || !idFields[key] {
				if err := spellIDs(value); err != nil {
					return err
				}
				continue
			}
			id, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return fmt.Errorf("otlp: %s: %w", key, err)
			}
			node[key] = hex.EncodeToString(id)
		}
	}
	return nil
}
