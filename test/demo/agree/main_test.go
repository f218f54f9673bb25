package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// day is when Sonde comes; its profile begins a minute later.
var day = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func log(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// line is a request that was sent so many milliseconds after Sonde had come.
func line(at, millis int, kind string) string {
	return fmt.Sprintf("%d %d %s", day.UnixMilli()+int64(at), millis*1e6, kind)
}

func TestCompare(t *testing.T) {
	const slow, fast = "checkout, premium, invoice", "checkout, regular, card"
	customers := log(
		line(-9000, 2, fast), line(-8000, 40, slow), line(-7000, 30, slow), // before
		line(10_000, 900, slow),                                                // while hooks went in
		line(61_000, 3, fast), line(62_000, 33, slow), line(62_500, 1, "cart"), // the profile
		line(90_000, 36, slow), line(90_000, 400, slow), // the trace
		"176", // the line that is being written
	)
	base := measured{came: day, from: day.Add(60 * time.Second), until: day.Add(70 * time.Second), total: 34 * time.Millisecond, calls: 2}
	at := func(millis, took int) traced {
		return traced{day.Add(time.Duration(millis) * time.Millisecond), time.Duration(took) * time.Millisecond}
	}
	for name, tt := range map[string]struct {
		change func(*measured)
		out    string
		err    string // a part of the error; "" if there is none
	}{
		"they agree":               {func(*measured) {}, "17.0 ms            18.0 ms (2)            24.0 ms (3)", ""},
		"a slow program":           {func(m *measured) { m.total = 132 * time.Millisecond }, "66.0 ms", "all checkouts took 0.13 s says Sonde, the customers waited 0.04 s"},
		"within its interval":      {func(m *measured) { m.total, m.off = 132*time.Millisecond, 100*time.Millisecond }, "66.0 ms", ""},
		"too fast":                 {func(m *measured) { m.total = 18 * time.Millisecond }, "9.0 ms", "all checkouts took 0.02 s"},
		"samples do not count":     {func(m *measured) { m.calls = 0 }, "checkout, mean                              –            18.0 ms (2)", ""},
		"it says so":               {func(m *measured) { m.total, m.disturbed = 132*time.Millisecond, "DISTURBED: by us" }, "DISTURBED: by us", ""},
		"a trace":                  {func(m *measured) { m.traces = []traced{at(90_001, 34)} }, "trace 1: premium, invoice             34.0 ms                36.0 ms 35.0 ms, slowest 40.0 ms", ""},
		"a trace that we made":     {func(m *measured) { m.traces = []traced{at(90_001, 390)} }, "390.0 ms", "trace 1 (390.0 ms) is much slower than any checkout of its kind before Sonde came (40.0 ms)"},
		"a trace that nobody made": {func(m *measured) { m.traces = []traced{at(95_000, 30)} }, "", "trace 1 (30.0 ms) is of no checkout"},
	} {
		seen, err := readRequests(strings.NewReader(customers))
		if err != nil {
			t.Fatal(err)
		}
		said, out := base, &strings.Builder{}
		tt.change(&said)
		err = compare(out, seen, said)
		if !strings.Contains(out.String(), tt.out) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q; no %q in\n%s", name, err, tt.err, tt.out, out)
		}
	}
}
