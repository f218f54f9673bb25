package control

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// dialAs connects with another user's identity, on a thread that ends with it.
func dialAs(uid int, path string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread must not serve others
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			err = errno
			return
		}
		conn, err = net.Dial("unix", path)
	}()
	<-done
	return conn, err
}

func listenForAll(t *testing.T) net.Listener {
	t.Helper()
	// Not t.TempDir: others must reach it.
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, path := range []string{dir, l.Addr().String()} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestAnotherUserIsCutOff although it has the token.
func TestAnotherUserIsCutOff(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can be another user")
	}
	const other = 65534
	l, secrets := listenForAll(t), NewSecrets()
	accepted := accept(t.Context(), Listen(l, secrets, Settings{Lease: quiet}), FromProcess(os.Getpid(), 0))
	conn, err := dialAs(other, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	stranger := newAgent(t, conn)
	said := make([]byte, 1)
	stranger.hello(secrets.Token)
	if n, err := conn.Read(said); n > 0 || err == nil {
		t.Errorf("the stranger receives % x, %v", said, err)
	}
	conn, err = net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	newAgent(t, conn).join(secrets)
	p, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

func TestAnotherProcessIsAStranger(t *testing.T) {
	pid, uid := os.Getpid(), uint32(os.Getuid())
	l := listenForAll(t)
	for _, tt := range []struct {
		pid      int
		uid      uint32
		stranger bool
	}{{pid, uid, false}, {pid + 1, uid, true}, {pid, uid + 1, true}} {
		if _, err := net.Dial("unix", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		var stranger *StrangerError
		err = FromProcess(tt.pid, tt.uid)(conn)
		if errors.As(err, &stranger) != tt.stranger || tt.stranger && (stranger.PID != pid || stranger.UID != uid) {
			t.Errorf("%+v: %v", tt, err)
		}
		conn.Close()
		if err := FromProcess(tt.pid, tt.uid)(conn); err == nil {
			t.Error("a closed connection passes")
		}
	}
}

func TestOtherConnectionsHaveNoProcess(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if err := FromProcess(os.Getpid(), uint32(os.Getuid()))(here); !errors.Is(err, errNoPeer) {
		t.Error(err)
	}
}

// TestTCP is for JVMs without Unix sockets.
func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secrets := NewSecrets()
	accepted := accept(context.WithoutCancel(t.Context()), Listen(l, secrets, Settings{Lease: quiet}), nil)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	newAgent(t, conn).join(secrets)
	p, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}
