package handover_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
)

// leaveSocket leaves what a process that is killed leaves.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

func socketOf(at handover.Places) string {
	return filepath.Join(at.Temp, fmt.Sprintf("sonde-%d", os.Getuid()), "jvm-4711-123456.sock")
}

// TestHostileClients: whatever is sent, one line with an error comes back, and the next
// is answered.
func TestHostileClients(t *testing.T) {
	at := places(t)
	serve(t, at, newFake())
	client := find(t, at)
	for name, text := range map[string]string{
		"no JSON":          "hello\n",
		"another protocol": `{"sonde":7,"ask":"save"}` + "\n",
		"no protocol":      `{"ask":"save"}` + "\n",
		"unknown":          `{"sonde":1,"ask":"dance"}` + "\n",
		"a wrong type":     `{"sonde":1,"ask":["save"]}` + "\n",
		"a wrong set":      `{"sonde":1,"ask":"apply","probes":"version: 9"}` + "\n",
		"no set":           `{"sonde":1,"ask":"apply"}` + "\n",
		"deep":             strings.Repeat("[", 1<<16) + "\n",
	} {
		conn, err := net.Dial("unix", socketOf(at))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, `{"sonde":1,"error":"`) {
			t.Errorf("%s: have %q, %v", name, line, err)
		}
		conn.Close()
		if _, err := client.Status(t.Context()); err != nil {
			t.Fatalf("behind %s: %v", name, err)
		}
	}
}

// TestEndlessQuestion: a line that does not end is refused at its bound.
func TestEndlessQuestion(t *testing.T) {
	at := places(t)
	serve(t, at, newFake())
	conn, err := net.Dial("unix", socketOf(at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	block := []byte(strings.Repeat("x", 1<<20))
	for range 9 {
		if _, err := conn.Write(block); err != nil {
			break // it has read enough
		}
	}
	if answer, err := io.ReadAll(conn); !strings.Contains(string(answer), "longer than a line may be") {
		t.Errorf("have %q, %v", answer, err)
	}
}

// TestSilentClients: those who call and say nothing take all places, and no more than
// those; who hangs up gives his back.
func TestSilentClients(t *testing.T) {
	at := places(t)
	serve(t, at, newFake())
	client := find(t, at)
	var silent []net.Conn
	for {
		conn, err := net.Dial("unix", socketOf(at))
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, conn)
		_, err = client.Status(t.Context())
		var refused *handover.RefusedError
		if errors.As(err, &refused) && strings.Contains(refused.Reason, "too many") {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(silent) > 100 {
			t.Fatal("there is room for everybody")
		}
	}
	for _, conn := range silent {
		conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if _, err := client.Status(ctx); err == nil {
			return
		} else if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestHostileServers: what answers like no Sonde is an error, in time.
func TestHostileServers(t *testing.T) {
	for name, say := range map[string]string{
		"nothing":          "",
		"no JSON":          "hello\n",
		"another protocol": `{"sonde":2}` + "\n",
		"no status":        `{"sonde":1}` + "\n",
	} {
		at := places(t)
		dir := filepath.Dir(socketOf(at))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("unix", socketOf(at))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, say)
				conn.Close()
			}
		}()
		if _, err := find(t, at).Status(t.Context()); !errors.Is(err, handover.ErrUnheard) {
			t.Errorf("%s: have %v", name, err)
		}
		listener.Close()
	}
}

// TestGivingUp: who asks can stop to wait.
func TestGivingUp(t *testing.T) {
	at := places(t)
	serve(t, at, newFake())
	ctx, cancel := context.WithCancel(t.Context())
	client := find(t, at)
	answered := make(chan error, 1)
	// Nobody closes the server, so that the end does not come.
	go func() { answered <- client.End(ctx) }()
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("have %v", err)
	}
}
