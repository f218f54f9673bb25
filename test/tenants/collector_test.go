package tenants

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// collectorConfig has the collector listen where it is told, and print what comes.
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
				spans[fmt.Sprint(span["traceId"], " ", span["spanId"])] = withoutEmpty(span)
			}
		}
	}
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
