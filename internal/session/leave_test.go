package session

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
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
		restored, err := s.bye(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := s.progress.all; got != int(restored.Classes) || got == 0 {
			t.Errorf("progress of %d classes, want all of %d", got, restored.Classes)
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
		s.Arena.AskStop()
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
			t.Errorf("leaving what was inactive: %v", err)
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
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "has exited") {
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

func frameOf(kind control.Kind, request uint32, body []byte) []byte {
	frame := binary.BigEndian.AppendUint32(nil, uint32(5+len(body)))
	frame = binary.BigEndian.AppendUint32(append(frame, byte(kind)), request)
	return append(frame, body...)
}

func textOf(body []byte, texts ...string) []byte {
	for _, text := range texts {
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(text))), text...)
	}
	return body
}

// stubbornAgent does what it is told but for leaving: it says that it cannot. It
// gives what ended it.
func stubbornAgent(conn net.Conn, token string) error {
	hello := textOf(binary.BigEndian.AppendUint16(nil, control.Protocol), token, "build", "17.0.1", "java.lang.SondeHooks")
	if _, err := conn.Write(frameOf(control.KindHello, 0, hello)); err != nil {
		return err
	}
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:]))-5); err != nil {
			return err
		}
		request := binary.BigEndian.Uint32(head[5:])
		var answer []byte
		switch control.Kind(head[4]) {
		case control.KindPing:
			answer = frameOf(control.KindDone, request, nil)
		case control.KindBye:
			answer = frameOf(control.KindFailed, request, textOf(nil, "not now"))
		}
		if _, err := conn.Write(answer); err != nil {
			return err
		}
	}
}

func TestAnAgentThatDoesNotLeaveIsHungUpOn(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := control.NewSecrets()
	ended := make(chan error, 1)
	go func() {
		conn, err := net.Dial("unix", l.Addr().String())
		if err == nil {
			err = stubbornAgent(conn, secrets.Token)
		}
		ended <- err
	}()
	peer, err := control.Listen(l, secrets, control.Settings{Lease: time.Hour}).Accept(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{peer: peer}
	if _, err := s.bye(t.Context()); err == nil || errors.Is(err, control.ErrLost) {
		t.Errorf("it left: %v", err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("the agent's conversation ended by %v", err)
	}
	<-s.Done()
}

func TestASessionThatIsOnlyReleasedEnds(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach, live.Calls)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On, "calls.**")
		if err := s.Release(); err != nil {
			t.Error(err)
		}
		<-s.Done()
		if _, err := s.Sum(); !errors.Is(err, arena.ErrClosed) {
			t.Errorf("what was released is summed up: %v", err)
		}
		if err := s.Switch(t.Context(), patterns(t, "calls.**"), 0, 0); err == nil {
			t.Error("a released session can switch hooks")
		}
		if _, err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("closed behind its release: %v", err)
		}
		p.Check()
	})
}

// TestRemarksAreBounded: a hostile agent does not fill the terminal.
func TestRemarksAreBounded(t *testing.T) {
	remarks := slices.Repeat([]string{"x", "y: " + erroneous}, 10*mostRemarks)
	got := digest(remarks)
	if len(got) != mostRemarks+2 || !strings.Contains(got[mostRemarks], "900 more") || !strings.HasPrefix(got[mostRemarks+1], "1,000 classes were not restored") {
		t.Errorf("%d remarks, the last %q", len(got), got[len(got)-2:])
	}
}

// TestASecurityManagerIsNamed: it is why an agent that was loaded does not connect.
func TestASecurityManagerIsNamed(t *testing.T) {
	for restricted, want := range map[bool]string{true: "SecurityManager", false: "error stream"} {
		s := &Session{jvm: &process.JVM{PID: 7, Restricted: restricted}}
		if err := s.explain(&control.NoAgentError{Cause: context.DeadlineExceeded}); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
