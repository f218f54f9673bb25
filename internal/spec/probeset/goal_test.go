package probeset_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

func TestBounds(t *testing.T) {
	for text, want := range map[string]probeset.Bound{
		"p99.9 > 1.5s":  {Text: "p99.9 > 1.5s", Quantity: "p", Quantile: 0.9990000000000001, Limit: 1.5e9},
		" mean<=1ms ":   {Text: "mean<=1ms", Quantity: "mean", Less: true, Equal: true, Limit: 1e6},
		"running < 30s": {Text: "running < 30s", Quantity: "running", Less: true, Limit: 30e9},
		"errors  < 1 %": {Text: "errors < 1 %", Quantity: "errors", Less: true, Limit: 0.01, IsShare: true},
		"errors < 1":    {Text: "errors < 1", Quantity: "errors", Less: true, Limit: 1},
		"calls >= 1":    {Text: "calls >= 1", Quantity: "calls", Equal: true, Limit: 1},
	} {
		got, ok := probeset.ParseBound(text)
		if ok && got.Quantile > 0 { // not exact
			got.Quantile, want.Quantile = 0, 0
		}
		if !ok || !reflect.DeepEqual(*got, want) {
			t.Errorf("%q: got %+v, %t, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "p95", "p95 > ", "p95 > 200", "p > 1s", "p0 > 1s", "mean5 > 1s", "errors > 1s", "calls > 1%", "p95 = 1s", "p95 > 1s && mean > 1s", "speed > 3", "running < 3"} {
		if got, ok := probeset.ParseBound(text); ok {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

// TestGoals: wrong goals are reported with their line, and right ones are measured by probes with names of their own.
func TestGoals(t *testing.T) {
	const top = "version: 1\ngoals:\n- method: a.B.c\n  goal: mean < 1s\n"
	for _, test := range []struct{ text, want string }{
		{"version: 1\ngoals:\n- goal: mean < 1s\n", "f:3: goal: method is missing; write a pattern"},
		{"version: 1\ngoals:\n- method: a.B.c\n", "f:3: goal a.B.c: goal is missing; write a condition such as 'p95 < 200ms'"},
		{"version: 1\ngoals:\n- method: '!a.B.c'\n  goal: mean < 1s\n", "f:3: goal !a.B.c: the pattern excludes methods"},
		{"version: 1\ngoals:\n- method: a.B.c\n  goal: mean\n", `f:4: goal a.B.c, goal: "mean" is not a goal; write a condition`},
		{"version: 1\ngoals:\n- method: a.B.c\n  goal: stalled < 1\n", `"stalled < 1" is not a goal`},
		{"version: 1\ngoals:\n- method: a.B.c\n  goal: rate > 1\n", `"rate > 1" is not a goal`},
		{top + "- method: a.B.c\n  goal: max < 1s\n", "f:5: goal a.B.c: another goal has this method; write all its conditions as a list"},
		{top + "  over: 1ms\n", "f:5: goal a.B.c, over: the value is out of range; write a time from 1s to 24h"},
		{top + "  over: 1\n", "f:5: goal a.B.c, over: is the number 1; write a time"},
		{top + "  recovered-after: soon\n", `f:5: goal a.B.c, recovered-after: "soon" is neither a time nor a number of calls`},
		{top + "  recovered-after: 0 calls\n", "is neither a time nor"},
		{top + "  on-miss: ./notify\n", `f:5: goal a.B.c, on-miss: is "./notify"; write`},
		{top + "  on-miss: {run: []}\n", "f:5: goal a.B.c, on-miss, run: is an empty list"},
		{top + "  on-miss: {run: [5]}\n", "f:5: goal a.B.c, on-miss, run: is the number 5"},
		{top + "  on-miss: {run: ['']}\n", "f:5: goal a.B.c, on-miss: names no program"},
		{top + "  on-miss: {post: /missed}\n", `f:5: goal a.B.c, on-miss: "/missed" is not a URL with http or https`},
		{top + "  on-miss: {post: 'file:///etc/passwd'}\n", "is not a URL with http or https"},
		{top + "  on-miss: {run: a, post: 'http://h/'}\n", "f:5: goal a.B.c, on-miss: has run and post"},
		{top + "  on_miss: {run: a}\n", `f:5: goal a.B.c: unknown key "on_miss"; did you mean on-miss?`},
		{"version: 1\ngoals:\n" + strings.Repeat("- {}\n", probeset.MaxGoals+1), "there are 101 goals, at most 100 are allowed"},
	} {
		if _, err := probeset.Parse([]byte(test.text), "f"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %q", test.text, err, test.want)
		}
	}
	set, err := probeset.Parse([]byte("version: 1\nprobes:\n- {name: goal-B.c, methods: x.Y.z}\ngoals:\n- {method: a.B.c, goal: mean < 1s}\n- {method: 'b.B.c(int)', goal: mean < 1s}\n- {method: '**', goal: mean < 1s}\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range set.Goals {
		names = append(names, g.Probe)
	}
	if got, want := strings.Join(names, " "), "goal-B.c-2 goal-B.c-3 goal-"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	changes := probeset.Diff(set, &probeset.Set{HandOff: true, Goals: set.Goals[:1]})
	if got := len(changes); got != 3 || changes[0].Kind != probeset.OfProbe || changes[1].Kind != probeset.OfGoal || changes[1].Name != "b.B.c(int)" {
		t.Errorf("got %+v, want the stated probe and two goals removed", changes)
	}
}
