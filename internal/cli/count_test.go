package cli

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

func TestNanosText(t *testing.T) {
	for nanos, want := range map[float64]string{
		0: "0 ns", 49.6: "50 ns", 999: "999 ns", 999.6: "1.00 µs", 1234: "1.23 µs", 12345: "12.3 µs", 999960: "1.00 ms",
		123456789: "123 ms", 61e9: "61.0 s", 12345e9: "12345 s", -1500: "-1.50 µs",
	} {
		if got := format.Nanos(nanos); got != want {
			t.Errorf("%v: %s, want %s", nanos, got, want)
		}
	}
	if got := format.Call(49.9); got != "< 50 ns" {
		t.Errorf("%s", got)
	}
}

func TestErrorText(t *testing.T) {
	for part, want := range map[float64]string{-1: "", 0: " ±1 %", 0.084: " ±8 %", 1: " ±100 %", 1.01: " ± unknown", 55: " ± unknown"} {
		if got := errorText(part); got != want {
			t.Errorf("%v: %q, want %q", part, got, want)
		}
	}
}

func TestNeverHeld(t *testing.T) {
	row := func(probe string, calls uint64) liveprobes.Row {
		return liveprobes.Row{SpotName: probes.SpotName{Probe: probe}, Totals: arena.Totals{Calls: calls}}
	}
	for _, tt := range []struct {
		rows []liveprobes.Row
		want string
	}{
		{nil, ""},
		{[]liveprobes.Row{row(probeName, 0), row(allCallsName, 0)}, ""},
		{[]liveprobes.Row{row(probeName, 0), row(allCallsName, 1200), row(allCallsName, 34)}, "1,234 calls were made, and the condition held for none"},
		{[]liveprobes.Row{row(probeName, 0), row(allCallsName, 1200), row(probeName, 1)}, ""},
	} {
		if got := strings.Join(neverHeld(tt.rows), "\n"); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.rows, got, tt.want)
		}
	}
}

// rows of a small program: A calls itself, B has overloads, C was never called.
func sampleRows() []results.Row {
	return []results.Row{
		{Timing: results.Exact, Class: "p.C", Name: "idle", Descriptor: "()V"},
		{Timing: results.Exact, Class: "p.B", Name: "run", Descriptor: "(ILjava/lang/String;[J)V", Totals: arena.Totals{Calls: 640, Timed: 10, Nanos: 1000, Self: 500}},
		{Timing: results.Exact, Class: "p.B", Name: "run", Descriptor: "()V", Totals: arena.Totals{Calls: 3, Timed: 2, Nanos: 9000, Self: 9000, Active: 1, Running: 5e6}},
		{Timing: results.Exact, Class: "p.A", Name: "again", Descriptor: "()V", Totals: arena.Totals{Calls: 1000, Timed: 1000, Nanos: 2e6, Self: 1e6, Threw: 7}},
	}
}

func names(rows []results.Row) string {
	var all []string
	for i := range rows {
		all = append(all, rows[i].Class+rows[i].Descriptor[:2])
	}
	return strings.Join(all, " ")
}

func TestSortRows(t *testing.T) {
	for by, want := range map[string]string{
		"calls": "p.A() p.B(I p.B() p.C()", "total": "p.B() p.A() p.B(I p.C()", "self": "p.A() p.B() p.B(I p.C()",
		"mean": "p.B() p.A() p.B(I p.C()", "name": "p.A() p.B() p.B(I p.C()",
	} {
		rows := sampleRows()
		results.SortRows(rows, by)
		if got := names(rows); got != want {
			t.Errorf("by %s: %s, want %s", by, got, want)
		}
	}
	rows := sampleRows()
	rows[1].Timing = results.Sampled
	if total := rows[1].Total(); total != 64000 {
		t.Errorf("a sampled total of %v", total)
	}
}

func TestCountTable(t *testing.T) {
	rows := sampleRows()
	results.SortRows(rows, "name")
	lines := format.TableLines(countColumns, rowTexts(rows, overloadsOf(rows)), 0)
	want := `CALLS  CALLS/S    TOTAL     SELF     MEAN  THREW  RUNNING  METHOD
1,000        0  2.00 ms  1.00 ms  2.00 µs      7        0  p.A.again
    3        0  5.01 ms  9.00 µs  4.50 µs      0        1  p.B.run()
  640        0  1.00 µs   500 ns   100 ns      0        0  p.B.run(int,String,long[])
    0        0        -        -        -      0        0  p.C.idle`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	rows[2].Timing = results.Sampled
	sampled := rowTexts(rows[2:3], nil)[0]
	if got := strings.Join(sampled, " "); got != "640 0 ~64.0 µs - ~100 ns 0 - p.B.run" {
		t.Errorf("%s", got)
	}
}

// TestNarrowTable shows that a narrow terminal loses columns, not the names.
func TestNarrowTable(t *testing.T) {
	rows := rowTexts(sampleRows(), nil)
	for width, want := range map[int]string{
		120: "CALLS CALLS/S TOTAL SELF MEAN THREW RUNNING METHOD", 66: "CALLS CALLS/S TOTAL SELF MEAN METHOD", 20: "CALLS MEAN METHOD",
	} {
		columns, texts := format.FitTable(countColumns, rows, expendable, width)
		var titles []string
		for _, c := range columns {
			titles = append(titles, c.Title)
		}
		if got := strings.Join(titles, " "); got != want || len(texts[0]) != len(columns) {
			t.Errorf("%d: %s, %d cells, want %s", width, got, len(texts[0]), want)
		}
	}
	if len(rows[0]) != len(countColumns) {
		t.Error("the rows given are not as they were")
	}
}

func TestLeftLines(t *testing.T) {
	groups := groupLeft([]session.LeftAlone{
		{Class: "a/B", Reason: "hooks use it"},
		{Class: "a/C", Method: "x()V", Reason: "its loader is blind: no such class"},
		{Class: "a/D", Reason: "its loader is blind: no such thing"},
	})
	if got, want := strings.Join(leftLines(groups, false), "\n"), "  2: its loader is blind, such as a.C.x()V\n  1: hooks use it, such as a.B"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	all := `  2: its loader is blind
    a.C.x()V: no such class
    a.D: no such thing
  1: hooks use it
    a.B`
	if got := strings.Join(leftLines(groups, true), "\n"); got != all {
		t.Errorf("got\n%s\nwant\n%s", got, all)
	}
}

// TestCountUnread shows that a reader that goes away, as head does, ends a count
// in order.
func TestCountUnread(t *testing.T) {
	p := live.Start(t, jvmtest.OneJDK(t)[0], briefAttach, live.Everyday...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sonde", append(countArgs(p.PID, everything...), "--json", "--interval", "50ms")...)
	var stderr strings.Builder
	command.Stdout, command.Stderr = writer, &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	_ = writer.Close()
	if _, err := bufio.NewReader(reader).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	if code := exitCode(t, command.Wait()); code != exitUnread {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if strings.Contains(stderr.String(), "sonde:") {
		t.Errorf("%s", stderr.String())
	}
	if _, out, _ := sonde(t, "status", strconv.Itoa(p.PID)); !strings.HasPrefix(out, "Sonde has no hooks and no agent in") {
		t.Errorf("%s", out)
	}
}
