package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// leaveTicket makes it look as if an agent waited in a program.
func leaveTicket(t *testing.T, p *live.Program) {
	t.Helper()
	ticket := filepath.Join("/tmp", process.TicketName(p.PID))
	if err := os.WriteFile(ticket, []byte(strings.Repeat("5a", 16)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(ticket) })
}

// TestAnAgentThatDoesNotComeIsReplaced has nobody take the invitation, for which
// Sonde waits long: one JDK shows it.
func TestAnAgentThatDoesNotComeIsReplaced(t *testing.T) {
	t.Parallel()
	p := live.Start(t, jvmtest.OneJDK(t)[0], live.Attach, live.Calls)
	leaveTicket(t, p)
	p.Run(1)
	s := open(t, p)
	put(t, s, arena.On, "calls.**")
	p.Run(1)
	if calls := told(t, s, "calls.Plain.addInts").Calls; calls != 10 {
		t.Errorf("%d calls, want 10", calls)
	}
}

func TestAnAgentThatCannotBeReplacedIsMissed(t *testing.T) {
	t.Parallel()
	p := live.Start(t, jvmtest.OneJDK(t)[0], live.Attach.With("-XX:+DisableAttachMechanism"), live.Calls)
	leaveTicket(t, p)
	if _, err := Open(t.Context(), p.PID, Settings{}); !errors.Is(err, targetfs.ErrNotTaken) {
		t.Errorf("entered: %v", err)
	}
}

func TestAHeldJVMIsRefusedToOthers(t *testing.T) {
	byDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Calls)
		p.Run(1)
		first := open(t, p)
		put(t, first, arena.On, "calls.**")
		second, err := Open(t.Context(), p.PID, Settings{Command: "sonde other"})
		var held *HeldError
		if !errors.As(err, &held) || second != nil {
			t.Fatalf("a second session: %v, %v", second, err)
		}
		if want := fmt.Sprintf("sonde test, process %d", os.Getpid()); held.Holder != want || held.PID != p.PID {
			t.Errorf("held by %q in process %d, want %q in %d", held.Holder, held.PID, want, p.PID)
		}
		for _, part := range []string{held.Holder, fmt.Sprintf("sonde undo %d", p.PID)} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not tell %q", err, part)
			}
		}
		p.Run(1)
		if calls := told(t, first, "calls.Plain.addInts").Calls; calls != 10 || first.Err() != nil {
			t.Errorf("the first session counted %d calls, want 10: %v", calls, first.Err())
		}
		if _, err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := open(t, p)
		put(t, next, arena.On, "calls.**")
		p.Run(1)
		if calls := told(t, next, "calls.Plain.addInts").Calls; calls != 10 {
			t.Errorf("the next session counted %d calls, want 10", calls)
		}
	})
}

func TestWhatIsNoJVMIsRefused(t *testing.T) {
	const none = 1 << 23 // above every process id
	_, err := Open(t.Context(), none, Settings{})
	var refused *NoSuchJVM
	if !errors.As(err, &refused) || !errors.Is(err, process.ErrNoProcess) || !strings.Contains(err.Error(), "sonde ps") {
		t.Errorf("no process: %v", err)
	}
	_, err = Open(t.Context(), os.Getpid(), Settings{})
	if !errors.As(err, &refused) || errors.Is(err, process.ErrNoProcess) || !strings.Contains(err.Error(), "sonde ps") {
		t.Errorf("this process: %v", err)
	}
}
