package tenants

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const (
	slowTenant = "globex"
	// slow lies far above what most requests take, and below what that tenant's
	// reports do, which read hundreds of thousands of rows.
	slow = 50 * time.Millisecond
	// wanted is how many slow requests are sent, and how many end the tracing.
	wanted = 4
	// linesOfReport is how many lines every tenant's report has: one price each.
	linesOfReport = 100
	// giveUp ends a tracing that does not get what it waits for.
	giveUp = "9m"
)

// TestSlowRequestsOfOneTenantInTomcat traces what one tenant waited for too long. The
// application reports which ones those were.
func TestSlowRequestsOfOneTenantInTomcat(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run("jdk"+jdk.Version, func(t *testing.T) {
			s := startTomcat(t, jdk)
			s.visitAll(t, 1, 1)
			said := s.ask(t, slowTenant+"/orders", "-1")

			receiver := startReceiver(t)
			files := filepath.Join(t.TempDir(), "slow")
			tracing := startTracing(t, s.PID, "tenants.web.Front.handle", "--tag", "tenant=$1.tenant.name",
				"--when", `tx.tenant == "`+slowTenant+`"`, "--slower-than", slow.String(), "--limit", strconv.Itoa(wanted), "--duration", giveUp,
				"--capture", "$1.number", "--capture", "$1.service", "--otlp", receiver.URL(),
				"-o", files+".json", "-o", files+".html", "-o", files+".perfetto.json", "-o", files+".otlp.json", "-o", files+".txt")
			tracing.settle(t, func() { s.ask(t, slowTenant+"/orders", "-1") })
			const first = 1001
			s.visitAll(t, first, wanted)
			tracing.end(t)
			t.Logf("%s\n%s", tracing.stderr.String(), tracing.out.String())

			kept := readTrace(t, files+".json")
			judgeVisits(t, kept, s.visits(t), first)
			judgeReports(t, kept)
			judgeFiles(t, kept, files)
			receiver.judge(t, kept, files+".otlp.json")
			judgeInPerfetto(t, kept, files+".perfetto.json")
			nothingLeft(t, s.PID)
			if again := s.ask(t, slowTenant+"/orders", "-1"); again != said {
				t.Errorf("the orders are %q, and were %q before", again, said)
			}
			if s.Stderr() != "" && jdk.Major < 21 { // later ones warn of every agent
				t.Errorf("the application complains: %s", s.Stderr())
			}
		})
	}
}

// judgeVisits compares what was kept with what the application measured. As many
// were slow as wanted, and others only if something else held them up: those may be
// kept in the place of some.
func judgeVisits(t *testing.T, kept trace, visits map[int]visit, first int) {
	t.Helper()
	if len(kept.Transactions) != wanted {
		t.Errorf("%d kept, want %d", len(kept.Transactions), wanted)
	}
	found := make(map[int]bool)
	for i := range kept.Transactions {
		tx := &kept.Transactions[i]
		number := tx.Root.number(t, "$1.number")
		v, reported := visits[number]
		switch {
		case !reported || number < first || found[number]:
			t.Errorf("request %d was kept, and was not made meanwhile or is here twice", number)
		case v.tenant != slowTenant || tx.Tags["tenant"] != slowTenant || tx.Root.value(t, "$1.service") != v.service:
			t.Errorf("request %d was kept as %v, and is %+v", number, tx.Tags, v)
		case time.Duration(v.around) < slow:
			t.Errorf("request %d was kept, and took %v", number, time.Duration(v.around))
		case tx.Root.MeasuredNanos < v.within || tx.Root.MeasuredNanos > v.around:
			t.Errorf("request %d: Sonde measured %d ns, the application from %d to %d", number, tx.Root.MeasuredNanos, v.within, v.around)
		}
		found[number] = true
	}
	missing, inPlace := 0, 0
	for number, v := range visits {
		must := number >= first && v.tenant == slowTenant && v.service == "report"
		if must && time.Duration(v.within) < slow {
			t.Errorf("request %d should be slow and took %v: this says nothing of Sonde", number, time.Duration(v.within))
		}
		if must && !found[number] {
			missing++
		}
		if !must && found[number] {
			inPlace++
		}
	}
	if missing != inPlace {
		t.Errorf("of the slow requests %d are missing; in their place are %d others", missing, inPlace)
	}
}

// judgeReports expects that each report has all the calls that made it slow, and what
// another thread did for it.
func judgeReports(t *testing.T, kept trace) {
	t.Helper()
	for i := range kept.Transactions {
		tx := &kept.Transactions[i]
		if tx.Root.value(t, "$1.service") != "report" {
			continue
		}
		const service = "tenants.service."
		reads := tx.Root.count(service+"Reports.answer", service+"Pricing.price", service+"Agreements.percentOff", "tenants.store.Store.query")
		if reads != linesOfReport {
			t.Errorf("request %s: %d reads of agreements, want %d", tx.Root.value(t, "$1.number"), reads, linesOfReport)
		}
		if len(tx.Parts) != 1 || tx.Parts[0].ThreadName == tx.Root.ThreadName || tx.Parts[0].count(service+"Stock.of") != 1 {
			t.Errorf("request %s: %d parts on other threads, want one that looks into the stock", tx.Root.value(t, "$1.number"), len(tx.Parts))
		}
	}
}

// A trace is what is looked at of the files that Sonde writes.
type trace struct {
	Transactions []transaction
	Losses       map[string]uint64
}

type transaction struct {
	TraceID string
	Tags    map[string]string
	Root    call
	Parts   []call
}

type call struct {
	Class, Method, ThreadName string
	MeasuredNanos             int64
	Values                    []struct{ Expression, Text string }
	Children                  []call
	Folded                    []call // sums of further calls
	Calls                     int    // of a sum
	caller                    string
}

// inner yields the calls by one, and the sums of its further calls.
func (c *call) inner() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for _, list := range [][]call{c.Children, c.Folded} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// value is what was captured by an expression.
func (c *call) value(t *testing.T, expression string) string {
	t.Helper()
	for _, v := range c.Values {
		if v.Expression == expression {
			return v.Text
		}
	}
	t.Fatalf("no value of %s in %+v", expression, c.Values)
	return ""
}

func (c *call) number(t *testing.T, expression string) int {
	t.Helper()
	number, err := strconv.Atoi(c.value(t, expression))
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// count is how many calls lie below one by these methods, each inside the one before.
func (c *call) count(methods ...string) int {
	if len(methods) == 0 {
		return max(1, c.Calls)
	}
	sum := 0
	for child := range c.inner() {
		if child.Class+"."+child.Method == methods[0] {
			sum += child.count(methods[1:]...)
		}
	}
	return sum
}

// calls are all there are, each after its caller.
func (kept trace) calls() []*call {
	var all []*call
	var add func(c *call)
	add = func(c *call) {
		all = append(all, c)
		for i := range c.Children {
			c.Children[i].caller = c.Class + "." + c.Method
			add(&c.Children[i])
		}
	}
	for i := range kept.Transactions {
		tx := &kept.Transactions[i]
		add(&tx.Root)
		for j := range tx.Parts {
			add(&tx.Parts[j])
		}
	}
	return all
}

func readTrace(t *testing.T, path string) trace {
	t.Helper()
	return readJSON[trace](t, path)
}

func readJSON[T any](t *testing.T, path string) (value T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}

// Every slice, with the one it lies in and its thread.
const slicesQuery = `SELECT s.name, s.dur, COALESCE(p.name, ''), t.name FROM slice s
	LEFT JOIN slice p ON p.id = s.parent_id JOIN thread_track ON thread_track.id = s.track_id JOIN thread t USING (utid)`

// judgeInPerfetto opens a file in Perfetto's own trace processor, where SONDE_PERFETTO
// names a release of its page, and expects every call as a slice inside its caller's.
func judgeInPerfetto(t *testing.T, kept trace, file string) {
	t.Helper()
	folder := os.Getenv("SONDE_PERFETTO")
	if folder == "" {
		return // test/tenants/show has it
	}
	slices := make(map[string]int)
	for _, row := range perfetto(t, folder, file, slicesQuery) {
		slices[fmt.Sprintf("%s %.0f in %s on %s", row...)]++
	}
	calls := kept.calls()
	for _, c := range calls {
		key := fmt.Sprintf("%s %d in %s on %s", c.Class+"."+c.Method, c.MeasuredNanos, c.caller, c.ThreadName)
		if slices[key]--; slices[key] < 0 {
			t.Errorf("Perfetto has no slice %s", key)
		}
	}
	for key, count := range slices {
		if count > 0 {
			t.Errorf("Perfetto has a slice that was not called: %s", key)
		}
	}
	for _, row := range perfetto(t, folder, file, `SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0`) {
		t.Errorf("Perfetto complains: %v", row)
	}
	parts := 0
	for i := range kept.Transactions {
		parts += len(kept.Transactions[i].Parts)
	}
	if arrows := perfetto(t, folder, file, `SELECT COUNT(*) FROM flow`); fmt.Sprint(arrows) != fmt.Sprintf("[[%d]]", parts) {
		t.Errorf("Perfetto has %v arrows to other threads, want %d", arrows, parts)
	}
	if t.Failed() {
		return
	}
	t.Logf("Perfetto has all %d calls as slices, each inside its caller's, and %d arrows to other threads", len(calls), parts)
}

// perfetto gives the rows of an answer.
func perfetto(t *testing.T, folder, file, query string) [][]any {
	t.Helper()
	command := exec.Command("node", "perfetto/query.mjs", folder, file, query)
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("Perfetto: %v\n%.2000s", err, complaints.String())
	}
	var rows [][]any
	for line := range strings.Lines(string(out)) {
		var row []any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

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

// collectorConfig makes the collector listen at an address and print what it receives.
const collectorConfig = `
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {print: {}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [print]}}
`

// A collector is the OpenTelemetry Collector, running.
type collector struct {
	*exec.Cmd
	address string
	stored  chan string // all that it printed, when it has ended
}

func (c *collector) URL() string { return "http://" + c.address }

func startCollector(t *testing.T, program string) *collector {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{address: free.Addr().String(), stored: make(chan string, 1)}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "collector.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, collectorConfig, c.address), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Cmd = exec.Command(program, "--config", config)
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	go func() {
		text, _ := io.ReadAll(stdout) // what is missing is found missing
		c.stored <- string(text)
	}()
	var said strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Everything is ready") {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return c
		}
		said.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("the collector ended:\n%s", said.String())
	return nil
}

// judge ends the collector and expects in what it stored all that was sent, to the last
// attribute, which is what Sonde wrote into the file of spans.
func (c *collector) judge(t *testing.T, kept trace, file string) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	stored := make(map[string]any)
	for line := range strings.Lines(<-c.stored) {
		addSpans(t, []byte(line), stored)
	}
	_ = c.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(map[string]any)
	addSpans(t, text, sent)
	if all := len(kept.calls()); len(stored) != all || !reflect.DeepEqual(stored, sent) {
		t.Errorf("the collector has %d spans, the file %d, of %d calls; or they differ", len(stored), len(sent), all)
		for id, span := range sent {
			if !reflect.DeepEqual(span, stored[id]) {
				t.Fatalf("such as\n%v\nstored as\n%v", span, stored[id])
			}
		}
	}
	t.Logf("the OpenTelemetry Collector took all %d spans, and stored them as they were sent", len(stored))
}

// addSpans adds the spans of a file of OTLP's, by trace and span, each with the resource
// it is of. What is empty is the same as what is not there.
func addSpans(t *testing.T, text []byte, spans map[string]any) {
	t.Helper()
	var data struct {
		ResourceSpans []struct {
			Resource   map[string]any
			ScopeSpans []struct {
				Scope map[string]any
				Spans []map[string]any
			}
		}
	}
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	for _, resource := range data.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				span["resource"], span["scope"] = resource.Resource, scope.Scope
				if attributes, is := span["attributes"].([]any); is {
					span["attributes"] = slices.DeleteFunc(attributes, dependsOnCost)
				}
				spans[fmt.Sprint(span["traceId"], " ", span["spanId"])] = withoutEmpty(span)
			}
		}
	}
}

// dependsOnCost reports whether an attribute is a time without the cost of hooks. Spans are sent while the trace is running, and that
// cost is measured again at its end.
func dependsOnCost(attribute any) bool {
	of, _ := attribute.(map[string]any)
	return of["key"] == "sonde.duration_ns" || of["key"] == "sonde.self_ns"
}

func withoutEmpty(value any) any {
	tree, ok := value.(map[string]any)
	if !ok {
		return value
	}
	rest := make(map[string]any)
	for name, inner := range tree {
		inner = withoutEmpty(inner)
		if branch, ok := inner.(map[string]any); inner != "" && !(ok && len(branch) == 0) {
			rest[name] = inner
		}
	}
	return rest
}
