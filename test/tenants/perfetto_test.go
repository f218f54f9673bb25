package tenants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Every slice, with the one it lies in and its thread.
const slicesQuery = `SELECT s.name, s.dur, COALESCE(p.name, ''), t.name FROM slice s
	LEFT JOIN slice p ON p.id = s.parent_id JOIN thread_track ON thread_track.id = s.track_id JOIN thread t USING (utid)`

// judgeInPerfetto opens a file in Perfetto's own trace processor, where SONDE_PERFETTO
// names a release of its page, and expects every call as a slice inside its caller's.
func judgeInPerfetto(t *testing.T, kept trace, file string) {
	t.Helper()
	folder := os.Getenv("SONDE_PERFETTO")
	if folder == "" {
		return // test/tenants/show has it
	}
	slices := make(map[string]int)
	for _, row := range perfetto(t, folder, file, slicesQuery) {
		slices[fmt.Sprintf("%s %.0f in %s on %s", row...)]++
	}
	calls := kept.calls()
	for _, c := range calls {
		key := fmt.Sprintf("%s %d in %s on %s", c.Class+"."+c.Method, c.MeasuredNanos, c.caller, c.ThreadName)
		if slices[key]--; slices[key] < 0 {
			t.Errorf("Perfetto has no slice %s", key)
		}
	}
	for key, count := range slices {
		if count > 0 {
			t.Errorf("Perfetto has a slice that was not called: %s", key)
		}
	}
	for _, row := range perfetto(t, folder, file, `SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0`) {
		t.Errorf("Perfetto complains: %v", row)
	}
	parts := 0
	for i := range kept.Transactions {
		parts += len(kept.Transactions[i].Parts)
	}
	if arrows := perfetto(t, folder, file, `SELECT COUNT(*) FROM flow`); fmt.Sprint(arrows) != fmt.Sprintf("[[%d]]", parts) {
		t.Errorf("Perfetto has %v arrows to other threads, want %d", arrows, parts)
	}
	if t.Failed() {
		return
	}
	t.Logf("Perfetto has all %d calls as slices, each inside its caller's, and %d arrows to other threads", len(calls), parts)
}

// perfetto gives the rows of an answer.
func perfetto(t *testing.T, folder, file, query string) [][]any {
	t.Helper()
	command := exec.Command("node", "perfetto/query.mjs", folder, file, query)
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("Perfetto: %v\n%.2000s", err, complaints.String())
	}
	var rows [][]any
	for line := range strings.Lines(string(out)) {
		var row []any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}
