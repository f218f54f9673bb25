package matrix

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// linking is what a harness found: how many classes are linked, and of the
// others why not.
type linking struct {
	linked   int
	failures map[string]string // by place and class
}

// link runs a harness and reads what it prints.
func link(t *testing.T, jdk jvmtest.JDK, args ...string) linking {
	t.Helper()
	outcome := jvmtest.Run(t, jdk, args...)
	found := linking{linked: -1, failures: make(map[string]string)}
	for line := range strings.Lines(outcome.Stdout) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		switch {
		case len(fields) == 3:
			found.failures[fields[0]+" "+fields[1]] = fields[2]
		case len(fields) == 2 && fields[0] == "linked":
			found.linked, _ = strconv.Atoi(fields[1])
		}
	}
	if found.linked < 0 || outcome.Exit != 0 {
		t.Fatalf("the JVM did not get through: exit code %d\nstdout: %s\nstderr: %s",
			outcome.Exit, lastLines(outcome.Stdout), lastLines(outcome.Stderr))
	}
	return found
}

// compare fails the test for each class that links differently woven. A class that
// fails for several reasons may give another of them, as it may from run to run: the
// JVM visits methods in no fixed order. It must be one that is given unwoven as well.
func (woven linking) compare(t *testing.T, plain linking) {
	t.Helper()
	t.Logf("%d classes linked, %d not (%d and %d unwoven)", woven.linked, len(woven.failures), plain.linked, len(plain.failures))
	given := make(map[string]bool)
	for _, failure := range plain.failures {
		given[failure] = true
	}
	bad := 0
	for _, name := range slices.Sorted(maps.Keys(woven.failures)) {
		if _, fails := plain.failures[name]; fails && given[woven.failures[name]] {
			continue
		}
		const shown = 20
		if bad++; bad <= shown {
			t.Errorf("%s\n    woven:   %s\n    unwoven: %s", name, woven.failures[name], plain.failures[name])
		}
	}
	for name, failure := range plain.failures {
		if _, still := woven.failures[name]; !still {
			t.Errorf("%s links only when woven; before: %s", name, failure)
		}
	}
	if bad > 0 {
		t.Errorf("%d classes do not link because they are woven", bad)
	}
	if woven.linked+len(woven.failures) != plain.linked+len(plain.failures) {
		t.Errorf("%d classes tried, %d unwoven", woven.linked+len(woven.failures), plain.linked+len(plain.failures))
	}
}

// writeList writes one line for each class to link.
func writeList(t *testing.T, lines []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "classes.txt")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func lastLines(text string) string {
	const limit = 3000
	return text[max(0, len(text)-limit):]
}
