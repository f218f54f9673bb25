package tenants

import (
	"os"
	"strings"
	"testing"
)

// judgeFiles expects every call in every kind of file. Whether programs of others open
// them is shown by test/tenants/show.
func judgeFiles(t *testing.T, kept trace, files string) {
	t.Helper()
	chrome := readJSON[struct{ TraceEvents []struct{ Ph string } }](t, files+".perfetto.json")
	slices := 0
	for _, event := range chrome.TraceEvents {
		if event.Ph == "X" {
			slices++
		}
	}
	otlp := readJSON[struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []struct{} } }
	}](t, files+".otlp.json")
	spans := 0
	for _, resource := range otlp.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			spans += len(scope.Spans)
		}
	}
	if all := len(kept.calls()); slices != all || spans != all {
		t.Errorf("%d slices and %d spans of %d calls", slices, spans, all)
	}
	for _, extension := range []string{".html", ".txt"} {
		text, err := os.ReadFile(files + extension)
		if err != nil {
			t.Fatal(err)
		}
		for i := range kept.Transactions {
			if number := kept.Transactions[i].Root.value(t, "$1.number"); !strings.Contains(string(text), number) {
				t.Errorf("request %s is not in %s", number, extension)
			}
		}
	}
}
