package jfr

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// compileBusy compiles the program that is recorded.
func compileBusy(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	return jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{filepath.Join("testdata", "Busy.java")}, Flags: []string{"--release", "17"},
	})
}

var (
	named    = regexp.MustCompile(`^@Name\("([^"]+)"\)`)
	declared = regexp.MustCompile(`^class \S+ extends jdk\.jfr\.Event`)
)

// allEvents writes settings that turn on every event the JDK has.
func allEvents(t testing.TB, jdk jvmtest.JDK) string {
	t.Helper()
	out := jvmtest.RunTool(t, jdk, "jfr", "metadata")
	var names []string
	name := ""
	for line := range strings.Lines(out.Stdout) {
		if m := named.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if declared.MatchString(line) {
			names = append(names, name)
		}
	}
	if len(names) < 100 {
		t.Fatalf("jfr metadata names %d events, want more than a hundred: %s", len(names), out.Stderr)
	}
	var settings strings.Builder
	settings.WriteString(`<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">` + "\n")
	for _, name := range names {
		period := "500 ms"
		if strings.HasSuffix(name, "Sample") {
			period = "10 ms"
		}
		fmt.Fprintf(&settings, `<event name="%s"><setting name="enabled">true</setting>`+
			`<setting name="threshold">0 ns</setting><setting name="stackTrace">true</setting>`+
			`<setting name="period">%s</setting><setting name="throttle">%s</setting></event>`+"\n", name, period, throttle(name))
	}
	settings.WriteString("</configuration>\n")
	path := filepath.Join(t.TempDir(), "all.jfc")
	if err := os.WriteFile(path, []byte(settings.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// throttle leaves no event out, but samples of processor time need a rate.
func throttle(name string) string {
	if name == "jdk.CPUTimeSample" {
		return "10ms"
	}
	return "off"
}

// record runs the program for some rounds with every event on.
func record(t testing.TB, jdk jvmtest.JDK, rounds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.jfr")
	out := jvmtest.Run(t, jdk, "-Xmx200m", "-cp", compileBusy(t, jdk),
		"-XX:StartFlightRecording=filename="+path+",settings="+allEvents(t, jdk), "Busy", fmt.Sprint(rounds))
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no recording: %v\n%s%s", err, out.Stdout, out.Stderr)
	}
	return path
}
