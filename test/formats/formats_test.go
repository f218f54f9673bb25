package formats

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/measure/trace/tracetest"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/pagetest"
	"github.com/sonde-jvm/sonde/internal/report/prometheus"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// tool returns the value of a variable that names a program of others. Without one, the test is skipped.
func tool(t *testing.T, variable string) string {
	t.Helper()
	if os.Getenv("SONDE_FORMATS") == "" {
		t.Skip("make formats opens files in programs of others")
	}
	named := os.Getenv(variable)
	if named == "" && variable != "" {
		t.Skipf("NOT SHOWN: %s names no program; test/formats/show fetches it", variable)
	}
	return named
}

// A sum is nanoseconds by method: self times.
type sum map[string]float64

// A result is a file of each format, with the self times that Sonde's own JSON has.
type result struct {
	name  string
	write func(path string) error
	index string // of pprof's values
}

var results = []result{
	{"profile", func(path string) error { return report.Profiles.WriteFile(path, reporttest.Shop(1)) }, "self"},
	{"hot", func(path string) error { return report.HotSpots.WriteFile(path, reporttest.HotSpots()) }, "cpu"},
}

// file writes a result in a format.
func (r result) file(t *testing.T, suffix string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), r.name+suffix)
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// selfs reads self times from Sonde's JSON.
func (r result) selfs(t *testing.T) sum {
	t.Helper()
	selfs, _ := r.times(t)
	return selfs
}

// times reads self times from Sonde's JSON, and adds those below: the times of all contexts of a method.
func (r result) times(t *testing.T) (selfs, totals sum) {
	t.Helper()
	data, err := os.ReadFile(r.file(t, ".json"))
	if err != nil {
		t.Fatal(err)
	}
	type tree struct {
		Methods []cct.Method `json:"methods"`
		Nodes   []struct {
			Parent int       `json:"parent"`
			Method int       `json:"method"`
			Self   []float64 `json:"self"`
		}
	}
	var document struct {
		Methods []cct.Method    `json:"methods"`
		Merged  json.RawMessage `json:"merged"`
		Tree    tree            `json:"tree"`
	}
	_ = json.Unmarshal(data, &document) // the methods of hot spots have other fields
	read := document.Tree
	if document.Merged != nil {
		read.Methods = document.Methods
		if err := json.Unmarshal(document.Merged, &read.Nodes); err != nil {
			t.Fatal(err)
		}
	}
	names := cct.Names(read.Methods)
	selfs, totals = sum{}, sum{}
	for _, n := range read.Nodes {
		if n.Method < 0 || len(n.Self) == 0 || n.Self[0] <= 0 {
			continue
		}
		selfs[names[n.Method]] += n.Self[0]
		for above := n; above.Method >= 0; above = read.Nodes[above.Parent] {
			totals[names[above.Method]] += n.Self[0]
			if above.Parent < 0 {
				break
			}
		}
	}
	if len(selfs) == 0 {
		t.Fatalf("%s: no self times in JSON", r.name)
	}
	return selfs, totals
}

// compare compares times; each may be off by what rounding does.
func compare(t *testing.T, program string, got, want sum, off float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d methods with times, want %d:\n%v\n%v", program, len(got), len(want), got, want)
	}
	var whole float64
	for name, nanos := range want {
		whole += nanos
		if math.Abs(got[name]-nanos) > off {
			t.Errorf("%s: %s has %.0f ns, want %.0f", program, name, got[name], nanos)
		}
	}
	t.Logf("%s: %d methods with %v, each as in Sonde's JSON", program, len(want), time.Duration(whole))
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, complaints.String())
	}
	return string(out)
}

func TestPprof(t *testing.T) {
	tool(t, "")
	for _, r := range results {
		compare(t, "pprof of "+r.name, topOf(t, r.index, r.file(t, ".pb.gz")), r.selfs(t), 3)
	}
	if out := output(t, "go", "tool", "pprof", "-top", results[1].file(t, ".pb.gz")); !strings.Contains(out, "Duration: 10s") {
		t.Errorf("pprof does not show the duration of 10 s:\n%.300s", out)
	}
	causes, path := reporttest.RootCause(), filepath.Join(t.TempDir(), "causes.pb.gz")
	if err := report.RootCauses.WriteFile(path, causes); err != nil {
		t.Fatal(err)
	}
	want, names := sum{}, cct.Names(causes.Methods)
	for _, spot := range causes.Spots {
		want[names[spot.Method]] += spot.Share.Part * float64(causes.Sampled.Over)
	}
	compare(t, "pprof of root causes", topOf(t, "time", path), want, 10)
	lines := output(t, "go", "tool", "pprof", "-top", "-lines", "-sample_index=samples", results[1].file(t, ".pb.gz"))
	if !regexp.MustCompile(`(?m)^ *300 .*Tree\.find\(int\) com/example/shop/pricing/Tree\.java:88$`).MatchString(lines) {
		t.Errorf("pprof does not show the lines of samples:\n%s", lines)
	}
}

// topOf returns the self times that pprof shows of a file.
func topOf(t *testing.T, index, path string) sum {
	t.Helper()
	row := regexp.MustCompile(`(?m)^ *([0-9.]+)ns +[0-9.]+% +[0-9.]+% +[0-9.]+ns +[0-9.]+% +(.+)$`)
	top := sum{}
	for _, found := range row.FindAllStringSubmatch(output(t, "go", "tool", "pprof", "-top", "-nodefraction=0", "-nodecount=100000", "-unit=ns", "-sample_index="+index, path), -1) {
		nanos, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if nanos > 0 {
			top[found[2]] += nanos
		}
	}
	return top
}

func TestFlamegraph(t *testing.T) {
	script := tool(t, "SONDE_FLAMEGRAPH")
	title := regexp.MustCompile(`<title>(.+) \(([0-9,]+) samples, [0-9.]+%\)</title>`)
	for _, r := range results {
		totals := sum{}
		for _, found := range title.FindAllStringSubmatch(output(t, "perl", script, "--minwidth=0", r.file(t, ".collapsed")), -1) {
			nanos, err := strconv.ParseFloat(strings.ReplaceAll(found[2], ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			totals[html.UnescapeString(found[1])] += nanos
		}
		delete(totals, "all")
		_, want := r.times(t)
		compare(t, "flamegraph.pl of "+r.name, totals, want, float64(len(want)))
	}
}

// TestSpeedscope opens files in speedscope's own page, and reads what it saves.
func TestSpeedscope(t *testing.T) {
	folder := tool(t, "SONDE_SPEEDSCOPE")
	browser := pagetest.Start(t)
	for _, r := range results {
		for _, suffix := range []string{".collapsed", ".pb.gz"} {
			t.Run(r.name+suffix, func(t *testing.T) {
				got := speedscope(t, browser, folder, r.file(t, suffix))
				compare(t, "speedscope of "+r.name+suffix, got, r.selfs(t), 3)
			})
		}
	}
	t.Run("trace", func(t *testing.T) {
		path, sample := filepath.Join(t.TempDir(), "trace.trace.json"), tracetest.Sample()
		if err := report.Traces("").WriteFile(path, sample); err != nil {
			t.Fatal(err)
		}
		want, got := sum{}, sum{}
		for _, one := range sample.Transactions {
			for c := range one.All() {
				self := c.Measured
				for _, child := range c.Children {
					self -= child.Measured
				}
				want[c.Name()] += float64(self)
			}
		}
		for name, micros := range speedscope(t, browser, folder, path) {
			name, _, _ = strings.Cut(name, " {") // speedscope adds the arguments
			got[name] += 1000 * micros
		}
		compare(t, "speedscope of a trace", got, want, 3)
	})
}

// speedscope returns the self times of a file, as speedscope saves it.
func speedscope(t *testing.T, browser *pagetest.Browser, folder, path string) sum {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	loader := filepath.Join(t.TempDir(), "file.js")
	script := fmt.Sprintf("speedscope.loadFileFromBase64(%q, %q)", filepath.Base(path), base64.StdEncoding.EncodeToString(data))
	if err := os.WriteFile(loader, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf(`<head><base href="file://%s/"><script>
		location.hash = "localProfilePath=%s";
		URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return "blob:none"; };
		HTMLAnchorElement.prototype.click = () => {};
	</script>`, folder, strings.TrimPrefix(loader, "/"))
	page := browser.Open(t, strings.Replace(string(index), "<head>", head, 1), 1000, false)
	page.Forgive("WebGL")
	var saved string
	page.Until("speedscope saves the file", func() bool {
		page.Eval(`window.dispatchEvent(new KeyboardEvent("keydown", {key: "s", ctrlKey: true})), window.saved ?? ""`, &saved)
		return saved != ""
	})
	var file struct {
		Shared struct {
			Frames []struct{ Name string }
		}
		Profiles []struct {
			Events []struct {
				Type  string // O for the beginning of a frame, C for its end
				Frame int
				At    float64
			}
		}
	}
	if err := json.Unmarshal([]byte(saved), &file); err != nil {
		t.Fatal(err)
	}
	selfs := sum{}
	for _, p := range file.Profiles {
		var stack []int
		var last float64
		for _, e := range p.Events {
			if len(stack) > 0 && e.At > last {
				selfs[file.Shared.Frames[stack[len(stack)-1]].Name] += e.At - last
			}
			if last = e.At; e.Type == "O" {
				stack = append(stack, e.Frame)
			} else {
				stack = stack[:max(0, len(stack)-1)]
			}
		}
	}
	return selfs
}

// TestPerfetto opens a trace in Perfetto's trace processor. All calls are there, each on its thread, at its time, below its
// caller, and the arrows of tasks that other threads ran.
func TestPerfetto(t *testing.T) {
	folder := tool(t, "SONDE_PERFETTO")
	path, sample := filepath.Join(t.TempDir(), "a.trace.json"), tracetest.Sample()
	if err := report.Traces("").WriteFile(path, sample); err != nil {
		t.Fatal(err)
	}
	first := sample.Transactions[0].Begin
	for _, one := range sample.Transactions {
		if one.Begin.Before(first) {
			first = one.Begin
		}
	}
	var want, got []string
	for _, one := range sample.Transactions {
		callers := map[*trace.Call]string{}
		for c := range one.All() {
			for _, child := range c.Children {
				callers[child] = c.Name()
			}
			want = append(want, fmt.Sprintln(c.Name(), c.Thread.ID, int64(one.Begin.Sub(first)+c.Start), int64(c.Measured), callers[c]))
		}
		for _, part := range one.Parts {
			want = append(want, fmt.Sprintln("arrow from", one.Root.Name(), "to", part.Name()))
		}
	}
	query := func(columns int, sql string) (rows [][]any) {
		for line := range strings.Lines(output(t, "node", "../tenants/perfetto/query.mjs", folder, path, sql)) {
			var row []any
			if err := json.Unmarshal([]byte(line), &row); err != nil || len(row) != columns {
				t.Fatalf("%q: %v", line, err)
			}
			rows = append(rows, row)
		}
		return rows
	}
	for _, row := range query(5, `SELECT s.name, t.tid, s.ts, s.dur, IFNULL(p.name, "") FROM slice s JOIN thread_track k ON s.track_id = k.id JOIN thread t USING (utid) LEFT JOIN slice p ON s.parent_id = p.id`) {
		got = append(got, fmt.Sprintln(row[0], int64(row[1].(float64)), int64(row[2].(float64)), int64(row[3].(float64)), row[4]))
	}
	for _, row := range query(2, "SELECT a.name, b.name FROM flow JOIN slice a ON flow.slice_out = a.id JOIN slice b ON flow.slice_in = b.id") {
		got = append(got, fmt.Sprintln("arrow from", row[0], "to", row[1]))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("Perfetto has\n%v\nwant\n%v", got, want)
	}
	t.Logf("Perfetto: %d calls and arrows, with threads, times and callers as Sonde has them", len(want))
}

const collectorConfig = `
receivers:
  otlp: {protocols: {http: {endpoint: %s}}}
exporters:
  print: {}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [print]}
    profiles: {receivers: [otlp], exporters: [print]}
`

// TestCollector gives the OpenTelemetry Collector files of spans and profiles, and compares what its own encoder writes.
func TestCollector(t *testing.T) {
	program := tool(t, "SONDE_COLLECTOR")
	path, sample := filepath.Join(t.TempDir(), "a.otlp.json"), tracetest.Sample()
	if err := report.Traces("").WriteFile(path, sample); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, one := range sample.Transactions {
		callers := map[*trace.Call]string{}
		for _, part := range one.Parts {
			callers[part] = one.Root.Name()
		}
		for c := range one.All() {
			for _, child := range c.Children {
				callers[child] = c.Name()
			}
			begin := one.Begin.Add(c.Start)
			want = append(want, fmt.Sprintln(c.Name(), begin.UnixNano(), begin.Add(c.Measured).UnixNano(), callers[c]))
		}
	}
	got := spansIn(t, collect(t, program, "/v1/traces", path))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the collector stored %v\nwant %v", got, want)
	}
	t.Logf("the OpenTelemetry Collector: %d spans with their times and callers", len(want))
	for _, r := range results {
		compare(t, "the OpenTelemetry Collector of "+r.name, profileIn(t, r.index, collect(t, program, "/v1development/profiles", r.file(t, ".otlp.json"))), r.selfs(t), 3)
	}
}

// collect posts a file to a collector, and returns what that printed.
func collect(t *testing.T, program, to, path string) []byte {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	config := filepath.Join(t.TempDir(), "collector.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, collectorConfig, address), 0o600); err != nil {
		t.Fatal(err)
	}
	collector := exec.Command(program, "--config", config, "--feature-gates", "service.profilesSupport")
	var stored bytes.Buffer
	collector.Stdout = &stored
	stderr, err := collector.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := collector.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = collector.Process.Kill() }()
	said := bufio.NewScanner(stderr)
	for said.Scan() && !strings.Contains(said.Text(), "Everything is ready") {
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post("http://"+address+to, "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	complaint, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	_ = collector.Process.Signal(syscall.SIGINT)
	_ = collector.Wait()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the collector answered %s to %s: %s", answer.Status, to, complaint)
	}
	return stored.Bytes()
}

// spansIn returns the names of spans with their times and callers.
func spansIn(t *testing.T, stored []byte) (spans []string) {
	t.Helper()
	var data struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{ Name, SpanID, ParentSpanID, StartTimeUnixNano, EndTimeUnixNano string }
			}
		}
	}
	if err := json.Unmarshal(stored, &data); err != nil {
		t.Fatalf("%v: %s", err, stored)
	}
	names := map[string]string{}
	for range 2 {
		spans = nil
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					names[span.SpanID] = span.Name
					spans = append(spans, fmt.Sprintln(span.Name, span.StartTimeUnixNano, span.EndTimeUnixNano, names[span.ParentSpanID]))
				}
			}
		}
	}
	return spans
}

// profileIn returns the self times of a profile, by the values of one kind.
func profileIn(t *testing.T, kind string, stored []byte) sum {
	t.Helper()
	var data struct {
		ResourceProfiles []struct {
			ScopeProfiles []struct {
				Profiles []struct {
					SampleType struct{ TypeStrindex int }
					Samples    []struct {
						StackIndex int
						Values     []json.Number
					}
				}
			}
		}
		Dictionary struct {
			StackTable    []struct{ LocationIndices []int }
			LocationTable []struct {
				Lines []struct{ FunctionIndex int }
			}
			FunctionTable []struct{ NameStrindex int }
			StringTable   []string
		}
	}
	if err := json.Unmarshal(stored, &data); err != nil {
		t.Fatalf("%v: %s", err, stored)
	}
	selfs, d := sum{}, data.Dictionary
	for _, p := range data.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		if d.StringTable[p.SampleType.TypeStrindex] != kind {
			continue
		}
		for _, s := range p.Samples {
			leaf := d.LocationTable[d.StackTable[s.StackIndex].LocationIndices[0]]
			nanos, err := s.Values[0].Float64()
			if err != nil {
				t.Fatal(err)
			}
			selfs[d.StringTable[d.FunctionTable[leaf.Lines[0].FunctionIndex].NameStrindex]] += nanos
		}
	}
	return selfs
}

const prometheusConfig = `
scrape_configs:
  - job_name: sonde
    scrape_interval: 1s
    static_configs: [{targets: ["%s"]}]
`

// TestPromtool lets Prometheus' own tool check the metrics, lets Prometheus read them, and asks for them by that tool.
func TestPromtool(t *testing.T) {
	program, server := tool(t, "SONDE_PROMTOOL"), tool(t, "SONDE_PROMETHEUS")
	path := filepath.Join(t.TempDir(), "sonde.prom")
	e, err := prometheus.NewExporter(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	spread := &arena.Spread{}
	for _, nanos := range []uint64{2_000, 3_000, 5_000_000} {
		spread.Record(nanos)
	}
	since := &monitor.Interval{Lost: 4, Rows: []monitor.Row{{Key: monitor.Key{Pattern: `a."B".c`}, Calls: 7, Errors: 2, Timed: 3, Nanos: 5_005_000, Spread: spread}}}
	if err := e.Publish(prometheus.Target{Main: "shop.jar", Instance: "blue", PID: 1, JDK: "17"}, true, since); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	command := exec.Command(program, "check", "metrics")
	command.Stdin = file
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) }))
	defer metrics.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, prometheusConfig, strings.TrimPrefix(metrics.URL, "http://")), 0o600); err != nil {
		t.Fatal(err)
	}
	database := exec.Command(server, "--config.file", config, "--storage.tsdb.path", t.TempDir(), "--web.listen-address", address)
	var said bytes.Buffer
	database.Stderr = &said
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = database.Process.Signal(syscall.SIGTERM)
		_ = database.Wait()
	}()
	ask := func(query string) string {
		out, _ := exec.Command(program, "query", "instant", "http://"+address, query).Output() // fails until the server listens
		return string(out)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(ask("sonde_jvm_info"), "=>"); time.Sleep(200 * time.Millisecond) { // only between looks
		if time.Now().After(end) {
			t.Fatalf("Prometheus has read nothing: %s", said.String())
		}
	}
	const own = `main="shop.jar",jvm="blue"`
	for query, want := range map[string]string{
		`sonde_calls_total{` + own + `,pattern="a.\"B\".c"}`:              "7",
		`sonde_call_errors_total{` + own + `}`:                            "2",
		`sonde_calls_lost_total{` + own + `}`:                             "4",
		`sonde_monitor_up{` + own + `}`:                                   "1",
		`sonde_jvm_info{` + own + `,pid="1",jdk="17"}`:                    "1",
		`sonde_call_seconds_count{` + own + `}`:                           "3",
		`sonde_call_seconds_sum{` + own + `}`:                             "0.005005",
		`sonde_call_seconds_bucket{le="4.096e-06"}`:                       "2",
		`sonde_call_seconds_bucket{le="1.024e-06"}`:                       "0",
		`round(histogram_quantile(0.5, sonde_call_seconds_bucket) * 1e9)`: "3072",
	} {
		if got := ask(query); !strings.Contains(got, " => "+want+" @") {
			t.Errorf("Prometheus says for %s %q, want %s", query, got, want)
		}
	}
	t.Log("promtool: the metrics are valid, and Prometheus has the numbers")
}
