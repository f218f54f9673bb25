package cli

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestChangeTexts(t *testing.T) {
	have := &probeset.Set{HandOff: true, Probes: []probeset.Probe{
		{Name: "dao", Methods: spectest.Patterns("a.Dao.*"), When: spectest.Expr("$1 > 3")}, {Name: "old", Methods: spectest.Patterns("a.B.c")},
	}, Weave: []probeset.Rule{{Classes: spectest.Classes("a.Dao"), When: probeset.Static}, {Classes: spectest.Classes("a.**"), When: probeset.Load}, {Classes: spectest.Classes("**"), When: probeset.Never}}}
	want := &probeset.Set{
		Tags: []probeset.Tag{{Name: "tier", Value: spectest.Expr("$1.tier"), At: spectest.Pattern("a.Web.handle")}},
		Probes: []probeset.Probe{
			{Name: "dao", Methods: spectest.Patterns("a.Dao.*"), Level: probeset.Time, For: 10 * time.Minute}, {Name: "new", Methods: spectest.Patterns("a.B.c", "!a.B.d")},
		},
		Weave: []probeset.Rule{{Classes: spectest.Classes("a.**"), When: probeset.Load}, {Classes: spectest.Classes("a.Dao"), When: probeset.Dynamic}, {Classes: spectest.Classes("b.C", "b.D"), When: probeset.Never}},
	}
	var out bytes.Buffer
	writeChanges(&out, probeset.Diff(have, want), 0)
	const expected = `- probe old
~ probe dao: level count → time, for 10m (was none), no when (was $1 > 3)
+ probe new: methods a.B.c, !a.B.d, level count
+ tag tier: value $1.tier, at a.Web.handle
- rule **
~ rule a.Dao: when static → dynamic
+ rule b.C, b.D: when never
~ set: hand-off true → false, weave a.Dao; a.** → a.**; a.Dao
`
	if out.String() != expected {
		t.Errorf("have\n%s\nwant\n%s", out.String(), expected)
	}
	out.Reset()
	writeChanges(&out, nil, 40)
	writeChanges(&out, probeset.Diff(have, want)[:2], 30)
	if want := "nothing to change\n- probe old\n~ probe dao: level count → ti…\n"; out.String() != want {
		t.Errorf("have %q, want %q", out.String(), want)
	}
}

// results of two probes, one of them by sequence and tag, in two methods.
func sampleResults() *liveprobes.Results {
	spread := func(times ...uint64) *arena.Spread {
		s := &arena.Spread{}
		for _, nanos := range times {
			s.Record(nanos)
		}
		return s
	}
	row := func(probe, within, tier string, t arena.Totals) liveprobes.Row {
		r := liveprobes.Row{SpotName: probes.SpotName{Probe: probe, Sequence: within, Class: "a/B", Name: probe}, Totals: t}
		if tier != "" {
			r.Label = liveprobes.Label{Tags: []liveprobes.TagValue{{Name: "tier", Value: tier, Set: true}}}
		}
		return r
	}
	return &liveprobes.Results{
		Threads: 3, Dropped: 1, Ambiguous: 2,
		Rows: []liveprobes.Row{
			row("pay", "a.B.c", "gold", arena.Totals{Calls: 2, Timed: 2, Nanos: 300, Max: 200, Spread: spread(100, 200)}),
			row("pay", "a.B.c", "gold", arena.Totals{Calls: 2, Timed: 2, Nanos: 900, Max: 800, Threw: 1, Undecided: 4, Spread: spread(100, 800)}),
			row("pay", "a.B.c", "iron", arena.Totals{Calls: 90}),
			row("gone", "", "", arena.Totals{Calls: 7}),
			{SpotName: probes.SpotName{Inside: true, Probe: "pay"}, Totals: arena.Totals{Calls: 1000}},
		},
	}
}

func TestRunningRows(t *testing.T) {
	set := &probeset.Set{Probes: []probeset.Probe{{Name: "idle", Level: probeset.Count}, {Name: "pay", Level: probeset.Time}}}
	rows := handover.Rows(sampleResults(), set)
	want := []handover.Running{
		{Name: "idle", Level: "count"},
		{Name: "pay", Level: "time", Within: "a.B.c", Label: "tier=iron", Calls: 90},
		{Name: "pay", Level: "time", Within: "a.B.c", Label: "tier=gold", Calls: 4, Timed: 4, MeanNanos: 300, P99Nanos: rows[2].P99Nanos, Threw: 1, Undecided: 4},
		{Name: "gone", Calls: 7},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("have %+v\nwant %+v", rows, want)
	}
	if p99 := rows[2].P99Nanos; p99 < 700 || p99 > 800 {
		t.Errorf("p99 is %v", p99)
	}
}

func TestApplyLines(t *testing.T) {
	set := &probeset.Set{Probes: []probeset.Probe{{Name: "pay", Level: probeset.Time}}}
	look := &applyLook{Applied: document.Applied{PID: 4711, Probes: handover.Rows(sampleResults(), set), Threads: 3, Dropped: 1, Ambiguous: 2}, elapsed: 2 * time.Second}
	look.calls, look.atLeast = sampleResults().Calls()
	look.Probes[2].Ended = string(liveprobes.EndedByCalls)
	look.Probes[2].Level = ""
	want := []string{
		"process 4711, 2.00 s: 2 probes, 101 calls, 3 threads",
		"1 call was not counted: the arena had no room",
		"2 tasks were submitted twice before starting: their context is unknown",
		"CALLS  CALLS/S    MEAN     P99  THREW  UNDECIDED  LEVEL  PROBE  WHERE",
		"   90        0       -       -      0          0  time   pay    a.B.c  tier=iron",
		"    4        0  300 ns  800 ns      1          4  time   pay    a.B.c  tier=gold",
		"    7        0       -       -      0          0  ended  gone   everywhere",
	}
	frame := look.frame(150)
	have := append(slices.Clone(frame.Lines), frame.Titles)
	for _, row := range frame.Rows {
		have = append(have, row.Text)
	}
	if !slices.Equal(have, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// TestSwitchedOffIsNotZeroCalls: nothing counted them.
func TestSwitchedOffIsNotZeroCalls(t *testing.T) {
	row := func(probe, method string, off bool) liveprobes.Row {
		return liveprobes.Row{SpotName: probes.SpotName{Probe: probe, Class: "a/B", Name: method}, Off: off}
	}
	set := &probeset.Set{Probes: []probeset.Probe{{Name: "all"}, {Name: "part"}, {Name: "none"}}}
	rows := handover.Rows(&liveprobes.Results{Rows: []liveprobes.Row{row("all", "c", true), row("part", "c", true), row("part", "d", false), row("none", "c", false)}}, set)
	for i, want := range [][2]string{{"off", "off"}, {"0", "count (off in 1 of 2)"}, {"0", "count"}} {
		if texts := runningTexts(rows)[i]; texts[0] != want[0] || texts[6] != want[1] {
			t.Errorf("%q, want %q", texts, want)
		}
	}
}

// TestOverlappingRowsAreNotAddedUp: both sequences hold for one call, and a row is no probe.
func TestOverlappingRowsAreNotAddedUp(t *testing.T) {
	row := func(probe, within, method string, calls uint64) liveprobes.Row {
		return liveprobes.Row{SpotName: probes.SpotName{Probe: probe, Sequence: within, Class: "a/B", Name: method}, Totals: arena.Totals{Calls: calls}}
	}
	results := &liveprobes.Results{Rows: []liveprobes.Row{row("pay", "a.A.x", "c", 40), row("pay", "a.A.y", "c", 60), row("pay", "a.A.x", "d", 5)}}
	set := &probeset.Set{Probes: []probeset.Probe{{Name: "pay", Level: probeset.Count}}}
	look := &applyLook{Applied: document.Applied{PID: 7, Probes: handover.Rows(results, set), Threads: 1}, elapsed: time.Second}
	look.calls, look.atLeast = results.Calls()
	if have, want := look.headline(), "process 7, 1.00 s: 1 probe, at least 65 calls, 1 thread"; have != want {
		t.Errorf("%q, want %q", have, want)
	}
	results.Rows = results.Rows[1:]
	if look.calls, look.atLeast = results.Calls(); look.calls != 65 || look.atLeast {
		t.Errorf("%d calls, at least %t", look.calls, look.atLeast)
	}
	var out bytes.Buffer
	writeHolder(&out, &handover.Status{Command: "sonde apply", Sonde: 8, Probes: look.Probes}, 0)
	if line, _, _ := strings.Cut(out.String(), "\n"); !strings.HasSuffix(line, ": 1 probe") {
		t.Errorf("%s", line)
	}
}

func TestIsYes(t *testing.T) {
	for line, want := range map[string][2]bool{
		"y\n": {true, true}, "YES \n": {true, true}, "\n": {false, true}, "": {false, false}, "n\n": {false, false}, "yo\n": {false, false},
	} {
		if got := [2]bool{isYes(line, false), isYes(line, true)}; got != want {
			t.Errorf("%q is taken for %t without and with the default yes; want %t", line, got, want)
		}
	}
}

// TestDemoProbes: the file of the demo is right.
func TestDemoProbes(t *testing.T) {
	var said bytes.Buffer
	set, _, err := readProbes(streams{err: &said}, "../../demo/probes.yaml")
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if len(set.Probes) < 5 || len(set.Tags) != 1 {
		t.Errorf("have %+v", set)
	}
	if set, _, err = readProbes(streams{err: &said}, "../../demo/goals.yaml"); err != nil || len(set.Goals) != 1 {
		t.Errorf("%v: %s", err, said.String())
	}
}
