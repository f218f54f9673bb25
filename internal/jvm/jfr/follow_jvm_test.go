package jfr

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const samplesOnly = `<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">
<event name="jdk.ExecutionSample"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>
<event name="jdk.NativeMethodSample"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>
<event name="jdk.CPUTimeSample"><setting name="enabled">true</setting><setting name="throttle">10 ms</setting></event>
</configuration>`

// pollPause is how long the JVM is left alone between two polls.
const pollPause = 20 * time.Millisecond

// TestFollowingAJVM follows a JVM through several chunks and compares what it
// saw with what the JVM dumps of itself: nothing lost, nothing twice.
func TestFollowingAJVM(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			dir := t.TempDir()
			settings := filepath.Join(dir, "samples.jfc")
			if err := os.WriteFile(settings, []byte(samplesOnly), 0o600); err != nil {
				t.Fatal(err)
			}
			program := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{
				"-Xmx200m", "-cp", compileBusy(t, jdk), "-XX:FlightRecorderOptions=repository=" + dir,
				"-XX:StartFlightRecording=name=followed,settings=" + settings, "Busy",
			}})
			repositories, err := filepath.Glob(filepath.Join(dir, "*_*"))
			if err != nil || len(repositories) != 1 {
				t.Fatalf("repositories %v, error %v; want one", repositories, err)
			}
			f := Follow(repositories[0])
			defer f.Close()
			seen := followThroughDumps(t, jdk, program, f, filepath.Join(dir, "dumped.jfr"))
			dump, err := ReadSamplesFile(filepath.Join(dir, "dumped.jfr"))
			if err != nil {
				t.Fatal(err)
			}
			compareSamples(t, seen, dump.Samples)
			want := []Source{Execution, NativeCode}
			if jdk.Major >= 25 {
				want = append(want, CPUTime)
			}
			for _, source := range want {
				if !slices.ContainsFunc(seen, func(s Sample) bool { return s.Source == source && len(s.Stack.Frames) > 0 }) {
					t.Errorf("no sample of source %d has frames", source)
				}
			}
		})
	}
}

// followThroughDumps reads what the JVM flushes, and has it begin a new chunk
// by dumping, several times.
func followThroughDumps(t *testing.T, jdk jvmtest.JDK, program *jvmtest.Running, f *Follower, path string) []Sample {
	t.Helper()
	var seen []Sample
	poll := func() {
		t.Helper()
		b, err := f.Poll()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range b.Losses {
			if l.Defect != LostSamples { // which the JVM does of its own, on a busy machine
				t.Error(l)
			}
		}
		seen = append(seen, b.Samples...)
	}
	for range 3 {
		// A flush of the chunk that is being written must bring some.
		before := len(seen)
		deadline := time.Now().Add(time.Minute)
		for len(seen) < before+20 {
			if time.Now().After(deadline) {
				t.Fatalf("%d samples came of a chunk in a minute, want 20", len(seen)-before)
			}
			poll()
			<-time.After(pollPause)
		}
		_ = os.Remove(path)
		out := jvmtest.RunTool(t, jdk, "jcmd", fmt.Sprint(program.PID), "JFR.dump", "name=followed", "filename="+path)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("no dump: %v\n%s%s", err, out.Stdout, out.Stderr)
		}
	}
	poll()
	return seen
}

func compareSamples(t *testing.T, seen, dumped []Sample) {
	t.Helper()
	if len(dumped) < 60 {
		t.Errorf("%d samples dumped, want 60 at least", len(dumped))
	}
	count := map[string]int{}
	var last time.Time
	for _, s := range dumped {
		count[spellSample(s)]++
		if s.At.After(last) {
			last = s.At
		}
	}
	frames := 0
	for _, s := range seen {
		frames += len(s.Stack.Frames)
		key := spellSample(s)
		if count[key]--; count[key] < 0 && !s.At.After(last) {
			t.Errorf("seen more often than dumped: %s", key)
		}
	}
	for key, n := range count {
		if n > 0 {
			t.Errorf("dumped but not seen: %s", key)
		}
	}
	if frames < len(seen) {
		t.Errorf("%d frames in %d samples, want one each at least", frames, len(seen))
	}
	t.Logf("%d samples seen, %d dumped", len(seen), len(dumped))
}

func spellSample(s Sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %s %+v %v", s.At.UnixNano(), s.Source, s.State, *s.Thread, s.Stack.Truncated)
	for _, f := range s.Stack.Frames {
		fmt.Fprintf(&b, " %s.%s:%d", f.Method.Class, f.Method.Name, f.Line)
	}
	return b.String()
}
