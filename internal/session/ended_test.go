package session

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

func TestASessionThatIsUndoneSaysSo(t *testing.T) {
	byDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Calls)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On, "calls.**")
		p.Run(1)
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		s.arena.AskStop()
		<-s.Done()
		if err := s.Err(); !errors.Is(err, ErrEnded) {
			t.Errorf("the session ended by %v", err)
		}
		p.Run(1)
		if calls := told(t, s, "calls.Plain.addInts").Calls; calls != 10 {
			t.Errorf("%d calls, want the 10 from before", calls)
		}
		if err := s.Switch(t.Context(), patterns(t, "calls.**"), arena.On, 0); err == nil {
			t.Error("hooks that are out can be switched")
		}
		if _, err := s.Close(t.Context()); err != nil {
			t.Errorf("leaving what was undone: %v", err)
		}
		put(t, open(t, p), arena.On, "calls.**") // the JVM is free
	})
}

func TestASessionOutlivesItsJVM(t *testing.T) {
	byDoors(t, func(t *testing.T, jdk jvmtest.JDK, door live.Door) {
		p := live.Start(t, jdk, door, live.Calls)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On|arena.Timed, "calls.**")
		p.Run(3)
		process, err := os.FindProcess(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.Ended()
		<-s.Done()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("the session ended by %v", err)
		}
		if calls := told(t, s, "calls.Plain.addInts").Calls; calls != 30 {
			t.Errorf("%d calls, want 30", calls)
		}
		if _, err := s.Close(t.Context()); err != nil {
			t.Errorf("leaving what is gone: %v", err)
		}
	})
}

func TestAClosedSessionStillTells(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On, "calls.**")
		p.Run(1)
		if _, err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		p.Run(1)
		if calls := told(t, s, "calls.Plain.addInts").Calls; calls != 10 {
			t.Errorf("%d calls, want the 10 from before", calls)
		}
		if err := s.Switch(t.Context(), patterns(t, "calls.**"), 0, 0); err == nil {
			t.Error("a closed session can switch hooks")
		}
		if err := s.Release(); err != nil {
			t.Error(err)
		}
	})
}
