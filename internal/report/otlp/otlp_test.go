package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestJSON(t *testing.T) {
	var out, indented bytes.Buffer
	if err := WriteJSON(&out, tracetest.Sample(), "1.0"); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&indented, out.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "trace.otlp.json", indented.Bytes())
}

// decodeJSON reads the protocol's JSON by protobuf's, which has ids in base64.
func decodeJSON(t *testing.T, encoded []byte) *tracepb.TracesData {
	t.Helper()
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		t.Fatal(err)
	}
	var respell func(node any)
	respell = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, one := range node {
				respell(one)
			}
		case map[string]any:
			for key, value := range node {
				if text, is := value.(string); is && idFields[key] {
					id, err := hex.DecodeString(text)
					if err != nil {
						t.Fatal(err)
					}
					node[key] = base64.StdEncoding.EncodeToString(id)
				}
				respell(value)
			}
		}
	}
	respell(tree)
	encoded, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var data tracepb.TracesData
	if err := protojson.Unmarshal(encoded, &data); err != nil {
		t.Fatal(err)
	}
	return &data
}

// receive runs a receiver that decodes what comes.
func receive(t *testing.T, answer func(http.ResponseWriter)) (endpoint string, received *[]*tracepb.TracesData) {
	received = &[]*tracepb.TracesData{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &data)
		}
		if err != nil || r.URL.Path != tracesPath || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%v: %s %s", err, r.URL, r.Header)
		}
		*received = append(*received, &data)
		if answer != nil {
			answer(w)
		}
	}))
	t.Cleanup(server.Close)
	endpoint, err := Endpoint(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint, received
}

// send sends a trace at once.
func send(endpoint string, t *trace.Trace) (sent int, err error) {
	s := NewStream(Settings{Endpoint: endpoint, Timeout: patience}, t.Target, "1.0")
	s.Add(t.Transactions)
	return s.Close()
}

// TestStream adds transactions one after the other, and one of them again with a part that came later, to a receiver that is busy at first.
func TestStream(t *testing.T) {
	busy := true
	endpoint, received := receive(t, func(w http.ResponseWriter) {
		if busy {
			busy = false
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	sample := tracetest.Sample()
	s := NewStream(Settings{Endpoint: endpoint, Timeout: patience}, sample.Target, "1.0")
	var want int
	for _, one := range sample.Transactions {
		s.Add([]*trace.Transaction{one})
		for range one.All() {
			want++
		}
	}
	first := sample.Transactions[0]
	first.Parts = append(first.Parts, &trace.Call{Method: "late"})
	s.Add(sample.Transactions)
	sent, err := s.Close()
	ids := map[string]bool{}
	for _, data := range (*received)[1:] { // the first was refused
		for _, span := range data.ResourceSpans[0].ScopeSpans[0].Spans {
			ids[string(span.SpanId)] = true
		}
	}
	if err != nil || sent != want+1 || len(ids) != want+1 {
		t.Errorf("%d sent, %d different ones received, %v; want %d", sent, len(ids), err, want+1)
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		endpoint string
		env      map[string]string
		want     Settings
		failure  string
	}{
		{"http://h:1", nil, Settings{Endpoint: "http://h:1/v1/traces", Timeout: patience}, ""},
		{"env", nil, Settings{Endpoint: "http://localhost:4318/v1/traces", Timeout: patience}, ""},
		{"env", map[string]string{"ENDPOINT": "https://h/base/"}, Settings{Endpoint: "https://h/base/v1/traces", Timeout: patience}, ""},
		{"env", map[string]string{"ENDPOINT": "http://a", "TRACES_ENDPOINT": "http://b/here"}, Settings{Endpoint: "http://b/here", Timeout: patience}, ""},
		{
			"http://h/x", map[string]string{"HEADERS": "a=1", "TRACES_HEADERS": "api-key=s%20e, b = 2", "TIMEOUT": "2500", "COMPRESSION": "gzip"},
			Settings{Endpoint: "http://h/x", Headers: map[string]string{"api-key": "s e", "b": "2"}, Timeout: 2500 * time.Millisecond, Gzip: true}, "",
		},
		{"env", map[string]string{"PROTOCOL": "grpc"}, Settings{}, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`},
		{"http://h", map[string]string{"TIMEOUT": "1s"}, Settings{}, "number of milliseconds"},
		{"http://h", map[string]string{"HEADERS": "secret"}, Settings{}, "OTEL_EXPORTER_OTLP_HEADERS: must be name=value"},
		{"http://h", map[string]string{"COMPRESSION": "br"}, Settings{}, "must be gzip or none"},
	} {
		got, err := NewSettings(tt.endpoint, func(name string) string { return tt.env[strings.TrimPrefix(name, "OTEL_EXPORTER_OTLP_")] })
		if tt.failure != "" {
			if err == nil || !strings.Contains(err.Error(), tt.failure) {
				t.Errorf("%v: %v, want %s", tt.env, err, tt.failure)
			}
		} else if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: %+v, %v; want %+v", tt.env, got, err, tt.want)
		}
	}
}

// TestNoRedirectIsFollowed: spans go only to the receiver that was named.
func TestNoRedirectIsFollowed(t *testing.T) {
	other, received := receive(t, nil)
	endpoint, _ := receive(t, func(w http.ResponseWriter) {
		w.Header().Set("Location", other)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	sent, err := send(endpoint, tracetest.Sample())
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Detail, other) || sent != 0 || len(*received) != 0 {
		t.Errorf("%d sent, %d received elsewhere, %v; want a RefusedError that names %s", sent, len(*received), err, other)
	}
}

// TestTracesOfOthers: two transactions of one request are in its trace, below its span, and their spans differ.
func TestTracesOfOthers(t *testing.T) {
	sample := tracetest.Sample()
	parent := trace.Parent{Trace: [16]byte{1, 2}, Span: [8]byte{3, 4}}
	met := make(map[string]bool)
	for i, one := range sample.Transactions {
		if one.Parent = parent; i == 1 {
			one.Parent.Span = [8]byte{} // only the trace is known
		}
		for j, span := range spansOf(sample.Target, one) {
			if met[string(span.SpanId)] || !bytes.Equal(span.TraceId, parent.Trace[:]) {
				t.Errorf("span %x of trace %x; want another one of trace %x", span.SpanId, span.TraceId, parent.Trace)
			}
			met[string(span.SpanId)] = true
			want := parent.Span[:]
			if i == 1 {
				want = nil
			}
			if j == 0 && !bytes.Equal(span.ParentSpanId, want) {
				t.Errorf("the root's parent is %x, want %x", span.ParentSpanId, want)
			}
		}
	}
}

func TestJSONAndProtobufAgree(t *testing.T) {
	sample := tracetest.Sample()
	endpoint, received := receive(t, nil)
	sent, err := send(endpoint, sample)
	if err != nil || len(*received) != 1 {
		t.Fatalf("%v, %d requests", err, len(*received))
	}
	var calls int
	for _, one := range sample.Transactions {
		for range one.All() {
			calls++
		}
	}
	spans := (*received)[0].ResourceSpans[0].ScopeSpans[0].Spans
	if sent != calls || len(spans) != calls {
		t.Errorf("%d sent, %d received, of %d calls", sent, len(spans), calls)
	}
	var out bytes.Buffer
	if err := WriteJSON(&out, sample, "1.0"); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(decodeJSON(t, out.Bytes()), (*received)[0]) {
		t.Error("JSON and protobuf differ")
	}
	checkTree(t, spans, sample.Transactions[1].Parent.Span)
}

// checkTree holds spans to what a trace is: ids of their lengths, each once, parents
// there, or a span of others.
func checkTree(t *testing.T, spans []*tracepb.Span, others [8]byte) {
	t.Helper()
	ids, traces := map[string]bool{string(others[:]): true}, map[string]bool{}
	for _, span := range spans {
		if len(span.TraceId) != 16 || len(span.SpanId) != 8 || ids[string(span.SpanId)] {
			t.Errorf("ids of %s: %x %x", span.Name, span.TraceId, span.SpanId)
		}
		ids[string(span.SpanId)] = true
		if span.StartTimeUnixNano == 0 || span.EndTimeUnixNano < span.StartTimeUnixNano {
			t.Errorf("times of %s: %d to %d", span.Name, span.StartTimeUnixNano, span.EndTimeUnixNano)
		}
		if len(span.ParentSpanId) == 0 {
			if traces[string(span.TraceId)] {
				t.Errorf("%s is a second root", span.Name)
			}
			traces[string(span.TraceId)] = true
		} else if !ids[string(span.ParentSpanId)] {
			t.Errorf("the parent of %s does not come before it", span.Name)
		}
	}
}

func TestIDsAreTheSameEachTime(t *testing.T) {
	a, b := tracetest.Sample(), tracetest.Sample()
	if trace.ID(a.Target, a.Transactions[0]) != trace.ID(b.Target, b.Transactions[0]) {
		t.Error("the same transaction has two ids")
	}
	b.Target.PID++
	if trace.ID(a.Target, a.Transactions[0]) == trace.ID(b.Target, b.Transactions[0]) {
		t.Error("transactions of two processes have one id")
	}
}

func TestLargeTracesAreSplit(t *testing.T) {
	tx := &trace.Transaction{ID: 1, Root: &trace.Call{Method: "root"}}
	for range 2*mostSpans + 10 {
		tx.Root.Children = append(tx.Root.Children, &trace.Call{Method: "\xff\xfe half a character"})
	}
	endpoint, received := receive(t, nil)
	sent, err := send(endpoint, &trace.Trace{Transactions: []*trace.Transaction{tx}})
	if err != nil || sent != 2*mostSpans+11 || len(*received) != 3 {
		t.Errorf("%v: %d sent in %d", err, sent, len(*received))
	}
}

func TestRefusals(t *testing.T) {
	partly := protowire.AppendTag(nil, 1, protowire.BytesType)
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7)
	inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), "too old")
	partly = protowire.AppendBytes(partly, inner)
	for name, check := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"status": {func(w http.ResponseWriter) { http.Error(w, "no such tenant\nat all", http.StatusForbidden) }, "refused the spans: 403 Forbidden: no such tenant"},
		"partly": {func(w http.ResponseWriter) { _, _ = w.Write(partly) }, "refused 7 of the spans: too old"},
	} {
		endpoint, _ := receive(t, check.answer)
		_, err := send(endpoint, tracetest.Sample())
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.HasSuffix(err.Error(), check.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"http://h:4318": "http://h:4318/v1/traces", "https://h/": "https://h/v1/traces", "http://h/otlp/v1/traces": "http://h/otlp/v1/traces",
		"localhost:4318": "", "": "", "ftp://h": "", "http://": "",
	} {
		got, err := Endpoint(text)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err != nil && !errors.Is(err, ErrEndpoint) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzAnswer reads any bytes as the answer of a receiver.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte{10, 7, 8, 3, 18, 3, 'w', 'h', 'y'})
	f.Add([]byte{8, 3, 18, 3, 'w', 'h', 'y'})
	f.Add([]byte{0x0b, 0x0b, 0x0c, 0x0c, 0x0d, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, answer []byte) {
		_, detail := partial(answer)
		_, text := status(answer)
		if max(len(detail), len(text), len(firstLine(string(answer)))) > len(answer) {
			t.Errorf("%q and %q out of %d bytes", detail, text, len(answer))
		}
	})
}
