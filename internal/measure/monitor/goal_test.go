package monitor

import (
	"math"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestGoals(t *testing.T) {
	row := Row{totals: arena.Totals{Calls: 200, Threw: 4, Timed: 200, Nanos: 200_000_000, Max: 9_000_000}, Stalled: 1}
	row.finish(10*time.Second, 0)
	idle := Row{}
	for text, want := range map[string]struct{ missed, idle bool }{
		"mean > 900us": {true, false}, "mean>1ms": {false, false}, "mean >= 1ms": {true, false}, "mean < 1s": {true, false},
		"max > 8ms": {true, false}, "max > 9ms": {false, false},
		"errors > 1%": {true, false}, "errors > 2%": {false, false}, "errors >= 2%": {true, false}, "errors > 3": {true, false}, "errors > 0": {true, false},
		"calls < 1": {false, true}, "calls > 199": {true, false}, "rate < 21": {true, true}, "rate < 20": {false, true}, "stalled > 0": {true, false},
		"p95 > 1ns": {false, false}, // there is no distribution
	} {
		g, ok := ParseGoal(text)
		if !ok {
			t.Errorf("%s: not read", text)
			continue
		}
		if _, got := g.Missed(&row); got != want.missed {
			t.Errorf("%s: got %t, want %t", text, got, want.missed)
		}
		if _, got := g.Missed(&idle); got != want.idle {
			t.Errorf("%s without calls: got %t, want %t", text, got, want.idle)
		}
	}
	for _, text := range []string{"", "p95", "p95 > ", "p95 > 200", "p > 1s", "p0 > 1s", "mean5 > 1s", "errors > 1s", "calls > 1%", "p95 = 1s", "p95 > 1s && mean > 1s", "speed > 3"} {
		if g, ok := ParseGoal(text); ok {
			t.Errorf("%q was read as %+v", text, g)
		}
	}
	g, _ := ParseGoal("p99.9 > 1.5s")
	if got, want := g.Sentence("a.B.c", "2 s"), "a.B.c: p99.9 is 2 s (--fail-if 'p99.9 > 1.5s')"; math.Abs(g.quantile-0.999) > 1e-9 || g.limit != 1.5e9 || got != want {
		t.Errorf("got %+v, %q, want %q", g, got, want)
	}
}
