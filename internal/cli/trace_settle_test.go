package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
)

func TestSettling(t *testing.T) {
	look := func(busy float64, wait time.Duration) cost.Cost {
		return cost.Cost{Elapsed: settleLook, CompileCPU: time.Duration(busy * float64(settleLook)), CompileWait: wait}
	}
	repeat := func(n int, c cost.Cost) (all []cost.Cost) {
		for range n {
			all = append(all, c)
		}
		return all
	}
	const never = -1
	for name, tt := range map[string]struct {
		looks   []cost.Cost
		calls   uint64
		settled int // after so many looks
		overdue string
	}{
		"idle at once":                {repeat(9, look(0, 0)), 100, 8, ""},
		"busy, then idle":             {append(repeat(5, look(0.9, 0)), repeat(9, look(0.04, 0))...), 100, 13, ""},
		"idle in between":             {append(append(repeat(2, look(0, 0)), look(0.9, 0)), repeat(9, look(0, 0))...), 100, 11, ""},
		"a little to do":              {repeat(9, look(0.1, 0)), 100, never, ""},
		"waiting for a processor":     {repeat(9, look(0, settleLook)), 100, never, ""},
		"idle, but nothing is called": {repeat(9, look(0, 0)), settleCalls - 1, never, ""},
		"busy for ever":               {repeat(200, look(0.9, 0)), 100, 180, "still busy"},
		"nothing is called for ever":  {repeat(200, look(0, 0)), 2, 180, "only 2 calls"},
	} {
		var s settling
		got := never
		for i, c := range tt.looks {
			if s.add(c, tt.calls) {
				got = i + 1
				break
			}
		}
		if text := s.overdue(tt.calls); got != tt.settled || !strings.Contains(text, tt.overdue) || (text == "") != (tt.overdue == "") {
			t.Errorf("%s: settled after %d looks, want %d; %q, want %q", name, got, tt.settled, text, tt.overdue)
		}
	}
}
