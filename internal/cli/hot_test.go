package cli

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/html"
)

// hotTable has two methods that run and one that calls them, and two threads.
func hotTable() *hotspots.Table {
	began := time.Unix(1000, 0)
	main := &jfr.Method{Class: "com/acme/Main", Name: "main", Descriptor: "()V"}
	var samples []jfr.Sample
	for i := range 40 {
		leaf, id := &jfr.Method{Class: "com/acme/Cart", Name: "add", Descriptor: "(I)V"}, int64(1)
		if i%4 == 0 {
			leaf, id = &jfr.Method{Class: "com/acme/Main$$Lambda+0x00007f/0x123", Name: "run", Descriptor: "()V"}, 2
		}
		samples = append(samples, jfr.Sample{
			At: began.Add(time.Duration(i+1) * time.Millisecond), Thread: &jfr.Thread{JavaID: id, OSID: id, Name: []string{"", "worker", "timer"}[id]},
			Stack: &jfr.Stack{Frames: []jfr.Frame{{Method: leaf, Line: 7, Kind: jfr.Compiled}, {Method: main, Line: 9, Kind: jfr.Interpreted}}},
		})
	}
	w := hotspots.NewWindow(time.Second)
	w.Add(began.Add(time.Second), samples, 20*time.Millisecond, nil)
	return w.Table(began.Add(time.Second))
}

func TestHotKeys(t *testing.T) {
	table := hotTable()
	v := hotView{tableView: tableView{sort: hotBySelf, hasKeys: true}}
	names := func() (shown []string) {
		for _, m := range v.methods(table) {
			shown = append(shown, m.Name)
		}
		return shown
	}
	press := func(keys string) {
		for _, key := range keys {
			if v.press(key) {
				t.Errorf("%q ends it", keys)
			}
		}
	}
	for _, step := range []struct {
		keys string
		want []string
	}{
		{"", []string{"add", "run"}},
		{"t", []string{"main", "add", "run"}},
		{"n", []string{"add", "main", "run"}},
		{"/CARTq\x7f\r", []string{"add"}},
		{"\x1b", []string{"add", "main", "run"}},
		{"/main\x1b", []string{"add", "main", "run"}},
		{"s", []string{"add", "run"}},
	} {
		press(step.keys)
		if got := names(); !slices.Equal(got, step.want) {
			t.Errorf("after %q: %v", step.keys, got)
		}
	}
	press("p")
	if !v.paused || !strings.Contains(v.keyLine(), "paused") {
		t.Error(v.keyLine())
	}
	press("h")
	lines := strings.Join(v.lines(table, "head", 0, 80, 24), "\n")
	if !strings.Contains(lines, "worker") || !strings.Contains(lines, "com.acme.Cart.add") {
		t.Errorf("%s", lines)
	}
	if !v.press('q') {
		t.Error("q does not end it")
	}
}

func TestHotLinesFit(t *testing.T) {
	table := hotTable()
	for _, threads := range []bool{false, true} {
		for width := 20; width < 120; width += 7 {
			v := hotView{tableView: tableView{sort: hotByTotal, hasKeys: true}, threads: threads}
			lines := v.lines(table, strings.Repeat("head ", 30), 0, width, 8)
			if len(lines) > 7 {
				t.Errorf("%d lines", len(lines))
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) > width {
					t.Errorf("width %d: %q", width, line)
				}
			}
		}
	}
	v := hotView{tableView: tableView{sort: hotBySelf}}
	text, hidden := v.tableLines(table, 1, 0)
	want := []string{"SELF   95 %  TOTAL  KIND      LINE  METHOD", "75 %  60-86   75 %  compiled     7  com.acme.Cart.add"}
	if !slices.Equal(text, want) || hidden != 1 {
		t.Errorf("%q, %d", text, hidden)
	}
	if text, _ := v.tableLines(table, 2, 0); !strings.HasSuffix(text[2], " com.acme.Main$$Lambda.run") {
		t.Errorf("%q", text[2])
	}
}

func TestHotFlameTree(t *testing.T) {
	var samples html.Samples
	addTree(&samples, hotTable().Tree(), 20e6)
	if len(samples.Methods) != 3 || len(samples.Nodes) != 4 || samples.Nodes[0].Method != -1 || samples.Nodes[1].Parent != 0 || samples.Nodes[0].Total != 40*20e6 {
		t.Errorf("%+v", samples)
	}
	if leaf := samples.Nodes[2]; leaf.Self != 30*20e6 || leaf.Kinds["compiled"] != 1 || samples.Methods[leaf.Method].Class != "com.acme.Cart" {
		t.Errorf("%+v", leaf)
	}
}

// TestOneWindowWaitsForThreadDumps checks that a window without samples is extended until
// the next thread dumps are due, but not forever.
func TestOneWindowWaitsForThreadDumps(t *testing.T) {
	const window = 2 * time.Second
	tests := []struct {
		name           string
		period, passed time.Duration
		want           bool
	}{
		{"before the window is full", 100 * time.Millisecond, time.Second, false},
		{"no samples in one window", 100 * time.Millisecond, 4 * time.Second, false},
		{"no samples in three windows", 100 * time.Millisecond, 8 * time.Second, true},
		{"no samples, dumps are slow", 10 * time.Second, 8 * time.Second, false},
		{"no samples in three slow dumps", 10 * time.Second, 32 * time.Second, true},
		{"no samples, dumps hardly ever end", time.Hour, 182 * time.Second, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &hotRun{hotCommand: &hotCommand{window: window}, window: hotspots.NewWindow(window)}
			batch := sampler.Batch{At: time.Now(), Period: test.period}
			if got := r.hasEnough(batch, test.passed); got != test.want {
				t.Errorf("after %v with dumps every %v: ended %v, want %v", test.passed, test.period, got, test.want)
			}
		})
	}
}
