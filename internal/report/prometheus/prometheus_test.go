package prometheus

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
)

// TestExporter serves and writes what was published last.
func TestExporter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sonde.prom")
	e, err := NewExporter(path, "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	for _, calls := range []uint64{1, 2} {
		since := &monitor.Interval{Rows: []monitor.Row{{Key: monitor.Key{Pattern: "a.B.c"}, Calls: calls}}}
		if err := e.Publish(Target{PID: 1}, true, since); err != nil {
			t.Fatal(err)
		}
	}
	response, err := http.Get("http://" + e.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	served, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	written, problem := os.ReadFile(path)
	if err != nil || problem != nil || string(served) != string(written) || !strings.Contains(string(served), `pattern="a.B.c"} 2`) ||
		response.Header.Get("Content-Type") != contentType {
		t.Errorf("%v, %v, %s", err, problem, served)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := NewExporter("", e.Address(), nil); err == nil || !strings.Contains(err.Error(), "name another port") {
		t.Errorf("%v", err)
	}
	e.path = filepath.Join(path, "below")
	if err := e.Publish(Target{}, false, &monitor.Interval{}); err == nil {
		t.Error("a file below a file was written")
	}
	if err := e.Publish(Target{}, false, &monitor.Interval{}); err != nil {
		t.Errorf("reported again: %v", err)
	}
}

// TestNamesOfOtherMachines: a page of another site cannot read the answer by a name that leads here.
func TestNamesOfOtherMachines(t *testing.T) {
	e, err := NewExporter("", "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	for host, want := range map[string]int{
		e.Address(): 200, "localhost": 200, "localhost:80": 200, "127.0.0.2:9187": 200, "[::1]:9187": 200, "[::1]": 200,
		"evil.example": 421, "evil.example:80": 421, "10.0.0.1": 421, "localhost.evil.example": 421,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+e.Address()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, response.StatusCode, want)
		}
	}
}
