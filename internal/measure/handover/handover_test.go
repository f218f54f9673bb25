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
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
)

var target = handover.Target{PID: 4711, Start: 123456}

// places returns directories whose paths are short enough for sockets. The test removes them.
func places(t *testing.T) handover.Places {
	t.Helper()
	dir, err := os.MkdirTemp("", "sonde-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return handover.Places{Temp: dir}
}

// fake implements Holding without a JVM.
type fake struct {
	mu    sync.Mutex
	set   *probeset.Set
	busy  bool
	ended chan struct{}
	wrong error
}

func newFake() *fake { return &fake{set: &probeset.Set{HandOff: true}, ended: make(chan struct{})} }

func (f *fake) Apply(_ context.Context, set *probeset.Set, dryRun bool) (*handover.Outcome, error) {
	if f.busy {
		panic("two requests at once")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = true
	defer func() { f.busy = false }()
	if f.wrong != nil {
		return nil, f.wrong
	}
	changes := probeset.Diff(f.set, set)
	if !dryRun {
		f.set = set
	}
	return &handover.Outcome{Changes: changes, Woven: len(changes), Notes: []string{"a note"}}, nil
}

func (f *fake) Wanted() *probeset.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set
}

func (f *fake) Status() *handover.Status {
	return &handover.Status{Sonde: os.Getpid(), Command: "sonde apply", Probes: []handover.Running{{Name: "p", Level: "time", Calls: 1 << 60}}}
}

func (f *fake) End() { close(f.ended) }

func serve(t *testing.T, at handover.Places, f *fake) *handover.Server {
	t.Helper()
	server, err := handover.Listen(t.Context(), at, target, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func find(t *testing.T, at handover.Places) *handover.Client {
	t.Helper()
	client, err := handover.Find(t.Context(), at, target, uint32(os.Getuid()))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func sample(names ...string) *probeset.Set {
	set := &probeset.Set{HandOff: true}
	for _, name := range names {
		set.Probes = append(set.Probes, probeset.Probe{Name: name, Methods: spectest.Patterns("a.B.c"), When: spectest.Expr("$1 > \"<&>\u2028\""), Level: probeset.Time})
	}
	return set
}

func TestConversation(t *testing.T) {
	at := places(t)
	f := newFake()
	server := serve(t, at, f)
	client := find(t, at)
	outcome, err := client.Apply(t.Context(), sample("p", "q"), true)
	if err != nil || len(outcome.Changes) != 2 || outcome.Changes[0].Action != probeset.Add || outcome.Changes[0].Name != "p" {
		t.Fatalf("have %+v, %v", outcome, err)
	}
	if len(f.Wanted().Probes) != 0 {
		t.Fatal("a dry run changed something")
	}
	if outcome, err = client.Apply(t.Context(), sample("p"), false); err != nil || outcome.Woven != 1 || outcome.Notes[0] != "a note" {
		t.Fatalf("have %+v, %v", outcome, err)
	}
	if outcome, err = client.Apply(t.Context(), sample("p"), false); err != nil || len(outcome.Changes) != 0 {
		t.Fatalf("the same again changes %+v, %v", outcome, err)
	}
	set, err := client.Save(t.Context())
	if err != nil || !reflect.DeepEqual(set, sample("p")) {
		t.Fatalf("have %+v, %v", set, err)
	}
	status, err := client.Status(t.Context())
	if err != nil || status.Sonde != os.Getpid() || status.Probes[0].Calls != 1<<60 {
		t.Fatalf("have %+v, %v", status, err)
	}
	f.wrong = errors.New("two\nlines")
	if _, err = client.Apply(t.Context(), sample("q"), false); err == nil || err.Error() != "two\nlines" {
		t.Fatalf("have %v", err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-f.ended
		_ = server.Close()
	}()
	if err := client.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-closed
	if _, err := client.Status(t.Context()); !errors.Is(err, handover.ErrNone) {
		t.Errorf("status after the end: %v", err)
	}
	if left, _ := os.ReadDir(at.Temp); len(left) != 0 {
		t.Errorf("%s is left", left[0].Name())
	}
}

func TestOneHolder(t *testing.T) {
	at := places(t)
	serve(t, at, newFake())
	if _, err := handover.Listen(t.Context(), at, target, newFake()); !errors.Is(err, handover.ErrHeld) || !strings.Contains(err.Error(), "sonde apply --end 4711") {
		t.Errorf("have %v", err)
	}
	other := handover.Target{PID: target.PID, Start: target.Start + 1}
	if _, err := handover.Find(t.Context(), at, other, 0); !errors.Is(err, handover.ErrNone) {
		t.Errorf("a process with the same PID and another start was found: %v", err)
	}
	server, err := handover.Listen(t.Context(), at, other, newFake())
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	find(t, at) // the first server still answers
}

// TestRunningForPlace: one of many concurrent servers gets the JVM.
func TestRunningForPlace(t *testing.T) {
	at := places(t)
	const many = 16
	servers := make(chan *handover.Server, many)
	var group sync.WaitGroup
	for range many {
		group.Go(func() {
			server, err := handover.Listen(t.Context(), at, target, newFake())
			if err == nil {
				servers <- server
			} else if !errors.Is(err, handover.ErrHeld) {
				t.Errorf("have %v", err)
			}
		})
	}
	group.Wait()
	close(servers)
	if len(servers) != 1 {
		t.Errorf("%d servers listen", len(servers))
	}
	for server := range servers {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStale: the sockets of killed Sondes are removed.
func TestStale(t *testing.T) {
	at := places(t)
	dir := filepath.Join(at.Temp, fmt.Sprintf("sonde-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jvm-4711-123456.sock", "jvm-1-2.sock"} {
		leaveSocket(t, filepath.Join(dir, name))
	}
	if _, err := handover.Find(t.Context(), at, target, 0); !errors.Is(err, handover.ErrNone) {
		t.Errorf("a dead socket was found: %v", err)
	}
	serve(t, at, newFake())
	find(t, at)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("have %v, %v", entries, err)
	}
}

// TestUnsafe: directories that another user may have created are not used.
func TestUnsafe(t *testing.T) {
	for name, make := range map[string]func(dir string) error{
		"open to others": func(dir string) error { return os.Mkdir(dir, 0o755) },
		"a link":         func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) },
		"a file":         func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		at := places(t)
		if err := make(filepath.Join(at.Temp, fmt.Sprintf("sonde-%d", os.Getuid()))); err != nil {
			t.Fatal(err)
		}
		if _, err := handover.Listen(t.Context(), at, target, newFake()); !errors.Is(err, handover.ErrUnsafe) {
			t.Errorf("%s: have %v", name, err)
		}
	}
}

// TestRuntimeDirectory: a runtime directory is preferred, and found without XDG_RUNTIME_DIR if it
// is at its usual place.
func TestRuntimeDirectory(t *testing.T) {
	at := places(t)
	at.Users = filepath.Join(at.Temp, "run")
	at.Runtime = filepath.Join(at.Users, fmt.Sprint(os.Getuid()))
	if err := os.MkdirAll(at.Runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	serve(t, at, newFake())
	if _, err := os.Lstat(filepath.Join(at.Runtime, "sonde", "jvm-4711-123456.sock")); err != nil {
		t.Error(err)
	}
	at.Runtime = ""
	find(t, at)
}

// leaveSocket leaves a socket file without a listener, as a killed process does.
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

// TestHostileClients: each invalid request gets one line with an error, and the next request
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
			t.Fatalf("after %s: %v", name, err)
		}
	}
}

// TestEndlessRequest: a line that exceeds the limit is refused.
func TestEndlessRequest(t *testing.T) {
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
	if answer, err := io.ReadAll(conn); !strings.Contains(string(answer), "the line is too long") {
		t.Errorf("have %q, %v", answer, err)
	}
}

// TestSilentClients: connections without a request use up the limit of connections until they are
// closed.
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
		if err != nil && strings.Contains(err.Error(), "too many requests") {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(silent) > 100 {
			t.Fatal("the number of connections is not limited")
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

// TestHostileServers: an invalid answer is an error.
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
		if _, err := find(t, at).Status(t.Context()); !errors.Is(err, handover.ErrNoAnswer) {
			t.Errorf("%s: have %v", name, err)
		}
		listener.Close()
	}
}

// TestGivingUp: a client can stop waiting.
func TestGivingUp(t *testing.T) {
	at := places(t)
	serve(t, at, newFake())
	ctx, cancel := context.WithCancel(t.Context())
	client := find(t, at)
	answered := make(chan error, 1)
	// The server is not closed, so the request is not answered.
	go func() { answered <- client.End(ctx) }()
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("have %v", err)
	}
}
