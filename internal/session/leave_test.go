package session

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestLeavingReportsProgress checks that the agent says how many classes it restores.
func TestLeavingReportsProgress(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		s := open(t, p)
		put(t, s, arena.On, "calls.**")
		var far atomic.Pointer[control.Restoring]
		restored, err := s.bye(t.Context(), &far)
		if err != nil {
			t.Fatal(err)
		}
		if got := far.Load(); got == nil || got.All != restored.Classes || got.All == 0 {
			t.Errorf("progress %+v, want all of %d classes", got, restored.Classes)
		}
	})
}

// TestAJVMThatHasNotRestoredIsReported checks that leaving a JVM that cannot restore its
// classes yet is an error, and that it is none once the JVM has.
func TestAJVMThatHasNotRestoredIsReported(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		s := open(t, p)
		put(t, s, arena.On, "calls.**")
		if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		_ = s.peer.Close() // as if the conversation had ended
		impatient, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.leave(impatient)
		if err := syscall.Kill(p.PID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		var left *NotRestoredError
		if !errors.As(err, &left) || left.PID != p.PID {
			t.Errorf("left a stopped JVM: %v, want a NotRestoredError of process %d", err, p.PID)
		}
		if _, err := s.leave(t.Context()); err != nil {
			t.Errorf("left a JVM that restores by itself: %v", err)
		}
	})
}
