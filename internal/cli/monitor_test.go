package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var monitorSample = []results.Row{
	{ID: 11, Class: "a.Order", Name: "pay", Descriptor: "(I)V"},
	{ID: 12, Class: "a.Order", Name: "pay", Descriptor: "()V"},
	{ID: 13, Class: "a.Web", Name: "handle", Descriptor: "()V"},
	{ID: 14, Class: "a.Web", Name: "idle", Descriptor: "()V"},
}

// monitorSampleTable watches rows.
func monitorSampleTable(t *testing.T, rows []results.Row) *liveTable {
	t.Helper()
	set, err := pattern.ParseSet("a.Order.pay", "a.**", "b.**")
	if err != nil {
		t.Fatal(err)
	}
	return &liveTable{
		rows: func() []results.Row { return rows }, patterns: namesOf(set.Includes()),
		patternsOf: func(row *results.Row) []string { return matching(set, row) },
	}
}

// monitorSampleRun has looked at a second in which a call hung.
func monitorSampleRun(t *testing.T, by string, sample uint32) (*liveTable, *monitorTable) {
	t.Helper()
	r := monitorSampleTable(t, monitorSample)
	r.pid, r.main, r.sample, r.times = 4711, "a.Main", sample, func() string { return timesText(sample) }
	r.costs = func(*monitorTable) string { return "what hooks cost is not known" }
	r.view = monitorView{sort: "calls", by: by}
	r.options = monitor.Options{Stall: time.Second, Clock: 40}
	spread := &arena.Spread{}
	for nanos := uint64(1000); nanos <= 100_000; nanos += 1000 {
		spread.Record(nanos)
	}
	short := &arena.Spread{}
	for range 1233 {
		short.Record(60)
	}
	const now = int64(time.Minute)
	r.first = monitor.Start(now - int64(30*time.Second))
	before := monitor.Start(now - int64(time.Second))
	r.last = &monitor.Reading{At: now, Called: 2, Methods: map[uint32]*arena.Totals{
		11: {Calls: 100, Timed: 100, Nanos: 5_054_000, Threw: 3, Max: 100_040, Spread: spread},
		12: {Calls: 7},
		13: {Calls: 1234, Timed: 1233, Nanos: 1233 * 60, Max: 80, Spread: short},
	}, Threads: []arena.Thread{{ID: 31, Virtual: true, Stack: []arena.Frame{
		{ID: 13, Node: 1, Start: now - int64(12*time.Second)}, {ID: 11, Node: 2, Start: now - int64(2*time.Second)},
	}}}}
	table := &monitorTable{from: before, to: r.last, elapsed: 30 * time.Second, at: time.Date(2026, 1, 2, 13, 14, 15, 0, time.UTC)}
	r.group(table)
	return r, table
}

func TestMonitorTable(t *testing.T) {
	r, table := monitorSampleRun(t, byPattern, 1)
	got := strings.Join(format.TableLines(monitorColumns, r.texts(table, r.view.rows(table)), 0), "\n")
	want := `CALLS  CALLS/S  ERRORS     MEAN      P50      P90      P99     MAX  RUNNING  STALLED  METHOD
1,341    1,341       3  3.81 µs  < 50 ns  < 50 ns  86.0 µs  100 µs        1        1  a.**
  107      107       3  50.5 µs  51.2 µs  86.0 µs   100 µs  100 µs        1        1  a.Order.pay
    0        0       0        -        -        -        -       -        0        0  b.**
1,341    1,341       3  3.81 µs  < 50 ns  < 50 ns  86.0 µs  100 µs        1        1  total`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r, table = monitorSampleRun(t, byMethod, 100)
	texts := r.texts(table, r.view.rows(table))
	if len(texts) != 4 { // one was not called
		t.Fatalf("%q", texts)
	}
	if got := strings.Join(texts[1], " "); got != "100 100 3 ~50.5 µs ~51.2 µs ~86.0 µs ~100 µs ~100 µs ≥1 ≥1 a.Order.pay(int)" {
		t.Errorf("%s", got)
	}
	if got := texts[0][3]; got != "~< 50 ns" {
		t.Errorf("%s", got)
	}
}

func TestMonitorLines(t *testing.T) {
	r, table := monitorSampleRun(t, byPattern, 1)
	var out strings.Builder
	r.streams = streams{out: &out}
	r.top = 1
	for range 2 {
		if err := r.writeLines(table); err != nil {
			t.Fatal(err)
		}
	}
	want := `TIME         CALLS   CALLS/S    ERRORS      MEAN       P50       P90       P99       MAX   RUNNING   STALLED  METHOD
13:14:15     1,341     1,341         3   3.81 µs   < 50 ns   < 50 ns   86.0 µs    100 µs         1         1  a.**
13:14:15     1,341     1,341         3   3.81 µs   < 50 ns   < 50 ns   86.0 µs    100 µs         1         1  total
13:14:15     1,341     1,341         3   3.81 µs   < 50 ns   < 50 ns   86.0 µs    100 µs         1         1  a.**
13:14:15     1,341     1,341         3   3.81 µs   < 50 ns   < 50 ns   86.0 µs    100 µs         1         1  total
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	stalls := r.stallLines(table.Interval, func(monitor.Stall) bool { return true })
	if got := strings.Join(stalls, "\n"); got != "stalled: virtual thread 31 in a.Web.handle 12.0 s > a.Order.pay 2.00 s" {
		t.Errorf("%s", got)
	}
}

func TestMonitorKeys(t *testing.T) {
	r, table := monitorSampleRun(t, byMethod, 1)
	v := &r.view
	shown := func() (all []string) {
		for _, row := range v.rows(table) {
			all = append(all, table.names[row.Key])
		}
		return all
	}
	for _, step := range []struct {
		keys string
		want []string
	}{
		{"", []string{"a.Web.handle", "a.Order.pay(int)", "a.Order.pay()"}},
		{"9", []string{"a.Order.pay(int)", "a.Web.handle", "a.Order.pay()"}},
		{"n", []string{"a.Order.pay()", "a.Order.pay(int)", "a.Web.handle"}},
		{"xc", []string{"a.Web.handle", "a.Order.pay(int)", "a.Order.pay()"}},
	} {
		for _, key := range step.keys {
			v.press(key)
		}
		if got := shown(); !slices.Equal(got, step.want) {
			t.Errorf("after %q: %v", step.keys, got)
		}
	}
	if v.press('g'); v.by != byPattern {
		t.Error(v.by)
	}
	frame := r.frame(table, 120)
	if row := frame.Rows[0]; frame.Sort != "calls" || row.Method != "a.Web.handle" || !strings.HasSuffix(frame.Foot[0], "total") {
		t.Errorf("%+v", frame)
	}
}

func TestListenAddress(t *testing.T) {
	for text, want := range map[string]string{
		"9187": "127.0.0.1:9187", ":9187": "127.0.0.1:9187", "0.0.0.0:1": "0.0.0.0:1", "[::1]:80": "[::1]:80",
	} {
		if got, err := listenAddress(text); got != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "localhost", "localhost:http", "1.2.3.4:99999", "99999"} {
		if got, err := listenAddress(text); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestMetricsRequireTheToken: with --token-file, only requests with the token in the file are answered.
func TestMetricsRequireTheToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []monitorCommand{{listen: "127.0.0.1:0"}, {listen: "127.0.0.1:0", tokenFile: file}} {
		e, err := c.newExporter()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		token := ""
		if c.tokenFile != "" {
			data, err := os.ReadFile(file)
			info, problem := os.Stat(file)
			if err != nil || problem != nil {
				t.Fatal(err, problem)
			}
			if token = strings.TrimSpace(string(data)); len(token) != 64 || info.Mode() != 0o600 {
				t.Errorf("token %q, mode %v; want 64 characters, mode 0600", token, info.Mode())
			}
		}
		for given, isRight := range map[string]bool{"": false, "Bearer ": false, "Bearer of before": false, token: false, "Bearer " + token: token != ""} {
			want := http.StatusUnauthorized
			if isRight || c.tokenFile == "" {
				want = http.StatusOK
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+e.Address()+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", given)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("token file %q, Authorization %q: got %d, want %d", c.tokenFile, given, response.StatusCode, want)
			}
		}
	}
}
