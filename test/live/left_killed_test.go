package live_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// A test of this binary that runs in a process of its own is told by these what
// to enter, and under what lease.
const (
	toEnter   = "SONDE_TEST_ENTER"
	withLease = "SONDE_TEST_LEASE"
)

// TestSondeOfItsOwn is no test, but what others run in another process: a Sonde
// that has hooks in a program, until it is killed or the session ends.
func TestSondeOfItsOwn(t *testing.T) {
	pid, err := strconv.Atoi(os.Getenv(toEnter))
	if err != nil {
		t.Skip("it is run by other tests")
	}
	lease, err := time.ParseDuration(os.Getenv(withLease))
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(context.Background(), pid, session.Settings{Command: "sonde count", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	set, err := pattern.ParseSet("calls.**", "hammer.**", "java.util.ArrayList.*")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Instrument(context.Background(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("\nhooked")
	<-s.Done()
	fmt.Println("\nended:", s.Err())
	_, err = s.Close(context.Background())
	fmt.Println("\nclosed:", err)
}

// A sonde is another process that has hooks in a program.
type sonde struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func (h *host) otherSonde(lease time.Duration) *sonde {
	h.t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestSondeOfItsOwn$", "-test.v")
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", toEnter, h.PID), withLease+"="+lease.String())
	out, err := command.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = command.Process.Kill() // where a test failed before it did
		_ = command.Wait()
	})
	s := &sonde{command, bufio.NewScanner(out)}
	h.says(s, "hooked")
	return s
}

// says waits for a line of the other process.
func (h *host) says(s *sonde, prefix string) string {
	h.t.Helper()
	var all []string
	for s.lines.Scan() {
		all = append(all, s.lines.Text())
		if strings.HasPrefix(s.lines.Text(), prefix) {
			return s.lines.Text()
		}
	}
	h.t.Fatalf("the other Sonde ended before %q: %q", prefix, all)
	return ""
}

func (h *host) signal(s *sonde, signal syscall.Signal) {
	h.t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		h.t.Fatal(err)
	}
}

// TestKilledSondeLeavesNothing kills a Sonde that has hooks in a busy program.
func TestKilledSondeLeavesNothing(t *testing.T) {
	hosts(t, bothDoors, func(h *host) {
		before, check := h.oracle.Methods(looked...), h.Check()
		h.StartLoad(1)
		s := h.otherSonde(time.Hour) // so it is the end of the line that tells the agent
		h.inside(before)
		h.signal(s, syscall.SIGKILL)
		_ = s.Wait()
		h.alone(before, check)
		// Its directory, with a socket in it, waits for the next Sonde, and is
		// taken for left over when it is not new any more.
		long := time.Now().Add(-time.Hour)
		for _, directory := range h.files() {
			if strings.Contains(directory, ".sonde-") {
				if err := os.Chtimes(directory, long, long); err != nil {
					h.t.Fatal(err)
				}
			}
		}
		if _, err := targetfs.Sweep(context.Background(), process.Local); err != nil {
			h.t.Fatal(err)
		}
		h.nothingStays()
	}, live.Calls, live.Hammer)
}

// TestStoppedSondeLosesItsLease stops a Sonde for longer than its lease: the
// agent takes all out, and the Sonde learns that when it goes on.
func TestStoppedSondeLosesItsLease(t *testing.T) {
	hosts(t, []string{byAttach}, func(h *host) {
		before, check := h.oracle.Methods(looked...), h.Check()
		h.StartLoad(1)
		s := h.otherSonde(2 * time.Second)
		h.inside(before)
		h.signal(s, syscall.SIGSTOP)
		h.alone(before, check)
		h.signal(s, syscall.SIGCONT)
		if told := h.says(s, "ended: "); told == "ended: <nil>" {
			h.t.Errorf("the Sonde says %q", told)
		}
		if told := h.says(s, "closed: "); told != "closed: <nil>" {
			h.t.Errorf("the Sonde says %q", told)
		}
		h.nothingStays()
	}, live.Calls, live.Hammer)
}

// inside demands that hooks are in.
func (h *host) inside(before live.Snapshot) {
	h.t.Helper()
	if len(changed(before, h.oracle.Methods(looked...))) == 0 || len(h.mapped()) == 0 {
		h.t.Error("the other Sonde has no hooks in the program")
	}
}

// alone demands that the agent takes everything out without its Sonde, the
// program running on. What a Sonde that lives, or was killed, holds of its files
// stays its own; but the arena, which takes memory, is gone.
func (h *host) alone(before live.Snapshot, check string) {
	h.t.Helper()
	h.await("the agent leaves", func() bool { return len(h.ourThreads()) == 0 && len(h.mapped()) == 0 })
	h.StopLoad()
	h.sameCode(before, h.oracle.Methods(looked...))
	for _, file := range h.files() {
		if strings.HasSuffix(file, ".arena") {
			h.t.Errorf("%s is still there", file)
		}
	}
	if left := h.Check(); left != check {
		h.t.Errorf("check %s, then %s", check, left)
	}
}
