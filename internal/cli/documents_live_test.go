//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/service"
)

// elsewhere are formats whose documents other tests compare with their schemas.
var elsewhere = map[string]string{
	"sonde-climb": "TestWalkOfOneClass", "sonde-drill": "TestDrillLive", "sonde-goal-missed": "TestGoalsLive", "sonde-report": "TestReportTable",
}

// TestEveryDocument runs each command that writes JSON, on one JVM, and compares what it writes with docs/formats/documents.json.
func TestEveryDocument(t *testing.T) {
	t.Parallel()
	jdk := jvmtest.OneJDK(t)[0]
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/walked/OneClass.java"}})
	program := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-Xmx64m", "-cp", classes, "OneClass"}})
	pid, folder := strconv.Itoa(program.PID), t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	probes := file("probes.yaml")
	if err := os.WriteFile(probes, []byte("version: 1\nprobes:\n  - name: burning\n    methods: OneClass.burn\n    level: time\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var formats []string
	check := func(want string, args ...string) string {
		t.Helper()
		code, out, stderr := sonde(t, append(args, "--json")...)
		got := checkDocuments(t, out)
		if code != exitOK || !slices.Contains(got, want) {
			t.Errorf("sonde %s --json: exit code %d, documents %q, want %s: %s", strings.Join(args, " "), code, got, want, stderr)
		}
		formats = append(formats, got...)
		return out
	}
	checkFile := func(name string) {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		formats = append(formats, checkDocuments(t, string(text))...)
	}

	check("sonde-plan", "plan", classes, "-f", probes)
	check("sonde-pack", "pack", classes, "-f", probes, "-o", file("app.pack"), "--cache", file("cache"))
	check("sonde-pack-show", "pack", "show", file("app.pack"))
	check("sonde-pack-verify", "pack", "verify", file("app.pack"), classes)
	check("sonde-instrument", "instrument", classes, "-o", file("timed"), "--template", "timed", "--match", "OneClass.*")
	check("sonde-class", "dump", classes)
	check("sonde-class-diff", "dump", classes, "--diff", file("timed"))
	for _, command := range []string{"ls", "show OneClass", "stats", "verify", "prune"} {
		words := strings.Fields(command)
		check("sonde-cache-"+strings.Replace(words[0], "ls", "list", 1), append(append([]string{"cache"}, words...), "--cache", file("cache"))...)
	}

	check("sonde-jvm", "ps")
	check("sonde-doctor", "doctor", pid, "--deep", "OneClass.*")
	check("sonde-find", "find", pid, "OneClass")
	check("sonde-callees", "callees", pid, "OneClass.prices")
	check("sonde-hot", "hot", pid, "-d", "1")
	check("sonde-count", "count", pid, "OneClass.*", "-d", "100ms")
	check("sonde-monitor", "monitor", pid, "OneClass.*", "-d", "300ms", "--interval", "100ms")
	trace := check("sonde-trace-transaction", "trace", pid, "OneClass.prices", "--limit", "2", "-o", file("trace.json"))
	if lines := strings.Count(trace, "\n"); strings.Count(trace, `"format":"sonde-trace-transaction"`) != lines-1 || !slices.Contains(formats, "sonde-trace-end") {
		t.Errorf("not each of %d lines of a trace has its format: %s", lines, trace)
	}
	checkFile(file("trace.json"))
	check("sonde-profile", "profile", pid, "--root", "OneClass.prices", "--timing", "exact", "-d", "200ms", "-o", file("profile.json"))
	check("sonde-diff", "diff", file("profile.json"), file("profile.json"))
	check("sonde-proposal", "observe", pid, "-d", "2")
	check("sonde-attached", "attach", pid, "-d", "100ms")

	look := parse[service.Description](t, check("sonde-look", "count", pid, "OneClass.*", "--background"))
	check("sonde-look", "show", strconv.Itoa(look.Number))
	check("sonde-looks", "looks")
	check("sonde-service", "status", "--service")
	check("sonde-status", "status", pid)
	check("sonde-host", "status")
	check("sonde-count", "end", strconv.Itoa(look.Number))

	applied := startSonde(t, "apply", pid, "-f", probes, "--yes", "--json")
	check("sonde-apply-status", "apply", pid)
	check("sonde-handover", "apply", pid, "-f", probes, "--yes")
	check("sonde-apply-ended", "apply", pid, "--end")
	if code := applied.end(t); code != exitOK {
		t.Errorf("apply: exit code %d: %s", code, applied.stderr.String())
	}
	formats = append(formats, checkDocuments(t, applied.out.String())...)
	check("sonde-undone", "undo", pid)

	for _, d := range documents {
		if name := document.Format(reflect.TypeOf(d.value)); !slices.Contains(formats, name) && elsewhere[name] == "" {
			t.Errorf("no command has written %s", name)
		}
	}
}
