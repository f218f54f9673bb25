package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// fake is a JVM in this process. answer is given each request and returns the
// reply's bytes; nil answers nothing, ever.
type fake struct {
	refuse int // dials without a listener
	busy   int // dials that find a full queue, before those
	dead   bool
	askErr error
	answer func(request string) *string

	mu        sync.Mutex
	asked     int
	withdrawn int
	requests  []string
	closed    bool
}

func (f *fake) dial() (net.Conn, error) {
	if f.busy > 0 {
		f.busy--
		return nil, errBusy
	}
	if f.refuse > 0 {
		f.refuse--
		return nil, errNoListener
	}
	here, there := net.Pipe()
	go f.serve(there)
	return here, nil
}

func (f *fake) serve(conn net.Conn) {
	buffer := make([]byte, 1<<20)
	n, err := conn.Read(buffer) // a pipe delivers what is written at once
	if err != nil {
		return
	}
	f.mu.Lock()
	f.requests = append(f.requests, string(buffer[:n]))
	f.mu.Unlock()
	if reply := f.answer(string(buffer[:n])); reply != nil {
		_, _ = conn.Write([]byte(*reply))
		_ = conn.Close()
	}
}

func (f *fake) ask() (func(), error) {
	f.asked++
	return func() { f.withdrawn++ }, f.askErr
}

func (f *fake) alive() bool   { return !f.dead }
func (f *fake) started() bool { return true }
func (f *fake) close()        { f.closed = true }

func replies(text string) func(string) *string {
	return func(string) *string { return &text }
}

func fakeConn(f *fake) *Conn {
	return &Conn{jvm: &process.JVM{PID: 42, Agents: process.Verdict{Answer: process.Yes}}, target: f}
}

func TestOpenAsksOnce(t *testing.T) {
	for _, refuse := range []int{0, 1, 5} {
		f := &fake{refuse: refuse, answer: replies("")}
		if _, err := open(t.Context(), &process.JVM{PID: 42}, f); err != nil {
			t.Fatalf("after %d refusals: %v", refuse, err)
		}
		if want := min(refuse, 1); f.asked != want || f.withdrawn != want {
			t.Errorf("after %d refusals: asked %d times, withdrew %d times", refuse, f.asked, f.withdrawn)
		}
	}
}

// TestBusyIsNotAsked: a JVM that listens, with a full queue, must not get a signal.
func TestBusyIsNotAsked(t *testing.T) {
	f := &fake{busy: 5, answer: replies("")}
	if _, err := open(t.Context(), &process.JVM{PID: 42}, f); err != nil || f.asked != 0 {
		t.Errorf("%v, asked %d times", err, f.asked)
	}
}

func TestOpenGivesUp(t *testing.T) {
	const never, orNever = 1 << 30, -1
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancelLate()
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		fake  *fake
		kind  error
		asked int
	}{
		{"silent", late, &fake{refuse: never}, ErrTimeout, orNever}, // the time may be up before
		{"dead", t.Context(), &fake{refuse: never, dead: true}, ErrGone, 1},
		{"cancelled", cancelled, &fake{refuse: never}, context.Canceled, 0},
		{"cannot be asked", t.Context(), &fake{refuse: never, askErr: &Error{Kind: ErrReadOnlyTmp}}, ErrReadOnlyTmp, 1},
	} {
		_, err := open(tt.ctx, &process.JVM{PID: 42}, tt.fake)
		asked := tt.fake.asked == tt.asked || tt.asked == orNever && tt.fake.asked <= 1
		if !errors.Is(err, tt.kind) || !asked || !tt.fake.closed {
			t.Errorf("%s: %v, asked %d times, closed %v", tt.name, err, tt.fake.asked, tt.fake.closed)
		}
		if tt.fake.askErr == nil && tt.fake.withdrawn != tt.fake.asked {
			t.Errorf("%s: withdrew %d times", tt.name, tt.fake.withdrawn)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than a line: %q", tt.name, err)
		}
	}
}

func TestFraming(t *testing.T) {
	long := strings.Repeat("x", longestWordV1+1)
	for _, tt := range []struct {
		command  string
		args     []string
		version  string // the JVM's reply to getversion
		requests []string
		kind     error
	}{
		{"properties", nil, "", []string{"1\x00properties\x00\x00\x00\x00"}, nil},
		{"load", []string{"a", "", "c"}, "", []string{"1\x00load\x00a\x00\x00c\x00"}, nil},
		{"jcmd", []string{long}, "0\n2", []string{"1\x00getversion\x00\x00\x00\x00", "2\x001031\x00jcmd\x00" + long + "\x00"}, nil},
		{"x", []string{"1", "2", "3", "4"}, "0\n2\n", []string{"1\x00getversion\x00\x00\x00\x00", "2\x0010\x00x\x001\x002\x003\x004\x00"}, nil},
		{"jcmd", []string{long}, "-1\nOperation getversion not recognized!", []string{"1\x00getversion\x00\x00\x00\x00"}, ErrTooLong},
		{"jcmd", []string{strings.Repeat("x", longestRequestV2)}, "0\n2", []string{"1\x00getversion\x00\x00\x00\x00"}, ErrTooLong},
		{"jcmd", []string{"a\x00b"}, "", nil, ErrCommand},
	} {
		f := &fake{answer: func(request string) *string {
			reply := "0\nwell"
			if strings.Contains(request, "getversion") {
				reply = tt.version
			}
			return &reply
		}}
		reply, err := fakeConn(f).Execute(t.Context(), tt.command, tt.args...)
		if !errors.Is(err, tt.kind) || tt.kind == nil && reply != (Reply{0, "well"}) {
			t.Errorf("%s: %+v, %v", tt.command, reply, err)
		}
		if strings.Join(f.requests, "|") != strings.Join(tt.requests, "|") {
			t.Errorf("%s: sent %q", tt.command, f.requests)
		}
	}
}

func TestReplies(t *testing.T) {
	for _, tt := range []struct {
		raw   string
		reply Reply
		kind  error
	}{
		{"0\n", Reply{}, nil},
		{"-1\nno\nway", Reply{-1, "no\nway"}, nil},
		{"7", Reply{7, ""}, nil},
		{"101\n", Reply{101, ""}, ErrCommand},
		{"", Reply{}, ErrCommand},
		{"hello\nworld", Reply{}, ErrCommand},
	} {
		reply, err := fakeConn(&fake{answer: replies(tt.raw)}).Execute(t.Context(), "x")
		if reply != tt.reply || !errors.Is(err, tt.kind) {
			t.Errorf("%q: %+v, %v", tt.raw, reply, err)
		}
	}
}

func TestSilentCommandTimesOut(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := fakeConn(&fake{answer: func(string) *string { return nil }}).Execute(ctx, "x")
	if !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
}

func TestLoadReplies(t *testing.T) {
	for _, tt := range []struct {
		raw    string
		kind   error
		detail string
	}{
		{"0\nreturn code: 0\n", nil, ""},
		{"0\n0\n", nil, ""},
		{"0\nreturn code: 100\n", ErrAgent, "Agent-Class"},
		{"0\nreturn code: 101\n", ErrAgent, "class path"},
		{"0\nreturn code: 102\n", ErrAgent, "threw"},
		{"0\nreturn code: -4\n", ErrAgent, "-4"},
		{"0\nDynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.", ErrAgentsOff, "start it without"},
		{"-1\nDynamic agent loading is not enabled. Use …", ErrAgentsOff, "start it without"},
		{"-1\njava.lang.module.FindException: Module java.instrument not found\n\tat …", ErrAgentsOff, "jlink"},
		{"-1\njava.lang.Error: x\n\tat y", ErrAgent, "java.lang.Error: x"},
		{"1\n", ErrAgent, "code 1"},
		{"0\n", ErrAgent, "code 0"},
	} {
		f := &fake{answer: replies(tt.raw)}
		err := fakeConn(f).LoadAgent(t.Context(), "/a.jar", "o=p")
		if !errors.Is(err, tt.kind) || err != nil && !strings.Contains(err.Error(), tt.detail) {
			t.Errorf("%q: %v", tt.raw, err)
		}
		if f.requests[0] != "1\x00load\x00instrument\x00false\x00/a.jar=o=p\x00" {
			t.Errorf("sent %q", f.requests)
		}
	}
}

// TestLoadWaitsForModules: a JVM answers before it has any, and then cannot load an agent. JDK 25
// has them for a moment before it can.
func TestLoadWaitsForModules(t *testing.T) {
	const noModules, loaded = "-1\njava.lang.NullPointerException", "0\nreturn code: 0\n"
	early := []string{noModules, noModules, "0\nDynamic agent loading is only permitted in the live phase\n"}
	f := &fake{answer: func(string) *string {
		reply := loaded
		if len(early) > 0 {
			reply, early = early[0], early[1:]
		}
		return &reply
	}}
	if err := fakeConn(f).LoadAgent(t.Context(), "/a.jar", ""); err != nil || len(f.requests) != 4 {
		t.Errorf("%d requests, %v", len(f.requests), err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	f = &fake{answer: func(string) *string {
		cancel()
		reply := noModules
		return &reply
	}}
	if err := fakeConn(f).LoadAgent(cancelled, "/a.jar", ""); err == nil || len(f.requests) != 1 {
		t.Errorf("cancelled: %d requests, %v", len(f.requests), err)
	}
}

func TestLoadRefusesBeforehand(t *testing.T) {
	f := &fake{answer: replies("0\nreturn code: 0")}
	c := fakeConn(f)
	for _, jar := range []string{"a.jar", "/a=b.jar"} {
		if err := c.LoadAgent(t.Context(), jar, ""); !errors.Is(err, ErrAgent) {
			t.Errorf("%s: %v", jar, err)
		}
	}
	c.jvm.Agents = process.Verdict{Answer: process.No, Reason: "off"}
	if err := c.LoadAgent(t.Context(), "/a.jar", ""); !errors.Is(err, ErrAgentsOff) {
		t.Error(err)
	}
	if len(f.requests) > 0 {
		t.Errorf("sent %q", f.requests)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte("0\nreturn code: 0\n"))
	f.Add([]byte("-1\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, err := parseReply(data)
		if err == nil && len(reply.Text) > len(data) {
			t.Fatal("more text than bytes")
		}
		if err := fakeConn(nil).agentError("/a.jar", reply); err != nil && strings.ContainsAny(err.Error(), "\r\n") {
			t.Fatalf("more than a line: %q", err)
		}
	})
}

// fakeHost is a /proc with one process.
func fakeHost(t *testing.T, uid int, maps string) process.Host {
	t.Helper()
	proc := t.TempDir()
	if err := os.Mkdir(filepath.Join(proc, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"7/status":  fmt.Sprintf("State:\tS (sleeping)\nUid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\n", uid, uid, uid, uid, uid, uid, uid, uid),
		"7/stat":    "7 (java) S" + strings.Repeat(" 1", 30),
		"7/cmdline": "java\x00Main\x00", "7/environ": "", "7/maps": maps, "uptime": "10.0 10.0\n",
	} {
		if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/opt/jdk/bin/java", filepath.Join(proc, "7", "exe")); err != nil {
		t.Fatal(err)
	}
	return process.Host{Proc: proc}
}

func TestPreflightRefuses(t *testing.T) {
	const hotSpot = "7f0-7f1 r-xp 0 fe:00 1  /opt/jdk/lib/server/libjvm.so\n"
	for _, tt := range []struct {
		name, maps, detail string
		kind               error
	}{
		{"not a JVM", "7f0-7f1 r-xp 0 fe:00 1  /usr/bin/cat\n", "sonde ps", ErrNotJVM},
		{"one that reads libjvm.so", strings.ReplaceAll(hotSpot, "r-xp", "r--p"), "sonde ps", ErrNotJVM},
		{"OpenJ9", hotSpot + "7f0-7f1 r-xp 0 fe:00 1  /opt/jdk/lib/default/libj9vm29.so\n", "HotSpot", ErrOpenJ9},
		{"no handler of SIGQUIT", hotSpot, "SIGQUIT", ErrDisabled},
	} {
		_, err := preflight(fakeHost(t, os.Geteuid(), tt.maps), 7)
		var typed *Error
		if !errors.Is(err, tt.kind) || !errors.As(err, &typed) || typed.PID != 7 || !strings.Contains(err.Error(), tt.detail) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
