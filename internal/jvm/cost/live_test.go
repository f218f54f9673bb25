package cost

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestLive(t *testing.T) {
	tests := []struct {
		name  string
		flags []string
		wrap  bool
		known Known
	}{
		{"plain", nil, false, all},
		{"no counters", []string{"-XX:-UsePerfData"}, false, Known{Compilers: true, VMThread: true, Process: true}},
		{"counters not shared", []string{"-XX:+PerfDisableSharedMem"}, false, Known{Compilers: true, VMThread: true, Process: true}},
		{"interpreted", []string{"-Xint"}, false, Known{Pauses: true, VMThread: true, Process: true}},
		{"other namespaces", nil, true, all},
	}
	for _, jdk := range jvmtest.JDKs(t) {
		for i, tt := range tests {
			if !jvmtest.Turn(t, jdk, i, len(tests)) {
				continue
			}
			t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, tt.name), func(t *testing.T) {
				classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{
					Sources: []string{"testdata/Collecting.java"}, Flags: []string{"--release", "8"},
				})
				launch := jvmtest.Launch{Args: append(tt.flags, "-cp", classes, "Collecting")}
				if tt.wrap {
					launch.Wrap = jvmtest.OtherNamespaces(t, "rw")
				}
				program := jvmtest.Start(t, jdk, launch)
				pid := program.PID
				if tt.wrap {
					pid = program.Child(t)
				}
				checkCollection(t, program, pid, tt.known)
			})
		}
	}
}

func checkCollection(t *testing.T, program *jvmtest.Running, pid int, known Known) {
	t.Helper()
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		t.Fatal(err)
	}
	m := Watch(jvm)
	defer m.Close()
	before, err := m.Read()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(program.Stdin, "go\n"); err != nil {
		t.Fatal(err)
	}
	program.Await(t, "read go")
	after, err := m.Read()
	if err != nil {
		t.Fatal(err)
	}
	if compiled, is := before.Compiled(); is != known.VMThread || (compiled > 0) != known.Compilers {
		t.Errorf("compilers have worked for %v, %t, with %+v", compiled, is, known)
	}
	cost := before.Until(after)
	if cost.Known != known {
		t.Errorf("known %+v, want %+v", cost.Known, known)
	}
	if known.Pauses && (cost.Safepoints < 1 || cost.Pause <= 0) {
		t.Errorf("after a collection %+v", cost)
	}
	if !known.Pauses && (cost.Safepoints != 0 || cost.Pause != 0) {
		t.Errorf("pauses that were not read: %+v", cost)
	}
	if back := after.Until(before); back.Safepoints != 0 || back.Pause != 0 {
		t.Errorf("backwards %+v", back)
	}
	_ = program.Stdin.Close()
	<-program.Ended()
	if _, err := m.Read(); !errors.Is(err, ErrGone) {
		t.Errorf("error of a JVM that has ended: %v", err)
	}
}
