package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestUndoLive ends a count from another process, which keeps its result; then
// one that was killed.
func TestUndoLive(t *testing.T) {
	t.Parallel()
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Calls, live.Exceptions)
		p.Run(1)
		sum := p.Check()
		pid := strconv.Itoa(p.PID)
		if code, out, stderr := sonde(t, "undo", pid); code != exitOK || !strings.HasPrefix(out, "Sonde has no hooks and no agent in process "+pid+"\n") {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		before := p.Counts()
		counting := startSonde(t, append(countArgs(p.PID, everything...), "--json")...)
		p.Run(1)
		truth := p.Counts().Minus(before)
		code, out, stderr := sonde(t, "undo", pid)
		if code != exitOK || !strings.HasPrefix(out, "removed the hooks of ") || !strings.HasPrefix(stderr, "asking sonde serve (process ") {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
		code = counting.end(t)
		got := counting.result(t)
		if diff := truth.Diff(countsOf(&got)); code != exitOK || ending(got.Ended) != endedUndone || got.Leaving != nil || len(diff) > 0 {
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
	t.Parallel()
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Calls)
		p.Run(1)
		sum := p.Check()
		counting := startSonde(t, countArgs(p.PID, everything...)...)
		stop(t, p.PID)
		counting.signal(t, syscall.SIGINT)
		counting.await(t, "restoring classes: process ")
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

// TestUnannouncedPackLive has the notice of a pack be removed, as programs do that keep
// /tmp clean: the commands know the pack by its arena, and can look at the JVM as well.
func TestUnannouncedPackLive(t *testing.T) {
	t.Parallel()
	s := newPackedShop(t, jvmtest.OneJDK(t)[0])
	s.do("sell 2 gold")
	notice := filepath.Join("/tmp", process.PackNoticeName(s.PID))
	forget := func() {
		if err := os.Remove(notice); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	forget()
	for line := range strings.Lines(s.must("ps", "--json")) {
		if jvm := parse[document.JVM](t, line); jvm.PID == s.PID && jvm.Inside != "pack" {
			t.Errorf("%+v", jvm)
		}
	}
	forget()
	if report, calls := s.reported(s.pid); calls["charges gold"] != 2 || report.Pack != s.pack || report.Arena != s.arena {
		t.Errorf("%v, %+v", calls, report)
	}
	forget()
	if code, _, stderr := sonde(t, "count", s.pid, "applied.**", "--duration", "10ms"); code != exitOK {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	forget()
	if out := s.must("undo", s.pid); !strings.Contains(out, "its measurements stay: sonde report "+s.arena) {
		t.Errorf("%s", out)
	}
	if jvm, err := process.Local.Inspect(s.PID); err != nil || jvm.Inside == process.Packed || len(jvm.Arenas) > 0 {
		t.Errorf("%+v, %v", jvm, err)
	}
}
