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

// TestCountLive counts a program that counts itself, looks at it meanwhile by
// the other commands, and ends by Ctrl-C.
func TestCountLive(t *testing.T) {
	byBothDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Everyday...)
		p.Run(1)
		sum := p.Check()
		before := p.Counts()
		counting := startSonde(t, append(countArgs(p.PID, everything...), "--json")...)
		p.Run(2)
		checkHeld(t, p.PID, counting.Process.Pid)
		truth := p.Counts().Minus(before)
		counting.signal(t, syscall.SIGINT)
		if code := counting.end(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, counting.stderr.String())
		}
		got := counting.result(t)
		if diff := got.without(truth).Diff(got.counts()); len(diff) > 0 {
			t.Errorf("%s", strings.Join(diff, "\n"))
		}
		if got.Ended != endedInterrupted || !got.Final || got.PID != p.PID || got.JDK != jdk.Version || got.Timing != timingExact ||
			got.Hooks == nil || got.Hooks.Methods != len(got.Methods) || got.Leaving == nil || !got.Leaving.Unmapped ||
			got.HookCost == nil || got.HookCost.Median <= 0 || got.Dropped != 0 || got.Untimed != 0 {
			t.Errorf("%+v", got)
		}
		for _, want := range []string{"attached to " + strconv.Itoa(p.PID), "left alone", "left " + strconv.Itoa(p.PID)} {
			if !strings.Contains(counting.stderr.String(), want) {
				t.Errorf("no %q in %s", want, counting.stderr.String())
			}
		}
		checkLeft(t, p, sum)
	})
}

// checkHeld looks at a JVM that another sonde holds.
func checkHeld(t *testing.T, pid, holder int) {
	t.Helper()
	code, out, stderr := sonde(t, "status", strconv.Itoa(pid), "--json")
	held := parse[statusJSON](t, out)
	if code != exitOK || !held.Inside || len(held.Occupants) != 1 {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	if o := held.Occupants[0]; o.Process != holder || o.Alive != "yes" || !strings.HasPrefix(o.Command, "sonde count") ||
		len(o.Methods) == 0 || o.Calls == 0 || o.Threads == 0 || o.ArenaUsed == 0 || o.Timing != timingExact {
		t.Errorf("%+v", o)
	}
	_, out, _ = sonde(t, "status", strconv.Itoa(pid))
	if !strings.Contains(out, fmt.Sprintf("process  %d, alive", holder)) {
		t.Errorf("%s", out)
	}
	code, _, stderr = sonde(t, countArgs(pid, "a.**", "--duration", "1s")...)
	if code != exitError || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, fmt.Sprintf("process %d is held by sonde count", pid)) ||
		!strings.Contains(stderr, fmt.Sprintf("process %d: wait for it, or end it with sonde undo %d", holder, pid)) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	code, out, _ = sonde(t, "doctor", strconv.Itoa(pid))
	if code != exitError || !strings.Contains(out, "stop  held") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// checkLeft sees that nothing of Sonde's is in a program that works as before.
func checkLeft(t *testing.T, p *live.Program, sum string) {
	t.Helper()
	code, out, stderr := sonde(t, "status", strconv.Itoa(p.PID), "--json")
	if got := parse[statusJSON](t, out); code != exitOK || got.Inside || len(got.Occupants) != 0 {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if after := p.Check(); after != sum {
		t.Errorf("the program says %s, before %s", after, sum)
	}
}

// TestCountEndsByItself shows the ends a command line can ask for, and the forms
// of output, under load.
func TestCountEndsByItself(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := live.Start(t, jdk, live.Attach, live.Hammer)
			p.StartLoad(1)
			code, out, stderr := sonde(t, countArgs(p.PID, "hammer.Main.tiny*", "--calls", "5000", "--json", "--interval", "50ms", "--timing", "none")...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			for i, line := range lines {
				got := parse[countJSON](t, line)
				if last := i == len(lines)-1; got.Final != last || last && (got.Ended != endedCalls || got.Calls < 5000) || got.Methods[0].MeanNanos != nil {
					t.Errorf("line %d of %d: %s", i, len(lines), line)
				}
			}
			if code != exitOK {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			code, out, stderr = sonde(t, countArgs(p.PID, "hammer.**", "none.Main.**", "hammer.Main.absent", "--duration", "200ms", "--timing", "sampled", "--top", "2")...)
			if code != exitOK || !strings.Contains(out, "one call in 64 timed") || !strings.Contains(out, "not shown (--top)") || !strings.HasPrefix(strings.TrimSpace(out), "CALLS") {
				t.Errorf("exit code %d: %s", code, out)
			}
			for _, want := range []string{"no loaded class matches none.Main.**: hooks go in when one loads; loaded is hammer.Main\n", "hammer.Main.absent matches loaded classes, but no method"} {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in %s", want, stderr)
				}
			}
			p.StopLoad()
		})
	}
}

// TestCountOutlivesTheJVM kills a JVM that is counted: what was measured stays.
func TestCountOutlivesTheJVM(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := live.Start(t, jdk, live.Attach, live.Calls)
			p.Run(1)
			before := p.Counts()
			counting := startSonde(t, append(countArgs(p.PID, everything...), "--json")...)
			p.Run(1)
			truth := p.Counts().Minus(before)
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			code := counting.end(t)
			got := counting.result(t)
			if diff := truth.Diff(got.counts()); code != exitOK || got.Ended != endedExited || len(diff) > 0 {
				t.Errorf("exit code %d, ended %s, %v: %s", code, got.Ended, diff, counting.stderr.String())
			}
		})
	}
}
