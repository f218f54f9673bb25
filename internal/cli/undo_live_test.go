package cli

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestUndoLive ends a count from another process, which keeps its result; then
// one that was killed.
func TestUndoLive(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Calls, live.Exceptions)
		p.Run(1)
		sum := p.Check()
		pid := strconv.Itoa(p.PID)
		if code, out, stderr := sonde(t, "undo", pid); code != exitOK || !strings.HasPrefix(out, "nothing of Sonde's is inside process "+pid+"\n") {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		before := p.Counts()
		counting := startSonde(t, append(countArgs(p.PID, everything...), "--json")...)
		p.Run(1)
		truth := p.Counts().Minus(before)
		code, out, stderr := sonde(t, "undo", pid)
		if code != exitOK || !strings.HasPrefix(out, "took the hooks of ") || !strings.Contains(stderr, fmt.Sprintf("(process %d, alive)", counting.Process.Pid)) {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		code = counting.end(t)
		got := counting.result(t)
		if diff := truth.Diff(got.counts()); code != exitOK || got.Ended != endedUndone || got.Leaving != nil || len(diff) > 0 {
			t.Errorf("exit code %d, ended %s, %v: %s", code, got.Ended, diff, counting.stderr.String())
		}
		if !strings.Contains(counting.stderr.String(), "sonde undo") {
			t.Errorf("%s", counting.stderr.String())
		}
		checkLeft(t, p, sum)

		killed := startSonde(t, countArgs(p.PID, everything...)...)
		killed.signal(t, syscall.SIGKILL)
		killed.end(t)
		if code, out, stderr := sonde(t, "undo", pid); code != exitOK {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		checkLeft(t, p, sum)
	})
}

// TestSecondSignalEndsAtOnce interrupts a count of a JVM that cannot answer. The first
// signal makes it wait for the JVM, the second ends it; the JVM restores its classes by
// itself when it runs again.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Calls)
		p.Run(1)
		sum := p.Check()
		counting := startSonde(t, countArgs(p.PID, everything...)...)
		if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		counting.signal(t, syscall.SIGINT)
		counting.await(t, "waiting for process ")
		counting.signal(t, syscall.SIGTERM)
		code := counting.end(t)
		if err := syscall.Kill(p.PID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if want := 128 + int(syscall.SIGTERM); code != want || !strings.Contains(counting.stderr.String(), "ended by a second signal") {
			t.Errorf("exit code %d, want %d: %s", code, want, counting.stderr.String())
		}
		if code, out, stderr := sonde(t, "undo", strconv.Itoa(p.PID)); code != exitOK {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		checkLeft(t, p, sum)
	})
}
