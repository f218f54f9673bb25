package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// hotTable has two methods that run and one that calls them, and two threads.
func hotTable() *hotspots.Result {
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
	return &hotspots.Result{Table: w.Table(began.Add(time.Second)), Target: cct.Target{PID: 4711, Command: strings.Repeat("Main", 30)}, Source: "flight recorder"}
}

func TestHotKeys(t *testing.T) {
	table := hotTable()
	v := hotView{sort: text.BySelf}
	names := func() (shown []string) {
		for _, m := range v.form().Methods(table.Table) {
			shown = append(shown, m.Name)
		}
		return shown
	}
	press := func(keys string) {
		for _, key := range keys {
			v.press(key)
		}
	}
	for _, step := range []struct {
		keys string
		want []string
	}{
		{"", []string{"add", "run"}},
		{"t", []string{"main", "add", "run"}},
		{"n", []string{"add", "main", "run"}},
		{"s", []string{"add", "run"}},
	} {
		press(step.keys)
		if got := names(); !slices.Equal(got, step.want) {
			t.Errorf("after %q: %v", step.keys, got)
		}
	}
	press("h")
	if row := v.frame(table, 0, 80).Rows[0]; row.Name != "worker" || row.Method != "" || !strings.Contains(row.Text, "com.acme.Cart.add") {
		t.Errorf("%+v", row)
	}
	press("f")
	if row := v.frame(table, 0, 80).Rows[1]; row.Method != "com.acme.Cart.add" || row.Depth != 1 || !strings.HasPrefix(row.Text, " 75 %  ███") {
		t.Errorf("no flame graph: %+v", row)
	}
	if frame := v.frame(table, 0, 80); frame.Sort != "" || frame.Keys != "t[h]reads [f]lame" {
		t.Errorf("a flame graph is by %q with keys %q", frame.Sort, frame.Keys)
	}
	press("f")
	if v.shows != text.HotMethods {
		t.Errorf("f f shows %d, want methods", v.shows)
	}
}

// TestHotFilter: a filter for methods is none for threads.
func TestHotFilter(t *testing.T) {
	v := (&hotCommand{sort: text.BySelf, filter: "Cart"}).newView()
	if rows := v.frame(hotTable(), 0, 80).Rows; len(rows) != 1 || rows[0].Method != "com.acme.Cart.add" {
		t.Errorf("%+v", rows)
	}
	v.press('h')
	if rows := v.frame(hotTable(), 0, 80).Rows; len(rows) != 2 {
		t.Errorf("%+v", rows)
	}
}

// TestOneWindowWaitsForThreadDumps checks that a window without samples is extended until
// the next thread dumps are due, but not forever.
func TestOneWindowWaitsForThreadDumps(t *testing.T) {
	const window = 2 * time.Second
	tests := []struct {
		name           string
		period, passed time.Duration
		asked, want    bool // asked: for that duration
	}{
		{"before the window is full", 100 * time.Millisecond, time.Second, false, false},
		{"no samples in a time that was asked for", 100 * time.Millisecond, 4 * time.Second, true, true},
		{"no samples in one window", 100 * time.Millisecond, 4 * time.Second, false, false},
		{"no samples in three windows", 100 * time.Millisecond, 8 * time.Second, false, true},
		{"no samples, dumps are slow", 10 * time.Second, 8 * time.Second, false, false},
		{"no samples in three slow dumps", 10 * time.Second, 32 * time.Second, false, true},
		{"no samples, dumps hardly ever end", time.Hour, 182 * time.Second, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &hotRun{hotCommand: &hotCommand{duration: window, isShort: !test.asked}, all: hotspots.NewCollection()}
			batch := sampler.Batch{At: time.Now(), Period: test.period}
			if got := r.hasEnough(batch, test.passed); got != test.want {
				t.Errorf("after %v with dumps every %v: ended %v, want %v", test.passed, test.period, got, test.want)
			}
		})
	}
}
