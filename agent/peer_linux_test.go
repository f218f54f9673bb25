package agent_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The frames the tests speak, by their numbers in docs/formats/control.md.
const (
	hello, welcome, refused, ping, done, failed = 1, 2, 3, 4, 5, 6
	mapArena, list, classes, fetch, original    = 10, 11, 12, 13, 14
	sees, seen, install, installed              = 15, 16, 17, 18
	probes, watch, restore, restored, bye       = 19, 20, 21, 22, 23
	threads, named, calibrate, calibrated       = 24, 25, 26, 27
	followMembers, change, watches, restoring   = 28, 29, 30, 31
	transform, woven, notice, leaves            = 40, 41, 42, 43
)

const (
	token = "00112233445566778899aabbccddeeff"
	proof = "ffeeddccbbaa99887766554433221100"
	lease = 60_000 // milliseconds
)

// patience only bounds a peer that hangs: no test depends on how long anything
// takes.
const patience = time.Minute

// A foothold is what Sonde prepares for the agent to find.
type foothold struct {
	jar, session string
	holder       string
	listener     net.Listener
}

func newFoothold(t *testing.T, tcp bool) foothold {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sonde-agent-test-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := foothold{jar: filepath.Join(dir, "agent.jar"), session: filepath.Join(dir, "session"), holder: "a test in " + dir}
	var address string
	if tcp {
		f.listener, err = net.Listen("tcp", "127.0.0.1:0")
	} else {
		f.listener, err = net.Listen("unix", filepath.Join(dir, "s"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.listener.Close() })
	if tcp {
		address = fmt.Sprintf("port=%d", f.listener.Addr().(*net.TCPAddr).Port)
	} else {
		address = "socket=" + f.listener.Addr().String()
	}
	text := fmt.Sprintf("jar=%s\n%s\ntoken=%s\nproof=%s\nholder=%s\n", f.jar, address, token, proof, f.holder)
	if err := errors.Join(os.WriteFile(f.jar, agent.AgentJar(), 0o600), os.WriteFile(f.session, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return f
}

// A peer is the test in Sonde's place.
type peer struct {
	t       *testing.T
	conn    net.Conn
	holder  string
	request uint32
}

type frame struct {
	kind    byte
	request uint32
	body    []byte
}

// accept waits for the agent and checks what it says of itself.
func (f foothold) accept(t *testing.T) *peer {
	t.Helper()
	conn, err := f.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: conn, holder: f.holder, request: 1}
	got := p.receive(hello)
	if protocol := got.u16(); protocol != 2 {
		t.Errorf("protocol %d", protocol)
	}
	if text := got.text(); text != token {
		t.Errorf("token %q", text)
	}
	if text := got.text(); text != agent.AgentBuild() {
		t.Errorf("build %q", text)
	}
	if text := got.text(); !strings.Contains(text, ".") {
		t.Errorf("Java version %q", text)
	}
	if text := got.text(); text != agent.HookClass() {
		t.Errorf("hook class %q", text)
	}
	if _, err := os.Stat(f.session); !os.IsNotExist(err) {
		t.Error("the session's file is still there")
	}
	return p
}

func (p *peer) welcome(proof string, lease uint32) {
	p.t.Helper()
	p.send(welcome, 0, binary.BigEndian.AppendUint32(text(proof), lease))
}

// ask sends a command and gives the request it is answered by.
func (p *peer) ask(kind byte, body []byte) {
	p.t.Helper()
	p.request += 2
	p.send(kind, p.request, body)
}

func (p *peer) send(kind byte, request uint32, body []byte) {
	p.t.Helper()
	data := binary.BigEndian.AppendUint32(nil, uint32(5+len(body)))
	data = binary.BigEndian.AppendUint32(append(data, kind), request)
	if _, err := p.conn.Write(append(data, body...)); err != nil {
		p.t.Fatal(err)
	}
}

// receive reads a frame, which must be of this kind.
func (p *peer) receive(kind byte) *frame {
	p.t.Helper()
	got := p.next()
	for got.kind == restoring && kind == restored {
		got = p.next() // how far it is
	}
	if got.kind == failed && kind != failed {
		p.t.Fatalf("the agent failed: %s", got.text())
	}
	if got.kind != kind {
		p.t.Fatalf("a frame of kind %d, want %d: %q", got.kind, kind, got.body)
	}
	return got
}

// reply is receive for the answer to what was asked last.
func (p *peer) reply(kind byte) *frame {
	p.t.Helper()
	got := p.receive(kind)
	if got.request != p.request {
		p.t.Fatalf("a reply to %d, want %d", got.request, p.request)
	}
	return got
}

func (p *peer) next() *frame {
	p.t.Helper()
	head := make([]byte, 9)
	if _, err := io.ReadFull(p.conn, head); err != nil {
		p.t.Fatal(err)
	}
	got := &frame{kind: head[4], request: binary.BigEndian.Uint32(head[5:]), body: make([]byte, binary.BigEndian.Uint32(head)-5)}
	if _, err := io.ReadFull(p.conn, got.body); err != nil {
		p.t.Fatal(err)
	}
	return got
}

// ended waits for the agent to hang up, and does so too. The agent may say why it leaves.
func (p *peer) ended() {
	p.t.Helper()
	rest, err := io.ReadAll(p.conn)
	if isReason := len(rest) > 9 && rest[4] == leaves && int(binary.BigEndian.Uint32(rest)) == len(rest)-4; err != nil || len(rest) > 0 && !isReason {
		p.t.Fatalf("read %q, %v; want the end of the line", rest, err)
	}
	p.conn.Close()
}

func (f *frame) take(n int) []byte {
	taken := f.body[:n]
	f.body = f.body[n:]
	return taken
}

func (f *frame) u8() byte    { return f.take(1)[0] }
func (f *frame) u16() uint16 { return binary.BigEndian.Uint16(f.take(2)) }
func (f *frame) u32() uint32 { return binary.BigEndian.Uint32(f.take(4)) }
func (f *frame) u64() uint64 { return binary.BigEndian.Uint64(f.take(8)) }

func (f *frame) bytes() []byte { return f.take(int(f.u32())) }
func (f *frame) text() string  { return string(f.bytes()) }

func text(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func numbers(ns ...uint32) []byte {
	body := binary.BigEndian.AppendUint32(nil, uint32(len(ns)))
	for _, n := range ns {
		body = binary.BigEndian.AppendUint32(body, n)
	}
	return body
}

// The thread that waits for an invitation outlives an interrupt, and neither it
// nor a Sonde that is refused is measured: the program alone is.
func TestStandbyAndTheRefusedAreNotMeasured(t *testing.T) {
	t.Parallel()
	d := doors(t)[1]
	live := liveTemplate(t)
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", "Guest.java")}})
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(append([]string{}, d.args...), "-cp", dir, "Guest")})
			meet(t, target, d, false).leave() // so the thread is there, and waits
			g := &guest{target: target, classes: dir, weaver: weave.NewWeaver(), live: live, peer: &peer{t: t}}
			if got := g.tell("interrupt", 1); got != "interrupt 1" {
				t.Fatal(got)
			}
			g.peer = meet(t, target, d, false)
			a, _ := g.mapArena()
			g.hookInto("java/io/File", "exists")
			g.hookInto("java/util/ArrayDeque", "addLast")
			exists := weave.MethodID(classfile.MethodRef{Class: "java/io/File", Name: "exists", Descriptor: "()Z"})
			g.switchOn(exists, weave.MethodID(classfile.MethodRef{Class: "java/util/ArrayDeque", Name: "addLast", Descriptor: "(Ljava/lang/Object;)V"}))
			for range 2 {
				second := meet(t, target, d, false)
				second.receive(refused)
				second.ended()
			}
			if got := g.tell("exists", 7); got != "exists 7" {
				t.Error(got)
			}
			sum, err := a.Sum(0)
			if err != nil || len(sum.Methods) != 1 || sum.Methods[uint32(exists)] == nil || sum.Methods[uint32(exists)].Calls != 7 {
				t.Errorf("%+v, %v; want 7 calls of one method", sum, err)
			}
			g.leave()
			isGone(t, target)
		})
	}
}

// hookInto puts hooks into the methods of this name of a class of the JDK.
func (g *guest) hookInto(class, method string) {
	g.t.Helper()
	g.weaveInto(class, g.live, func(m weave.MethodInfo) bool { return m.Name == method })
}

// weaveInto puts a template into methods of a class of the JDK.
func (g *guest) weaveInto(class string, template *weave.Template, isWanted func(weave.MethodInfo) bool) {
	g.t.Helper()
	g.ask(install, numbers(g.list()[strings.ReplaceAll(class, "/", ".")][0].handle))
	question := g.receive(transform)
	question.take(8) // class and loader
	if name := question.text(); name != class {
		g.t.Fatal(name)
	}
	g.send(woven, question.request, append(text(g.weaveWith(question.bytes(), template, isWanted)), text("")...))
	g.reply(installed)
}

// TestOnlyTheAgentControlsHooks: classes of the program find the class, but cannot call it.
func TestOnlyTheAgentControlsHooks(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.mapArena()
		control := "control:" + strings.ReplaceAll(agent.HookClass(), "/", ".") + "Control"
		if got := g.tell(control, 1); got != control+" 0" {
			t.Errorf("%s methods can be called", got)
		}
		g.tell("work", 1)
		g.hook() // and the agent can still
		g.leave()
		isGone(t, g.target)
	})
}

// TestForgedTokensChangeNothing: the exits of hooks can be called with any token, which must neither change memory that is not
// the caller's, nor what other calls count.
func TestForgedTokensChangeNothing(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		a, _ := g.mapArena()
		g.hook()
		forge := fmt.Sprintf("forge:%s:%d", strings.ReplaceAll(agent.HookClass(), "/", "."), a.Epoch())
		if got := g.tell(forge, 1); got != forge+" 20000" { // of a thread that has counted nothing
			t.Error(got)
		}
		for range 3 {
			g.tell("work", 100)
			g.tell(forge, 1)
			g.tell("threads", 1)
		}
		if got, want := calls(t, a, "Guest$Work"), uint64(3*(100+2)); got != want {
			t.Errorf("%d calls, want %d", got, want)
		}
		g.leave()
		isGone(t, g.target)
	})
}

// What would harm the program is refused, and the session goes on.
func TestValuesThatCannotBeAreRefused(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		file := filepath.Join(t.TempDir(), "arena")
		const tooLong = 1<<30 + 1
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, tooLong); err != nil {
			t.Fatal(err)
		}
		refuse := func(kind byte, body []byte, want string) {
			t.Helper()
			g.ask(kind, body)
			if got := g.reply(failed).text(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		body := binary.BigEndian.AppendUint64(text(file), tooLong)
		refuse(mapArena, binary.BigEndian.AppendUint32(body, 1),
			"java.io.IOException: an arena of 1073741825 bytes cannot be mapped")
		g.mapArena()
		full := binary.BigEndian.AppendUint32(nil, 2)
		full = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(full, 1<<32|1), 2<<32|1)
		refuse(probes, full, "the table of probes has no empty entry")
		entries := func(words ...uint64) []byte {
			body := binary.BigEndian.AppendUint32(nil, uint32(len(words)))
			for _, entry := range words {
				body = binary.BigEndian.AppendUint64(body, entry)
			}
			return body
		}
		const noRoom = "there is no table of probes, or no room in it"
		refuse(change, entries(3<<32|1), noRoom)
		g.ask(probes, entries(0, 0, 2<<32, 0))
		g.reply(done)
		refuse(change, entries(3<<32, 4<<32, 5<<32), noRoom)
		g.ask(change, entries(2<<32|1, 6<<32, 7<<32)) // the first is there already
		g.reply(done)
		refuse(change, entries(8<<32), noRoom)
		table := func(member string, words ...uint64) []byte {
			body := append([]byte{0, 0}, entries(words...)...)
			if member == "" {
				return append(body, make([]byte, 8)...)
			}
			body = append(binary.BigEndian.AppendUint32(body, 1), text(member)...)
			return append(body, make([]byte, 8)...)
		}
		const notEntries = "the size of the table of watches is not a power of two"
		refuse(watches, table("", 1<<32|1, 0, 0), notEntries)
		refuse(watches, table("", make([]uint64, 12)...), notEntries)
		refuse(watches, table("", 1<<32|1, 0, 0, 0), "the table of watches has no empty entry")
		refuse(watches, table("nowhere", make([]uint64, 8)...), "java.lang.IllegalArgumentException: not a method: nowhere")
		for _, asked := range [][]byte{
			calibration(1_000_001, arena.On, 0, 0), calibration(1<<31, arena.On, 0, 0),
			calibration(1, arena.On, 1, 1_000_001), calibration(1, arena.On, 1, 1<<31), calibration(1, arena.On, 4, 1),
		} {
			refuse(calibrate, asked, "that is more than 1000000 rounds or steps, or a body of an unknown kind")
		}
		g.leave()
	})
}
