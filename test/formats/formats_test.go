package formats

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	data, err := os.ReadFile(r.file(t, ".json"))
	if err != nil {
		t.Fatal(err)
	}
	type tree struct {
		Methods []cct.Method `json:"methods"`
		Nodes   []struct {
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
	selfs := sum{}
	for _, n := range read.Nodes {
		if n.Method >= 0 && len(n.Self) > 0 && n.Self[0] > 0 {
			selfs[names[n.Method]] += n.Self[0]
		}
	}
	if len(selfs) == 0 {
		t.Fatalf("%s: no self times in JSON", r.name)
	}
	return selfs
}

// compare compares self times; each may be off by what rounding does.
func compare(t *testing.T, program string, got, want sum, off float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d methods with self time, want %d:\n%v\n%v", program, len(got), len(want), got, want)
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
	row := regexp.MustCompile(`(?m)^ *([0-9.]+)ns +[0-9.]+% +[0-9.]+% +[0-9.]+ns +[0-9.]+% +(.+)$`)
	for _, r := range results {
		out := output(t, "go", "tool", "pprof", "-top", "-nodefraction=0", "-nodecount=100000", "-unit=ns", "-sample_index="+r.index, r.file(t, ".pb.gz"))
		got := sum{}
		for _, found := range row.FindAllStringSubmatch(out, -1) {
			nanos, err := strconv.ParseFloat(found[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			if nanos > 0 {
				got[found[2]] += nanos
			}
		}
		compare(t, "pprof of "+r.name, got, r.selfs(t), 3)
		if r.name == "hot" && !strings.Contains(out, "Duration: 10s") {
			t.Errorf("pprof does not show the duration of 10 s:\n%.300s", out)
		}
	}
	lines := output(t, "go", "tool", "pprof", "-top", "-lines", "-sample_index=samples", results[1].file(t, ".pb.gz"))
	if !regexp.MustCompile(`(?m)^ *300 .*Tree\.find\(int\) com/example/shop/pricing/Tree\.java:88$`).MatchString(lines) {
		t.Errorf("pprof does not show the lines of samples:\n%s", lines)
	}
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
		var whole float64
		for _, nanos := range r.selfs(t) {
			whole += nanos
		}
		if math.Abs(totals["all"]-whole) > float64(len(totals)) || len(totals) < len(r.selfs(t)) {
			t.Errorf("flamegraph.pl: %d frames with %.0f ns in all, want at least %d with %.0f", len(totals), totals["all"], len(r.selfs(t)), whole)
		}
		t.Logf("flamegraph.pl of %s: %d methods, %v in all", r.name, len(totals), time.Duration(whole))
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
		path := filepath.Join(t.TempDir(), "trace.trace.json")
		if err := report.Traces("").WriteFile(path, tracetest.Sample()); err != nil {
			t.Fatal(err)
		}
		if got := speedscope(t, browser, folder, path); len(got) == 0 {
			t.Error("speedscope shows nothing of a trace")
		}
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

// TestPerfetto opens a trace in Perfetto's trace processor.
func TestPerfetto(t *testing.T) {
	folder := tool(t, "SONDE_PERFETTO")
	path, sample := filepath.Join(t.TempDir(), "a.trace.json"), tracetest.Sample()
	if err := report.Traces("").WriteFile(path, sample); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, one := range sample.Transactions {
		for c := range one.All() {
			name := c.Name()
			calls, nanos := 0, int64(0)
			_, _ = fmt.Sscan(want[name], &calls, &nanos)
			want[name] = fmt.Sprint(calls+1, nanos+int64(c.Measured))
		}
	}
	got := map[string]string{}
	for line := range strings.Lines(output(t, "node", "../tenants/perfetto/query.mjs", folder, path, "SELECT name, COUNT(*), SUM(dur) FROM slice GROUP BY name")) {
		var row []any
		if err := json.Unmarshal([]byte(line), &row); err != nil || len(row) != 3 {
			t.Fatalf("%q: %v", line, err)
		}
		got[fmt.Sprint(row[0])] = fmt.Sprintf("%.0f %.0f", row[1], row[2])
	}
	if !maps.Equal(got, want) {
		t.Errorf("Perfetto has calls and nanoseconds %v, want %v", got, want)
	}
	t.Logf("Perfetto: %d methods, with calls and times as Sonde has them", len(want))
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
`

// TestCollector gives the OpenTelemetry Collector a file of spans, and counts what it stored.
func TestCollector(t *testing.T) {
	program := tool(t, "SONDE_COLLECTOR")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	dir := t.TempDir()
	config, path, sample := filepath.Join(dir, "collector.yaml"), filepath.Join(dir, "a.otlp.json"), tracetest.Sample()
	if err := os.WriteFile(config, fmt.Appendf(nil, collectorConfig, address), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := report.Traces("").WriteFile(path, sample); err != nil {
		t.Fatal(err)
	}
	collector := exec.Command(program, "--config", config)
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
	answer, err := http.Post("http://"+address+"/v1/traces", "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	_ = collector.Process.Signal(syscall.SIGINT)
	_ = collector.Wait()
	got, want := spansIn(t, stored.Bytes()), calls(sample)
	if answer.StatusCode != http.StatusOK || !maps.Equal(got, want) {
		t.Errorf("the collector answered %s and stored %v, want %v", answer.Status, got, want)
	}
	t.Logf("the OpenTelemetry Collector: %d methods, with a span for each call", len(want))
}

func calls(sample *trace.Trace) map[string]int {
	count := map[string]int{}
	for _, one := range sample.Transactions {
		for c := range one.All() {
			count[c.Name()]++
		}
	}
	return count
}

// spansIn counts spans by name, in what the collector's own encoder wrote.
func spansIn(t *testing.T, stored []byte) map[string]int {
	t.Helper()
	count := map[string]int{}
	for line := range bytes.Lines(stored) {
		var data struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct{ Name string }
				}
			}
		}
		if err := json.Unmarshal(line, &data); err != nil {
			t.Fatal(err)
		}
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					count[span.Name]++
				}
			}
		}
	}
	return count
}

// TestPromtool lets Prometheus' own tool check the metrics.
func TestPromtool(t *testing.T) {
	program := tool(t, "SONDE_PROMTOOL")
	path := filepath.Join(t.TempDir(), "sonde.prom")
	e, err := prometheus.NewExporter(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	spread := &arena.Spread{}
	spread.Record(2_000)
	since := &monitor.Interval{Rows: []monitor.Row{{Key: monitor.Key{Pattern: `a."B".c`}, Calls: 7, Timed: 1, Nanos: 2000, Spread: spread}}}
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
	t.Log("promtool: the metrics are valid, and it has nothing to criticize")
}
