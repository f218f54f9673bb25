package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestTemplatesAreEmbedded(t *testing.T) {
	if got := fmt.Sprint(agent.TemplateNames()); got != "[probe timed]" {
		t.Errorf("TemplateNames() = %s", got)
	}
	class, method, ok := agent.Template("probe")
	if !ok || method != "probe" || len(class) == 0 {
		t.Errorf("Template(probe) = %d bytes, %q, %v", len(class), method, ok)
	}
	if _, _, ok := agent.Template("none"); ok {
		t.Error("Template(none) was found")
	}
}

// The driver's spins give sound lower bounds, its own clock sound upper ones.
func TestTimedReport(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			outcome := drive(t, jdk)
			if outcome.Exit != 0 {
				t.Fatalf("driver failed: %+v", outcome)
			}
			rows := parseReport(t, outcome.Stderr)
			for method, calls := range map[string]int64{
				"recurse": 5, "sharedId a": 7, "sharedId b": 8, "thread": 300, "healed": 5, "running": 1, "many 1": 1, "many 200": 1,
			} {
				if rows[method].calls != calls {
					t.Errorf("%s: %d calls, want %d", method, rows[method].calls, calls)
				}
			}
			for method, wall := range wallTimes(t, outcome.Stdout) {
				if nanos := rows[method].nanos; nanos < 2_000_000 || nanos > wall {
					t.Errorf("%s: %d ns, want 2 ms up to the %d ns of the driver's clock", method, nanos, wall)
				}
			}
			if rows["running"].nanos < 2_000_000 {
				t.Errorf("running: %d ns so far, want at least 2 ms", rows["running"].nanos)
			}
		})
	}
}

func TestTimedReportToFileWithLimit(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	file := filepath.Join(t.TempDir(), "timed.txt")
	outcome := drive(t, jdk, "-Dsonde.timed.out="+file, "-Dsonde.timed.top=3")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 5 || !strings.HasSuffix(lines[4], "more methods not shown (sonde.timed.top)") {
		t.Errorf("want a heading, three methods and how many more:\n%s", text)
	}
	if outcome.Stderr != "" {
		t.Errorf("stderr: %s", outcome.Stderr)
	}
}

func TestTimedReportFallsBackToStderr(t *testing.T) {
	outcome := drive(t, jvmtest.Need(t, 17), "-Dsonde.timed.out="+t.TempDir())
	if !strings.HasPrefix(outcome.Stderr, "sonde: cannot write sonde.timed.out: ") {
		t.Errorf("stderr: %s", outcome.Stderr)
	}
	if _, report, _ := strings.Cut(outcome.Stderr, "\n"); parseReport(t, report)["recurse"].calls != 5 {
		t.Errorf("the report is missing: %s", outcome.Stderr)
	}
}

func drive(t *testing.T, jdk jvmtest.JDK, properties ...string) jvmtest.Outcome {
	t.Helper()
	jar := filepath.Join("dist", "sonde-runtime.jar")
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources:   []string{filepath.Join("testdata", "TimedDriver.java")},
		Classpath: []string{jar},
	})
	args := append(properties, "-cp", jar+string(os.PathListSeparator)+classes, "TimedDriver")
	return jvmtest.RunBriefly(t, jdk, args...)
}

type row struct{ calls, nanos int64 }

var rowPattern = regexp.MustCompile(`^ *(\d+) +(\d+)\.(\d{3}) +(\d+)  (.+)$`)

// parseReport reads the table and checks that it is aligned and sorted.
func parseReport(t *testing.T, text string) map[string]row {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	column := strings.Index(lines[0], "method")
	if column < 0 {
		t.Fatalf("no heading in %q", text)
	}
	rows := make(map[string]row)
	last := int64(-1)
	for _, line := range lines[1:] {
		match := rowPattern.FindStringSubmatch(line)
		if match == nil || line[column:] != match[5] {
			t.Fatalf("not a row, or out of line with %q: %q", lines[0], line)
		}
		calls := number(t, match[1])
		micros := number(t, match[2]+match[3])
		if last >= 0 && micros > last {
			t.Errorf("not sorted by total time: %q", line)
		}
		last = micros
		rows[match[5]] = row{calls, micros * 1000}
	}
	return rows
}

func wallTimes(t *testing.T, text string) map[string]int64 {
	t.Helper()
	times := make(map[string]int64)
	for line := range strings.Lines(text) {
		method, nanos, _ := strings.Cut(strings.TrimSpace(line), " ")
		times[method] = number(t, nanos)
	}
	return times
}

func number(t *testing.T, digits string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
