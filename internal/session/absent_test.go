package session

import (
	"errors"
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
	p := live.Start(t, jvmtest.JDKs(t)[0], live.Attach, live.Calls)
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
	p := live.Start(t, jvmtest.JDKs(t)[0], live.Attach.With("-XX:+DisableAttachMechanism"), live.Calls)
	leaveTicket(t, p)
	if _, err := Open(t.Context(), p.PID, Settings{}); !errors.Is(err, targetfs.ErrNotTaken) {
		t.Errorf("entered: %v", err)
	}
}
