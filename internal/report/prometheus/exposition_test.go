package prometheus

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestExposition(t *testing.T) {
	since := &monitor.Interval{Lost: 2, Rows: []monitor.Row{
		{
			Key: monitor.Key{Pattern: "a.Order.pay"}, Calls: 1_234_567, Errors: 2, Timed: 4, Nanos: 5e9, Running: 3, Stalled: 1, Oldest: 1500 * time.Millisecond,
			Spread: spread(10, 2000, 2000, 5_000_000_000),
		},
		{Key: monitor.Key{Pattern: "b.**"}},
	}}
	compare(t, "testdata/pattern.prom", Target{"shop.jar", "blue", 4711, "17.0.15"}, true, since)
	odd := &monitor.Interval{Rows: []monitor.Row{{Key: monitor.Key{Method: monitor.Method{Class: "a.B", Name: `odd"\` + "\n", Descriptor: "(I)V"}}, Calls: 1, Spread: &arena.Spread{}}}}
	compare(t, "testdata/method.prom", Target{Main: "Main", PID: 1}, false, odd)
}

func compare(t *testing.T, golden string, of Target, isUp bool, since *monitor.Interval) {
	t.Helper()
	var text strings.Builder
	if err := write(&text, of, isUp, since); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("%s:\n%s", golden, text.String())
	}
}

// TestContextLabels: rows by context, and of categories, are series of their own.
func TestContextLabels(t *testing.T) {
	for want, key := range map[string]monitor.Key{
		`pattern="a.B.c",within="x.Y.z >",tag_tier="gold",tag_kind="a=b",callers="a.C.d"`: {Pattern: "a.B.c", Within: "x.Y.z >", Tags: "tier=gold\nkind=a=b", Callers: "a.C.d"},
		`category="db",direction="out",tag_statement="select ?"`:                          {Category: "db", Direction: "out", Tags: "statement=select ?"},
		`category="tasks",direction="in",class="a.B",method="run",descriptor="()V"`:       {Category: "tasks", Direction: "in", Method: monitor.Method{Class: "a.B", Name: "run", Descriptor: "()V"}},
	} {
		var out strings.Builder
		if err := write(&out, Target{Main: "M", PID: 7}, false, &monitor.Interval{Rows: []monitor.Row{{Key: key, Calls: 3}}}); err != nil {
			t.Fatal(err)
		}
		if want = `sonde_calls_total{main="M",` + want + "} 3\n"; !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
}

// TestConventions: times of calls have the names of OpenTelemetry's semantic conventions.
func TestConventions(t *testing.T) {
	var out strings.Builder
	since := &monitor.Interval{Rows: []monitor.Row{
		{Key: monitor.Key{Category: "web", Direction: "in", Tags: "method=GET\npath=/orders/{}"}, Spread: spread(10)},
		{Key: monitor.Key{Category: "web", Direction: "out", Tags: "host=localhost"}, Spread: spread(10)},
		{Key: monitor.Key{Category: "db", Direction: "out", Tags: "statement=select ?\npath=/orders/{}"}, Spread: spread(10)},
		{Key: monitor.Key{Category: "web", Direction: "in", Tags: "method=PUT\npath=/orders/{}"}, Spread: spread(10)},
		{Key: monitor.Key{Category: "messaging", Direction: "in", Tags: "source=news"}, Spread: spread(10)},
		{Key: monitor.Key{Category: "messaging", Direction: "out", Tags: "destination=news"}, Spread: spread(10)},
		{Key: monitor.Key{Category: "messaging", Direction: "out", Tags: "consumer=shop"}, Spread: spread(10)},
		{Key: monitor.Key{Category: "files", Direction: "out", Tags: "file=/a"}, Spread: spread(10)},
	}}
	if err := write(&out, Target{Main: "M", PID: 7}, false, since); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`http_server_request_duration_seconds_count{main="M",http_request_method="GET",http_route="/orders/{}"} 1`,
		`http_server_request_duration_seconds_count{main="M",http_request_method="PUT",http_route="/orders/{}"} 1`,
		`http_client_request_duration_seconds_count{main="M",server_address="localhost"} 1`,
		`db_client_operation_duration_seconds_count{main="M",db_query_text="select ?",tag_path="/orders/{}"} 1`,
		`messaging_process_duration_seconds_count{main="M",messaging_destination_name="news",messaging_operation_name="process"} 1`,
		`messaging_client_operation_duration_seconds_count{main="M",messaging_destination_name="news",messaging_operation_name="send"} 1`,
		`messaging_client_operation_duration_seconds_count{main="M",tag_consumer="shop",messaging_operation_name="receive"} 1`,
		`sonde_call_seconds_count{main="M",category="files",direction="out",tag_file="/a"} 1`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "# TYPE http_server_request_duration_seconds "); n != 1 {
		t.Errorf("the family of requests begins %d times", n)
	}
}

// spread returns a distribution of times in nanoseconds.
func spread(nanos ...uint64) *arena.Spread {
	s := &arena.Spread{}
	for _, n := range nanos {
		s.Record(n)
	}
	return s
}
