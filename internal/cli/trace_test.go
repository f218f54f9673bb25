package cli

import (
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
)

func TestOverdueText(t *testing.T) {
	for _, tt := range []struct {
		state overhead.State
		calls uint64
		want  string
	}{
		{overhead.Settled, 100, ""},
		{overhead.Unsettled, 2, ""},
		{overhead.Overdue, 100, "still busy"},
		{overhead.Overdue, 2, "only 2 calls"},
	} {
		text := overdueText(overhead.Settling{Rule: overhead.ForTrace, State: tt.state}, tt.calls)
		if !strings.Contains(text, tt.want) || (text == "") != (tt.want == "") {
			t.Errorf("state %d after %d calls: %q, want %q", tt.state, tt.calls, text, tt.want)
		}
	}
}
