package sampler

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// golden is what a JVM answered, by its JDK.
func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswersOfEachJDK(t *testing.T) {
	for _, jdk := range []string{"-17", "-25"} {
		running, known := parseCheck(golden(t, "check"+jdk))
		want := []Running{{1, "other", "running"}, {2, "sonde-1-2-3-4", "running"}}
		if !known || !slices.Equal(running, want) {
			t.Errorf("%s: %v, %v", jdk, running, known)
		}
		if running, known := parseCheck(golden(t, "check-none"+jdk)); !known || len(running) > 0 {
			t.Errorf("%s: none: %v, %v", jdk, running, known)
		}
		if !isStarted(golden(t, "start"+jdk)) || isStarted(golden(t, "stop"+jdk)) {
			t.Errorf("%s: whether it has started", jdk)
		}
		if path, ok := parseRepository(golden(t, "configure"+jdk)); !ok || !strings.HasPrefix(path, "/tmp/20") || !strings.HasSuffix(path, "_4711") {
			t.Errorf("%s: repository %q, %v", jdk, path, ok)
		}
		if period := shortestPeriod(golden(t, "verbose"+jdk)); period != 10*time.Millisecond {
			t.Errorf("%s: %v", jdk, period)
		}
		for _, name := range []string{"check", "start", "stop", "stop-again", "configure"} {
			if why := missing(golden(t, name+jdk)); why != "" {
				t.Errorf("%s%s: %s", name, jdk, why)
			}
		}
	}
}

func TestNamesInAnswers(t *testing.T) {
	running, known := parseCheck("Recording 3: name=a (running) b maxsize=1.0MB maxage=1h (stopped)\nRecording x\nRecording 4: name= (new)\n")
	if want := []Running{{3, "a (running) b", "stopped"}, {4, "", "new"}}; !known || !slices.Equal(running, want) {
		t.Errorf("%v, %v", running, known)
	}
	if _, known := parseCheck("anything else"); known {
		t.Error("an answer without a form was understood")
	}
	if period := shortestPeriod(" X (jdk.ExecutionSample)\n   [period=5 ms,enabled=false]\n Y (jdk.ExecutionSample)\n   [period=everyChunk,enabled=true]\n"); period != 0 {
		t.Errorf("%v", period)
	}
}

func TestMissingRecorders(t *testing.T) {
	for text, part := range map[string]string{
		"Module jdk.jfr not found.\nFlight Recorder can not be enabled.\n": "jlink",
		"Flight Recorder is disabled.\n\n":                                 "-XX:-FlightRecorder",
		"java.lang.IllegalArgumentException: Unknown diagnostic command":   "does not know",
	} {
		if why := missing(text); !strings.Contains(why, part) {
			t.Errorf("%q: %q", text, why)
		}
	}
	for version, want := range map[string]int{"17.0.15": 17, "1.8.0_402": 8, "25": 25, "26-ea": 26, "": 0, "x": 0} {
		if got := major(version); got != want {
			t.Errorf("%q: %d", version, got)
		}
	}
}

func TestNamesTellWhose(t *testing.T) {
	own, err := ownName(7)
	if err != nil {
		t.Fatal(err)
	}
	if again, ours := parseName(own.String()); !ours || again != own {
		t.Errorf("%v is read as %v, %v", own, again, ours)
	}
	if life := own.life(); life != "yes" {
		t.Errorf("this process: %s", life)
	}
	earlier, elsewhere := own, own
	earlier.started--
	elsewhere.namespace++
	if life := earlier.life(); life != "no" {
		t.Errorf("one that had the number before: %s", life)
	}
	if life := elsewhere.life(); life != "unknown" {
		t.Errorf("one of another namespace: %s", life)
	}
	for _, other := range []string{"", "sonde", "sonde-1-2-3", "sonde-1-2-3-4-5", "my sonde-1-2-3-4", "sonde-1-2-3-99999999999999999999"} {
		if _, ours := parseName(other); ours {
			t.Errorf("%q was taken for ours", other)
		}
	}
}
