package cost

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCensus(t *testing.T) {
	want := map[threadKey]thread{
		{4712, 9001}: {compiler, 2204123456, 8000},
		{4713, 9001}: {compiler, 320 * time.Millisecond, 0}, // its kernel tells ticks only
		{4714, 9001}: {vmThread, 51 * time.Millisecond, 800},
	}
	var c census
	for range looks + 2 {
		got, err := c.read("testdata/proc/4711")
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("threads %v, %v, want %v", got, err, want)
		}
	}
	if !maps.Equal(c.others, map[int]int{4711: looks, 4715: looks}) {
		t.Errorf("others %v", c.others)
	}
	if _, err := c.read("testdata/proc/1"); err == nil {
		t.Error("threads of a process that is not there")
	}
}

func TestCensusSeesNamesGivenLate(t *testing.T) {
	process := t.TempDir()
	file := filepath.Join(process, "task", "7", "stat")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile("testdata/proc/4711/task/4713/stat")
	if err != nil {
		t.Fatal(err)
	}
	var c census
	for _, name := range []string{"java", "C1 CompilerThre"} {
		if err := os.WriteFile(file, []byte(strings.Replace(string(line), "C1 CompilerThre", name, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := c.read(process)
		if err != nil || (len(found) == 1) != (name != "java") {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

func TestParseStat(t *testing.T) {
	line, err := os.ReadFile("testdata/proc/4711/task/4715/stat")
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseStat(line)
	if want := (stat{"C2 Compiler) 1 (", 1980 * time.Millisecond, 9002}); err != nil || s != want {
		t.Errorf("%+v, %v, want %+v", s, err, want)
	}
	for _, bad := range []string{
		"", "1", "1 (java", ")(", "1 (java) S 1 2 3",
		strings.Replace(string(line), " 99 99 ", " 99 x ", 1),
		strings.Replace(string(line), " 99 99 ", " -1 99 ", 1),
		strings.Replace(string(line), " 9002 ", " x ", 1),
	} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, s)
		}
	}
}

func TestParseSchedstat(t *testing.T) {
	run, wait, err := parseSchedstat([]byte("12 34 56\n"))
	if run != 12 || wait != 34 || err != nil {
		t.Errorf("%d, %d, %v", run, wait, err)
	}
	for _, bad := range []string{"", "12", "x 1 2", "1 -2 3", "99999999999999999999 1 1"} {
		if run, wait, err := parseSchedstat([]byte(bad)); err == nil {
			t.Errorf("%q: %d, %d", bad, run, wait)
		}
	}
}

func TestRoles(t *testing.T) {
	for name, want := range map[string]role{
		"C1 CompilerThre": compiler, "C2 CompilerThre": compiler, "JVMCI CompilerT": compiler,
		"VM Thread": vmThread, "VM Periodic Tas": other, "java": other, "C2": other, "": other,
	} {
		if got := roleOf(name); got != want {
			t.Errorf("%q: role %d, want %d", name, got, want)
		}
	}
}

func TestCountersPath(t *testing.T) {
	const before = "7f00-7f01 r-xp 002e3000 fe:00 315638    /opt/jdk/lib/server/libjvm.so\n"
	for _, tt := range []struct{ name, line, want string }{
		{"plain", "7f02-7f03 rw-s 00000000 fe:00 12   /tmp/hsperfdata_app/17\n", "/tmp/hsperfdata_app/17"},
		{"in a container", "7f02-7f03 rw-s 0 fe:00 12   /var/lib/layers/9/tmp/hsperfdata_app/1\n", "/tmp/hsperfdata_app/1"},
		{"deleted", "7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/17 (deleted)\n", "/tmp/hsperfdata_app/17"},
		{"no newline", "7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/17", "/tmp/hsperfdata_app/17"},
		{"private", "7f02-7f03 rw-p 0 fe:00 12   /tmp/hsperfdata_app/17\n", ""},
		{"no number", "7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/x\n", ""},
		{"deeper", "7f02-7f03 rw-s 0 fe:00 12   /tmp/hsperfdata_app/../17\n", ""},
		{"none", "", ""},
	} {
		got, err := countersPath(strings.NewReader(before + tt.line))
		if got != tt.want || (tt.want == "") != errors.Is(err, errNoCounters) {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}
