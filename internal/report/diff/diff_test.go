package diff

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

func TestVerdicts(t *testing.T) {
	self := func(nanos, low, high float64, known bool) Figures {
		return Figures{Calls: 1, roots: 100, reach: 1, Self: cct.Time{Nanos: nanos, Low: low, High: high}, Known: known}
	}
	for _, tt := range []struct {
		before, after Figures
		want          Verdict
	}{
		{self(100, 90, 110, true), self(200, 190, 210, true), Slower},
		{self(200, 190, 210, true), self(100, 90, 110, true), Faster},
		{self(100, 90, 110, true), self(120, 105, 130, true), Same},
		{self(100, 90, 110, true), self(0, 0, 0, false), Untimed},
		{Figures{Known: true, roots: 100}, self(1, 1, 1, true), New},
		{self(1, 1, 1, true), Figures{Known: true, roots: 100}, Gone},
		{self(100, 0, 300, true), Figures{Calls: 2, Self: cct.Time{Nanos: 200, High: 500}, Known: true}, Calls},
	} {
		if got := newChange([]string{"a"}, tt.before, tt.after); got.Verdict != tt.want {
			t.Errorf("%+v to %+v: %s, want %s", tt.before, tt.after, got.Verdict, tt.want)
		}
	}
}
