package targetfs

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// heard is what the next who dials says.
func heard(t *testing.T, l *Listener) string {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestTargetDials(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			for _, jdk := range jvmtest.OneJDK(t) {
				g := startGuest(t, jdk, wrap)
				f := mustMake(t, g.jvm)
				socket, err := f.Listen()
				if err != nil || socket.Socket == "" {
					t.Fatal(socket, err)
				}
				if did := g.does(t, "unix", socket.Socket); did != "dial" || heard(t, socket) != "hello" {
					t.Error(did)
				}
				g.dialsLoopback(t, f)
			}
		})
	}
}

func (g guest) dialsLoopback(t *testing.T, f *Foothold) {
	t.Helper()
	before, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.ListenLoopback()
	if err != nil || l.Port == 0 || l.Socket != "" {
		t.Fatal(l, err)
	}
	if did := g.does(t, "tcp", strconv.Itoa(l.Port)); did != "dial" || heard(t, l) != "hello" {
		t.Error(did)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		if now, err := os.Readlink("/proc/self/task/" + thread.Name() + "/ns/net"); err == nil && now != before {
			t.Errorf("thread %s is in %s", thread.Name(), now)
		}
	}
}

// otherNetwork runs a command in a network namespace of its own.
func otherNetwork(t *testing.T, setUp string) []string {
	t.Helper()
	jvmtest.OtherNamespaces(t, "rw") // or skip
	return []string{"unshare", "--net", "--fork", "sh", "-c", setUp + ` exec "$@"`, "sh"}
}

func TestOtherNetwork(t *testing.T) {
	for _, wrap := range [][]string{nil, jvmtest.AsNobody(t)} {
		g := startGuest(t, oldest(t), slices.Concat(otherNetwork(t, "ip link set lo up;"), wrap))
		g.jvm.Version = "11.0.2"
		f := mustMake(t, g.jvm)
		if l, err := f.Listen(); err != nil || l.Port == 0 {
			t.Errorf("%+v, %v", l, err)
		}
		g.dialsLoopback(t, f)
	}
	g := startGuest(t, oldest(t), otherNetwork(t, ""))
	if _, err := mustMake(t, g.jvm).ListenLoopback(); !errors.Is(err, ErrNetwork) {
		t.Errorf("without a loopback: %v", err)
	}
}
