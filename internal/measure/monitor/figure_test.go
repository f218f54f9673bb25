package monitor

import (
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestFigures(t *testing.T) {
	row := Row{totals: arena.Totals{Calls: 200, Threw: 4, Timed: 200, Nanos: 200_000_000, Max: 9_000_000}, Stalled: 1, Oldest: 2 * time.Second}
	row.finish(10*time.Second, 0)
	idle := Row{}
	for text, want := range map[string]struct{ holds, idle bool }{
		"mean > 900us": {true, false}, "mean>1ms": {false, false}, "mean >= 1ms": {true, false}, "mean < 1s": {true, false},
		"max > 8ms": {true, false}, "max > 9ms": {false, false},
		"errors > 1%": {true, false}, "errors > 2%": {false, false}, "errors >= 2%": {true, false}, "errors > 3": {true, false}, "errors > 0": {true, false},
		"calls < 1": {false, true}, "calls > 199": {true, false}, "rate < 21": {true, true}, "rate < 20": {false, true}, "stalled > 0": {true, false},
		"running > 1s": {true, false}, "running < 1s": {false, true},
		"p95 > 1ns": {false, false}, // there is no distribution
	} {
		b, ok := probeset.ParseBound(text)
		if !ok {
			t.Errorf("%s: not read", text)
			continue
		}
		if figure, got, isKnown := Figure(b, &row); got != want.holds || isKnown != (figure != "") {
			t.Errorf("%s: got %q, %t, known: %t, want %t", text, figure, got, isKnown, want.holds)
		}
		if figure, got, isKnown := Figure(b, &idle); got != want.idle || isKnown != (figure != "") {
			t.Errorf("%s without calls: got %q, %t, known: %t, want %t", text, figure, got, isKnown, want.idle)
		}
	}
}
