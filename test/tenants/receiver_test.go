package tenants

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A receiver of spans.
type receiver interface {
	URL() string
	// judge compares what came with what was kept, and with the file of spans.
	judge(t *testing.T, kept trace, file string)
}

// startReceiver is the OpenTelemetry Collector where SONDE_COLLECTOR names its program,
// which test/tenants/show builds; without it OpenTelemetry's own types read what comes.
func startReceiver(t *testing.T) receiver {
	t.Helper()
	if program := os.Getenv("SONDE_COLLECTOR"); program != "" {
		return startCollector(t, program)
	}
	r := &reader{}
	r.server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.server.Close)
	return r
}

// A reader is a receiver that keeps what it can read.
type reader struct {
	server *httptest.Server
	mu     sync.Mutex
	spans  []*tracepb.Span
	wrong  []string
}

func (r *reader) URL() string { return r.server.URL }

func (r *reader) take(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var data tracepb.TracesData // as an export request is on the wire
	body, err := io.ReadAll(request.Body)
	if err == nil {
		err = proto.Unmarshal(body, &data)
	}
	kind := request.Header.Get("Content-Type")
	if err != nil || request.URL.Path != "/v1/traces" || kind != "application/x-protobuf" {
		r.wrong = append(r.wrong, request.URL.Path+" "+kind)
		http.Error(w, "no export of traces", http.StatusBadRequest)
		return
	}
	for _, resource := range data.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", kind)
}

// judge expects a span of each call, all in trees whose roots are the transactions.
func (r *reader) judge(t *testing.T, kept trace, _ string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) > 0 {
		t.Errorf("what is no export of traces was sent: %q", r.wrong)
	}
	known := make(map[string]bool)
	for _, span := range r.spans {
		known[string(span.GetTraceId())+string(span.GetSpanId())] = true
	}
	roots := 0
	for _, span := range r.spans {
		if parent := span.GetParentSpanId(); len(parent) == 0 {
			roots++
		} else if !known[string(span.GetTraceId())+string(parent)] {
			t.Errorf("the span %s has a parent that was not sent", span.GetName())
		}
	}
	if all := len(kept.calls()); len(known) != all || len(r.spans) != all || roots != len(kept.Transactions) {
		t.Errorf("%d spans, %d different, %d roots; want %d calls of %d transactions", len(r.spans), len(known), roots, all, len(kept.Transactions))
	}
}
