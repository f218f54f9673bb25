package page

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

// TestFigures and the scripts' own test read the same table, so that the page's
// text and what its scripts draw agree.
func TestFigures(t *testing.T) {
	table, err := os.ReadFile("testdata/figures.json")
	if err != nil {
		t.Fatal(err)
	}
	var figures []struct {
		Rule, Written string
		Given         float64
	}
	if err := json.Unmarshal(table, &figures); err != nil {
		t.Fatal(err)
	}
	rules := map[string]func(float64) string{
		"nanos": nanos, "mean": mean, "share": share,
		"count": func(n float64) string { return format.Grouped(uint64(n)) },
	}
	for _, f := range figures {
		if got := strings.ReplaceAll(rules[f.Rule](f.Given), space, " "); got != f.Written {
			t.Errorf("%s of %v is %q, want %q", f.Rule, f.Given, got, f.Written)
		}
	}
	if got := nanos(math.Inf(1)); got != "∞" {
		t.Errorf("a bound that is none is %q, want ∞", got)
	}
}

// TestScripts runs the scripts' own tests where there is a node to run them.
func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: the scripts' own tests did not run")
	}
	out, err := exec.Command(node, "--test", "testdata/scripts.test.mjs").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
