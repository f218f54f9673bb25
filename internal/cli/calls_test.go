package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// setTag returns a tag with a value.
func setTag(name, value string) results.TagValue {
	return results.TagValue{Name: name, Value: value, Set: true}
}

func unsetTag(name string) results.TagValue { return results.TagValue{Name: name} }

func tagLabel(tags ...results.TagValue) results.Label { return results.Label{Tags: tags} }

func callTotals(calls, nanos, threw uint64) *arena.Totals {
	return &arena.Totals{Calls: calls, Timed: calls, Nanos: nanos, Threw: threw}
}

// callsSample has two requests, one of which executes a statement with two drivers, and a job that executes it, too.
func callsSample(t *testing.T, by string) (*liveTable, *monitorTable) {
	t.Helper()
	rows := []results.Row{
		{ID: 1, Class: "a.Servlet", Name: "service", Probe: "jakarta-servlet", Label: tagLabel(setTag("method", "GET"), setTag("path", "/a"))},
		{ID: 2, Class: "a.Servlet", Name: "service", Probe: "jakarta-servlet", Label: tagLabel(setTag("method", "GET"), setTag("path", "/b"))},
		{ID: 3, Class: "a.Statement", Name: "execute", Probe: "jdbc", Label: tagLabel(setTag("statement", "select ?"), setTag("method", "GET"), setTag("path", "/a"))},
		{ID: 4, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: tagLabel(setTag("statement", "select ?"), setTag("method", "GET"), setTag("path", "/a"))},
		{ID: 5, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: tagLabel(setTag("statement", "select ?"), unsetTag("method"), unsetTag("path"))},
		{ID: 6, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: tagLabel(results.TagValue{Name: "statement", Set: true, Null: true}, unsetTag("method"), unsetTag("path"))},
		{ID: 7, Class: "c.Statement", Name: "execute", Probe: "jdbc"},
		{ID: 8, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: results.Label{Other: true}},
	}
	return callsOf(t, by, nil, rows, map[uint32]*arena.Totals{
		1: callTotals(10, 6_000_000, 1), 2: callTotals(10, 2_000_000, 0), 3: callTotals(20, 1_000_000, 0), 4: callTotals(20, 1_000_000, 0),
		5: callTotals(2, 4_000_000, 0), 6: callTotals(1, 1000, 0), 7: {Calls: 3}, 8: callTotals(1, 500, 0),
	})
}

// callsOf returns the table of rows of some categories after two seconds.
func callsOf(t *testing.T, by string, names []string, rows []results.Row, totals map[uint32]*arena.Totals) (*liveTable, *monitorTable) {
	t.Helper()
	rules, err := categories.Read(names...)
	if err != nil {
		t.Fatal(err)
	}
	b := &liveTable{pid: 4711, rules: &callRules{rules}, rows: func() []results.Row { return rows }, view: monitorView{sort: "time", by: by}}
	b.costs = func(*monitorTable) string { return "" }
	b.first = monitor.Start(0)
	b.last = &monitor.Reading{At: int64(2 * time.Second), Methods: totals}
	table := &monitorTable{from: b.first, to: b.last, elapsed: 2 * time.Second}
	b.group(table)
	return b, table
}

// TestCallsOfMessages has a listener that executes a statement and sends, a job that receives, and a task.
func TestCallsOfMessages(t *testing.T) {
	noRequest := []results.TagValue{unsetTag("method"), unsetTag("path")}
	rows := []results.Row{
		{ID: 1, Class: "a.Listener", Name: "onMessage", Probe: "jakarta-jms-listener", Label: tagLabel(setTag("source", "orders"))},
		{ID: 2, Class: "a.Statement", Name: "execute", Probe: "jdbc", Label: tagLabel(setTag("statement", "select ?"), noRequest[0], noRequest[1], setTag("source", "orders"))},
		{ID: 3, Class: "a.Producer", Name: "send", Probe: "kafka-producer", Label: tagLabel(setTag("destination", "bills"), noRequest[0], noRequest[1], setTag("source", "orders"))},
		{ID: 4, Class: "a.Consumer", Name: "receive", Probe: "jakarta-jms-receive", Label: tagLabel(setTag("consumer", "orders"), noRequest[0], noRequest[1], unsetTag("source"))},
		{ID: 5, Class: "a.Job", Name: "run", Descriptor: "()V", Probe: "tasks"},
	}
	b, table := callsOf(t, byCaller, []string{"web", "db", "messaging", "tasks"}, rows, map[uint32]*arena.Totals{
		1: callTotals(10, 4_000_000, 0), 2: callTotals(20, 1_000_000, 0), 3: callTotals(10, 400_000, 0), 4: callTotals(5, 5_000_000, 0), 5: {Calls: 8, Timed: 8, Nanos: 8_000_000, Queued: 4, Queue: 12_000_000},
	})
	want := `CATEGORY       CALLS  CALLS/S  ERRORS     MEAN  P99    QUEUE  SHARE  RUNNING  CALL
messaging in      10      5.0       0   400 µs    -        -  100 %        0  orders
db out            20       10       0  50.0 µs    -        -   25 %        0  └ 2 × select ?
messaging out     10      5.0       0  40.0 µs    -        -   10 %        0  └ 1 × send bills
tasks in           8      4.0       0  1.00 ms    -  3.00 ms  100 %        0  a.Job.run
messaging out      5      2.5       0  1.00 ms    -        -      -        0  receive orders < (no incoming call)`
	if got := strings.Join(format.TableLines(b.columns(), b.texts(table, b.view.rows(table)), 0), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, row := range b.document(table).Rows {
		if isTask := row.Category == "tasks"; isTask != (row.Class == "a.Job" && row.Method == "run") || isTask != (row.Queue != nil && *row.Queue == 3_000_000 && row.Queued == 4) {
			t.Errorf("%+v", row)
		}
	}
}

func TestCallsTable(t *testing.T) {
	for by, want := range map[string]string{
		byKey: `CATEGORY  CALLS  CALLS/S  ERRORS     MEAN  P99  SHARE  RUNNING  CALL
web in       10      5.0       1   600 µs    -   75 %        0  GET /a
web in       10      5.0       0   200 µs    -   25 %        0  GET /b
db out       42       21       0   143 µs    -   25 %        0  select ?
db out        1      0.5       0  1.00 µs    -      -        0  (prepared before Sonde came)
db out        1      0.5       0   500 ns    -      -        0  (other)`,
		byCaller: `CATEGORY  CALLS  CALLS/S  ERRORS     MEAN  P99  SHARE  RUNNING  CALL
web in       10      5.0       1   600 µs    -   75 %        0  GET /a
db out       40       20       0  50.0 µs    -   25 %        0  └ 4 × select ?
web in       10      5.0       0   200 µs    -   25 %        0  GET /b
db out        2      1.0       0  2.00 ms    -      -        0  select ? < (no incoming call)
db out        1      0.5       0  1.00 µs    -      -        0  (prepared before Sonde came) < (no incoming call)
db out        1      0.5       0   500 ns    -      -        0  (other) < (no incoming call)`,
	} {
		b, table := callsSample(t, by)
		if got := strings.Join(format.TableLines(callColumns, b.texts(table, b.view.rows(table)), 0), "\n"); got != want {
			t.Errorf("by %s:\n%s\nwant\n%s", by, got, want)
		}
	}
}

func TestCallsSummary(t *testing.T) {
	b, table := callsSample(t, byKey)
	b.last.GC, b.first.GC = &monitor.Collections{Count: 5, Time: 90 * time.Millisecond}, &monitor.Collections{Count: 2, Time: 10 * time.Millisecond}
	want := "process 4711, 2.00 s: in the last 2.00 s web in 10/s (1 error), db out 22/s (2.2 for each incoming call); 3 garbage collections, 4.00 % of the time"
	if got := b.headline(table); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	frame := b.frame(table, 60)
	if len(frame.Rows) != 5 || frame.Rows[2].Method != "a.Statement.execute" && frame.Rows[2].Method != "b.Statement.execute" {
		t.Errorf("%+v", frame)
	}
	if d := b.document(table); d.Rows[0].Category != "web" || d.Rows[0].Direction != "in" || *d.Rows[0].Share != 0.75 || d.Rows[0].Tags["path"] != "/a" {
		t.Errorf("%+v", d.Rows[0])
	}
}
