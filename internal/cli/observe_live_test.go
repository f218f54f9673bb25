package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// TestObserveLive observes a small server, applies what is proposed at once, and applies
// the file that was written.
func TestObserveLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/observed/Served.java"}})
			running := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "observed.Served"}})
			pid := strconv.Itoa(running.PID)
			file := filepath.Join(t.TempDir(), "probes.yaml")
			code, out, stderr := sonde(t, "observe", pid, "--duration", "3s", "--apply", "--json", "-o", file)
			if code != exitOK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			got := parse[document.Proposal](t, out)
			checkProposal(t, got)
			if left := recordings(t, running.PID); !strings.Contains(left, "No available recordings") {
				t.Errorf("left: %s", left)
			}
			text, err := os.ReadFile(file)
			if err != nil || string(text) != got.YAML {
				t.Fatalf("%v: the file is\n%s", err, text)
			}
			set, err := probeset.Parse(text, file)
			if err != nil || len(set.Probes) != len(got.Probes) {
				t.Fatalf("%v: %d probes of %d", err, len(set.Probes), len(got.Probes))
			}
			if code, _, stderr := sonde(t, "apply", pid, "-f", file, "--yes", "--duration", "1s"); code != exitOK {
				t.Errorf("what was written is not applied: exit code %d, %s", code, stderr)
			}
		})
	}
}

// checkProposal holds what was proposed against what the server does: handle covers all,
// what never ends and what is called too often is not among it.
func checkProposal(t *testing.T, got document.Proposal) {
	t.Helper()
	proposed := map[string]document.ProposedMethod{}
	for _, p := range got.Probes {
		if p.Reason == "" || p.Name == "" {
			t.Errorf("%+v", p)
		}
		for _, m := range p.Methods {
			proposed[m.Pattern] = m
		}
	}
	for _, never := range []string{"observed.Served.serve", "observed.Served.send", "observed.Served.main"} {
		if _, is := proposed[never]; is {
			t.Errorf("%s never ends, and is proposed", never)
		}
	}
	covers := false
	for _, name := range []string{"handle", "search", "sort"} {
		_, is := proposed["observed.Served."+name]
		covers = covers || is
	}
	if !covers {
		t.Errorf("proposed are %v", proposed)
	}
	if got.Cost > got.Budget || got.Coverage <= 0 || got.Coverage > 1 || got.Samples == 0 {
		t.Errorf("cost %v of %v, coverage %v of %d samples", got.Cost, got.Budget, got.Coverage, got.Samples)
	}
	if a := got.Applied; a == nil || a.Methods == 0 || a.Calls == 0 || a.Coverage <= 0 || len(a.LeftAlone) > 0 {
		t.Errorf("applied: %+v", a)
	}
}
