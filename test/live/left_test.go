package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// A host is a program that is entered, left, and looked at from outside.
type host struct {
	*live.Program
	t      *testing.T
	door   live.Door
	oracle *live.Oracle
}

// hosts has a test run on each JDK, and where it says so by both doors.
func hosts(t *testing.T, doors []string, test func(h *host), workloads ...string) {
	t.Helper()
	hostsWith(t, doors, nil, test, workloads...)
}

// hostsWith is like hosts for programs that run with options of java.
func hostsWith(t *testing.T, doors, options []string, test func(h *host), workloads ...string) {
	t.Helper()
	t.Parallel()
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			for _, name := range doors {
				t.Run(name, func(t *testing.T) { test(startHost(t, jdk, doorOf(t, name).With(options...), workloads...)) })
			}
		})
	}
}

const byAttach, byFlag = "attach", "javaagent"

var bothDoors = []string{byAttach, byFlag}

func doorOf(t *testing.T, name string) live.Door {
	t.Helper()
	if name == byAttach {
		return live.Attach
	}
	jar := filepath.Join(t.TempDir(), "sonde-agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	return live.JavaAgent(jar)
}

// startHost starts a program, has it do everything it can, and lets it have
// been attached to, so that what the JVM makes for that is there.
func startHost(t *testing.T, jdk jvmtest.JDK, door live.Door, workloads ...string) *host {
	t.Helper()
	p := live.Start(t, jdk, door, workloads...)
	p.Run(2)
	h := &host{p, t, door, live.NewOracle(t, p)}
	h.oracle.Live("sonde.")
	if door.Name == byFlag {
		h.await("the agent waits for an invitation", func() bool { return len(h.files()) == 1 })
	}
	return h
}

// wait bounds what a JVM may take; what is awaited comes, or never does.
const wait = time.Minute

func (h *host) await(what string, holds func() bool) {
	h.t.Helper()
	limit := time.Now().Add(wait)
	for !holds() {
		if time.Now().After(limit) {
			h.t.Fatalf("%s: not within %v\nstderr: %s", what, wait, h.Stderr())
		}
		time.Sleep(5 * time.Millisecond) // only between looks
	}
}

// open enters the program.
func (h *host) open() *session.Session {
	h.t.Helper()
	s, err := session.Open(context.Background(), h.PID, session.Settings{Command: "sonde count"})
	if err != nil {
		h.t.Fatalf("%v\nstderr: %s", err, h.Stderr())
	}
	h.t.Cleanup(func() {
		_, _ = s.Close(context.Background()) // where a test failed before it did
		_ = s.Release()
	})
	return s
}

// instrument puts timed hooks into what patterns name.
func (h *host) instrument(s *session.Session, patterns ...string) {
	h.t.Helper()
	set, err := pattern.ParseSet(patterns...)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := s.Instrument(context.Background(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed}); err != nil {
		h.t.Fatal(err)
	}
	if len(s.Methods()) == 0 {
		h.t.Fatalf("nothing was instrumented: %v", s.LeftAlone())
	}
}

// undo leaves the program, with nothing to remark.
func (h *host) undo(s *session.Session) session.Farewell {
	h.t.Helper()
	farewell, err := s.Close(context.Background())
	if err != nil || len(farewell.Remarks) > 0 {
		h.t.Fatalf("leaving: %v %q", err, farewell.Remarks)
	}
	return farewell
}

// same reports each line in which two lists differ.
func (h *host) same(what string, before, after []string) {
	h.t.Helper()
	for _, line := range missing(before, after) {
		h.t.Errorf("%s: was, and is not: %s", what, line)
	}
	for _, line := range missing(after, before) {
		h.t.Errorf("%s: is, and was not: %s", what, line)
	}
}

// missing lists what is in one list more often than in another.
func missing(from, in []string) []string {
	rest := slices.Clone(in)
	var lines []string
	for _, line := range from {
		if i := slices.Index(rest, line); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func (h *host) reflection() []string { return strings.Split(h.Reflect(), "\n") }

// files are ours, of sessions with the program or waiting for one.
func (h *host) files() []string {
	var found []string
	for _, pattern := range []string{"/tmp/.sonde-%d-*", "/tmp/.sonde_invite%d*", "/tmp/.sonde_pid%d", "/dev/shm/sonde-%d-*", "/tmp/sonde-%d-*", "/var/tmp/.sonde-%d-*"} {
		names, _ := filepath.Glob(fmt.Sprintf(pattern, h.PID)) // the patterns are well formed
		found = append(found, names...)
	}
	return found
}

// taskNames are the names of the program's threads, as the system has them.
func (h *host) taskNames() []string {
	h.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", h.PID))
	if err != nil || len(tasks) == 0 {
		h.t.Fatalf("process %d has no threads: %v\nstderr: %s", h.PID, err, h.Stderr())
	}
	var names []string
	for _, task := range tasks {
		if name, err := os.ReadFile(task); err == nil { // else it has ended
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}

// mapped are the arenas that the program has mapped.
func (h *host) mapped() []string {
	h.t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", h.PID))
	if err != nil {
		h.t.Fatal(err)
	}
	var arenas []string
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, ".arena") {
			arenas = append(arenas, strings.TrimSpace(line))
		}
	}
	return arenas
}
