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

// callsSample has two requests, one of which executes a statement with two drivers, and a job that executes it, too.
func callsSample(t *testing.T, by string) (*liveTable, *monitorTable) {
	t.Helper()
	rules, err := categories.Read()
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) results.TagValue {
		return results.TagValue{Name: name, Value: value, Set: true}
	}
	none := func(name string) results.TagValue { return results.TagValue{Name: name} }
	label := func(tags ...results.TagValue) results.Label { return results.Label{Tags: tags} }
	rows := []results.Row{
		{ID: 1, Class: "a.Servlet", Name: "service", Probe: "jakarta-servlet", Label: label(set("method", "GET"), set("path", "/a"))},
		{ID: 2, Class: "a.Servlet", Name: "service", Probe: "jakarta-servlet", Label: label(set("method", "GET"), set("path", "/b"))},
		{ID: 3, Class: "a.Statement", Name: "execute", Probe: "jdbc", Label: label(set("statement", "select ?"), set("method", "GET"), set("path", "/a"))},
		{ID: 4, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: label(set("statement", "select ?"), set("method", "GET"), set("path", "/a"))},
		{ID: 5, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: label(set("statement", "select ?"), none("method"), none("path"))},
		{ID: 6, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: label(results.TagValue{Name: "statement", Set: true, Null: true}, none("method"), none("path"))},
		{ID: 7, Class: "c.Statement", Name: "execute", Probe: "jdbc"},
		{ID: 8, Class: "b.Statement", Name: "execute", Probe: "jdbc", Label: results.Label{Other: true}},
	}
	b := &liveTable{pid: 4711, rules: &callRules{rules}, rows: func() []results.Row { return rows }, view: monitorView{sort: "time", by: by}}
	b.costs = func(*monitorTable) string { return "" }
	totals := func(calls, nanos, threw uint64) *arena.Totals {
		return &arena.Totals{Calls: calls, Timed: calls, Nanos: nanos, Threw: threw}
	}
	b.first = monitor.Start(0)
	b.last = &monitor.Reading{At: int64(2 * time.Second), Methods: map[uint32]*arena.Totals{
		1: totals(10, 6_000_000, 1), 2: totals(10, 2_000_000, 0), 3: totals(20, 1_000_000, 0), 4: totals(20, 1_000_000, 0),
		5: totals(2, 4_000_000, 0), 6: totals(1, 1000, 0), 7: {Calls: 3}, 8: totals(1, 500, 0),
	}}
	table := &monitorTable{from: b.first, to: b.last, elapsed: 2 * time.Second}
	b.group(table)
	return b, table
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
	want := "process 4711, 2.00 s: in the last 2.00 s web in 10/s (1 error), db out 22/s (2.2 for each incoming call)"
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
