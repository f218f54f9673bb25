package goals

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

const row = uint32(100)

// A tick is what happens in a second, and what should follow.
type tick struct {
	fast, slow, threw int           // calls that end: of 1 ms, of 1 s, and with an exception
	running           time.Duration // age of a call that runs
	cost              float64
	unsettled, found  bool
	failed            bool // what the method calls could not get hooks, at the last tick
	state             State
	do                string // words of the steps
}

// A program is read at each tick.
type program struct {
	calls, threw uint64
	times        []uint64
	now          int64
}

func (p *program) reading(running time.Duration) *monitor.Reading {
	totals := &arena.Totals{Calls: p.calls, Timed: p.calls, Threw: p.threw, Spread: &arena.Spread{}}
	for _, nanos := range p.times {
		totals.Spread.Record(nanos)
		totals.Nanos += nanos
		totals.Max = max(totals.Max, nanos)
	}
	r := &monitor.Reading{At: p.now, Methods: map[uint32]*arena.Totals{row: totals, row + 1: {Calls: 7}}}
	if running > 0 {
		r.Threads = []arena.Thread{{Stack: []arena.Frame{{ID: row, Start: p.now - int64(running)}}}}
	}
	return r
}

func (p *program) run(n int, took time.Duration) {
	for range n {
		p.calls++
		p.times = append(p.times, uint64(took))
	}
}

func TestTracker(t *testing.T) {
	const usual = "version: 1\ngoals:\n- method: a.B.c\n  goal: p95 < 200ms\n  over: 3s\n  recovered-after: 2s\n"
	for name, test := range map[string]struct {
		file  string
		ticks []tick
	}{
		"comes and goes": {usual, []tick{
			{state: Met}, {fast: 50, state: Met}, {fast: 10, slow: 20, state: Missed, do: "raise"},
			{slow: 5, state: Missed}, {fast: 5, state: Recovering}, {fast: 5, state: Met, do: "lower"},
			{fast: 50, state: Met}, {slow: 50, state: Missed, do: "raise"}, {fast: 9, state: Recovering}, {fast: 9, state: Met, do: "lower"},
		}},
		"few slow calls show nothing before the time is over": {usual, []tick{
			{state: Met}, {slow: 3, state: Met}, {slow: 3, state: Met}, {slow: 3, state: Missed, do: "raise"},
		}},
		"a slow call begins the recovery again": {usual, []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {fast: 3, state: Recovering}, {slow: 1, state: Missed}, {fast: 3, state: Recovering}, {fast: 3, state: Met, do: "lower"},
		}},
		"rare slow calls within the percentile do not": {usual, []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {fast: 99, state: Recovering}, {fast: 99, slow: 1, state: Met, do: "lower"},
		}},
		"calls that are older than the window do not count": {usual, []tick{
			{state: Met}, {fast: 1000, state: Met}, {state: Met}, {state: Met}, {state: Met}, {slow: 20, state: Missed, do: "raise"},
		}},
		"without calls it recovers by time": {usual, []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {state: Missed}, {state: Met, do: "lower"},
		}},
		"by calls it does not": {usual[:strings.Index(usual, "  recovered")] + "  recovered-after: 10 calls\n", []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {state: Missed}, {state: Missed}, {fast: 9, state: Recovering}, {state: Recovering}, {fast: 1, state: Met, do: "lower"},
		}},
		"figures of a program that has not settled do not count": {usual, []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {fast: 99, unsettled: true, state: Missed}, {fast: 99, unsettled: true, state: Missed}, {fast: 9, state: Missed},
			{fast: 1, state: Recovering}, {fast: 1, state: Met, do: "lower"},
		}},
		"hooks that cost too much are removed": {usual, []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {slow: 1, cost: 0.06, state: Missed}, {slow: 1, state: Missed}, {slow: 1, cost: 0.06, state: Missed},
			{slow: 1, cost: 0.06, state: Missed}, {slow: 1, cost: 0.06, state: Missed}, {slow: 1, cost: 0.06, state: Missed, do: "lower"}, {slow: 1, cost: 0.06, state: Missed}, {slow: 1, cost: 0.06, state: Missed},
			{fast: 3, state: Recovering}, {fast: 3, state: Met, do: "note"}, {fast: 1, state: Met}, {slow: 30, state: Missed, do: "raise"},
		}},
		"also of a program that has not settled": {usual, []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {unsettled: true, cost: 0.06, state: Missed}, {unsettled: true, cost: 0.06, state: Missed}, {unsettled: true, cost: -1, state: Missed},
			{unsettled: true, cost: 0.06, state: Missed}, {unsettled: true, cost: 0.06, state: Missed, do: "lower"},
		}},
		"reported when the cause is found": {usual + "  on-miss: {run: a}\n", []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {slow: 1, state: Missed}, {slow: 1, found: true, state: Missed, do: "report"}, {slow: 1, found: true, state: Missed},
			{fast: 3, state: Recovering}, {fast: 3, state: Met, do: "lower"},
		}},
		"reported before hooks are removed": {usual + "  on-miss: {run: a}\n", []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {fast: 3, state: Recovering}, {fast: 3, state: Met, do: "report lower"},
		}},
		"reported without hooks": {usual + "  on-miss: {run: a}\n", []tick{
			{state: Met}, {slow: 30, state: Missed, do: "raise"}, {slow: 1, failed: true, state: Missed, do: "report"}, {slow: 1, cost: 1, state: Missed}, {slow: 1, cost: 1, state: Missed},
		}},
		"reported after a while": {usual + "  on-miss: {run: a}\n", slices.Concat(
			[]tick{{state: Met}, {slow: 30, state: Missed, do: "raise"}}, slices.Repeat([]tick{{slow: 1, state: Missed}}, 29), []tick{{slow: 1, state: Missed, do: "report"}, {slow: 1, state: Missed}},
		)},
		"a part of errors, and the time": {"version: 1\ngoals:\n- method: a.B.c\n  goal: [mean < 200ms, errors < 10%]\n  over: 3s\n  recovered-after: 1s\n", []tick{
			{state: Met}, {fast: 10, threw: 1, state: Met}, {fast: 10, threw: 1, state: Missed, do: "raise"}, {fast: 10, threw: 1, state: Missed}, {fast: 11, threw: 1, state: Met, do: "lower"},
			{fast: 30, slow: 30, state: Missed, do: "raise"}, {fast: 1, state: Met, do: "lower"},
		}},
		"the longest call": {"version: 1\ngoals:\n- method: a.B.c\n  goal: max < 200ms\n  over: 3s\n  recovered-after: 1s\n", []tick{
			{state: Met}, {slow: 1, state: Missed, do: "raise"}, {fast: 1, state: Met, do: "lower"},
		}},
		"a call that runs": {"version: 1\ngoals:\n- method: a.B.c\n  goal: running < 30s\n  recovered-after: 1s\n", []tick{
			{state: Met}, {running: 29 * time.Second, state: Met}, {running: 30 * time.Second, state: Missed, do: "raise"}, {running: 31 * time.Second, state: Missed}, {state: Met, do: "lower"},
		}},
	} {
		set, err := probeset.Parse([]byte(test.file), "f")
		if err != nil {
			t.Fatal(err)
		}
		tracker, p := New(&set.Goals[0]), &program{now: int64(time.Hour)}
		for i, now := range test.ticks {
			p.now += int64(time.Second)
			p.run(now.fast, time.Millisecond)
			p.run(now.slow, time.Second)
			p.threw += uint64(now.threw)
			if now.failed {
				tracker.Failed()
			}
			o := Observation{At: p.now, Rows: []uint32{row}, Cost: now.cost, Budget: 0.05, Found: now.found}
			if now.unsettled {
				tracker.Begin()
			} else {
				o.Reading = p.reading(now.running)
			}
			var words []string
			for _, step := range tracker.Next(o) {
				words = append(words, string(step.Do))
				if step.Why == "" || step.Seen == "" {
					t.Errorf("%s, tick %d: %s has no reason: %+v", name, i, step.Do, step)
				}
			}
			if got := strings.Join(words, " "); tracker.State != now.state || got != now.do {
				t.Errorf("%s, tick %d: got %s, %q, want %s, %q (%s)", name, i, tracker.State, got, now.state, now.do, tracker.Seen)
				break
			}
		}
		if len(tracker.window) > windowReadings+2 {
			t.Errorf("%s: the window has %d readings", name, len(tracker.window))
		}
	}
}

// TestReasons checks what the log says.
func TestReasons(t *testing.T) {
	set, err := probeset.Parse([]byte("version: 1\ngoals:\n- {method: a.B.c, goal: [mean < 200ms, errors < 5], over: 3s, recovered-after: 2 calls}\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	tracker, p := New(&set.Goals[0]), &program{}
	next := func(cost float64) []Step {
		p.now += int64(time.Second)
		return tracker.Next(Observation{At: p.now, Reading: p.reading(0), Rows: []uint32{row}, Cost: cost, Budget: 0.05})
	}
	next(0)
	p.run(20, time.Second)
	got := next(0)
	for range inARow {
		got = append(got, next(0.1)...)
	}
	p.run(2, time.Millisecond)
	got = append(got, next(0)...)
	want := []Step{
		{Raise, "mean is 1 s", "the goal is missed"},
		{Lower, "mean is 1 s", "the hooks below it cost 10 % of the program's CPU time, and the budget is 5 %"},
		{Note, "mean is 1 ms, errors is 0", "the goal is met again"},
	}
	for i := range got {
		got[i].Seen = strings.NewReplacer("1.0 ", "1 ", "1.00 ", "1 ").Replace(got[i].Seen)
		got[i].Why = strings.NewReplacer(".0 %", " %", ".00 %", " %").Replace(got[i].Why)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
