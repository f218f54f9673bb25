package live_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// A camp is what Sonde prepares beside a program before it calls the agent.
type camp struct {
	*targetfs.Foothold
	t        *testing.T
	s        *scene
	jar      *targetfs.Jar
	listener *targetfs.Listener
	secrets  control.Secrets
}

func pitch(s *scene, listen func(*targetfs.Foothold) (*targetfs.Listener, error)) *camp {
	s.t.Helper()
	jvm, err := process.Local.Inspect(s.jvm)
	if err != nil {
		s.t.Fatal(err)
	}
	f, err := targetfs.Make(jvm)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &camp{Foothold: f, t: s.t, s: s, secrets: control.NewSecrets()}
	s.t.Cleanup(func() { _ = f.Remove() })
	if c.jar, err = f.PlaceJar(agent.AgentJar()); err != nil {
		s.t.Fatal(err)
	}
	if c.listener, err = listen(f); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// strike takes it all away.
func (c *camp) strike() {
	c.t.Helper()
	_ = c.listener.Close() // a door that was shut has done so
	if err := c.Remove(); err != nil {
		c.t.Error(err)
	}
}

// call loads the agent, with the address it has to dial.
func (c *camp) call() {
	c.t.Helper()
	path, err := c.WriteSession(targetfs.Session{
		Jar: c.jar.Path, Socket: c.listener.Socket, Port: c.listener.Port,
		Token: c.secrets.Token, Proof: c.secrets.Proof, Holder: "a test",
	})
	if err != nil {
		c.t.Fatal(err)
	}
	conn, err := attach.Open(context.Background(), c.s.jvm)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.LoadAgent(context.Background(), c.jar.Path, path); err != nil {
		c.t.Fatal(err)
	}
}

// A between is someone who can put words into the mouths of both Sonde and the
// agent, which otherwise speak with each other. A class of the program has hooks.
type between struct {
	*camp
	peer  *control.Peer
	sonde net.Conn // what is written to it Sonde hears
	agent net.Conn // what is written to it the agent hears

	lock   sync.Mutex
	mangle map[control.Kind]func(frame []byte) []byte // what becomes of Sonde's frames
}

// hooked is the class that has hooks.
const hooked = "neighbour.Spoken"

func come(s *scene) *between {
	s.t.Helper()
	b := &between{camp: pitch(s, (*targetfs.Foothold).Listen), mangle: make(map[control.Kind]func([]byte) []byte)}
	door := control.Listen(&eavesdropper{b.listener, b}, b.secrets, control.Settings{Weave: b.weave})
	b.call()
	var err error
	if b.peer, err = door.Accept(context.Background(), nil); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = b.peer.Close() })
	b.mapArena()
	return b
}

func (b *between) mapArena() {
	b.t.Helper()
	file, err := b.Arena(1<<20, 1<<20)
	if err != nil {
		b.t.Fatal(err)
	}
	mapped, err := arena.Create(file.File, file.Allocated(), arena.Owner{Target: b.s.jvm, Sonde: os.Getpid()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = mapped.Close() })
	if err := b.peer.Map(context.Background(), file.Path, uint64(mapped.Length()), mapped.Epoch()); err != nil {
		b.t.Fatal(err)
	}
}

// install puts hooks into the class.
func (b *between) install() (control.Installed, error) {
	b.t.Helper()
	classes, err := b.peer.List(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	var handle uint32
	for _, class := range classes {
		if class.Name == hooked {
			handle = class.Handle
		}
	}
	return b.peer.Install(context.Background(), []uint32{handle})
}

func (b *between) weave(_ context.Context, class control.Transform) (control.Woven, error) {
	live, err := weave.CompileTemplate(agent.LiveTemplate())
	if err != nil {
		return control.Woven{}, err
	}
	result, err := weave.NewWeaver().Weave(class.Bytes, func(m weave.MethodInfo) []*weave.Template {
		if m.Name == "<init>" || m.Name == "<clinit>" {
			return nil
		}
		return []*weave.Template{live}
	})
	return control.Woven{New: result.Bytes}, err
}

// An eavesdropper hands connections on with someone in between.
type eavesdropper struct {
	*targetfs.Listener
	b *between
}

func (e *eavesdropper) Accept() (net.Conn, error) {
	conn, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	ours, sondes := net.Pipe()
	e.b.sonde, e.b.agent = ours, conn
	go func() {
		_, _ = io.Copy(ours, conn)
		_ = ours.Close()
	}()
	go func() {
		e.b.copyFrames(conn, ours)
		_ = conn.Close()
	}()
	return sondes, nil
}

// copyFrames hands on what Sonde says, until either end is gone.
func (b *between) copyFrames(to io.Writer, from io.Reader) {
	for {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(from, frame[4:]); err != nil {
			return
		}
		b.lock.Lock()
		change := b.mangle[control.Kind(frame[4])]
		b.lock.Unlock()
		if change != nil {
			frame = change(frame)
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

func frame(kind control.Kind, request uint32, body ...[]byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0, byte(kind)}, request)
	for _, part := range body {
		out = append(out, part...)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

func u32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func u64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
func text(s string) []byte {
	return append(u32(uint32(len(s))), s...)
}

// write says something that the other end may refuse to hear to its end.
func write(conn net.Conn, data []byte) {
	_, _ = conn.Write(data)
}

// forgedForTheAgent are frames in Sonde's name that the agent must not take. Each
// readable frame stands for three: cut off, too long, and said to hold more.
func forgedForTheAgent() map[string][]byte {
	forged := map[string][]byte{
		"no length":         {0, 0, 0, 0, byte(control.KindPing), 0, 0, 0, 9},
		"a short length":    {0, 0, 0, 4, byte(control.KindPing), 0, 0, 9},
		"64 MiB and a byte": {4, 0, 0, 1, byte(control.KindWoven), 0, 0, 0, 2},
		"a negative length": {255, 255, 255, 255, byte(control.KindWoven), 0, 0, 0, 2},
		"WELCOME again":     frame(control.KindWelcome, 0, text("00112233445566778899aabbccddeeff"), u32(1)),
		"REFUSED":           frame(control.KindRefused, 0, text("someone else")),
		"counts more":       frame(control.KindInstall, 901, u32(1<<30), u32(1)),
		"counts below 0":    frame(control.KindFetch, 901, u32(1<<31), u32(1)),
		"a longer string":   frame(control.KindMap, 901, u32(1<<31-1), []byte("/tmp"), u64(8), u32(1)),
		"a negative string": frame(control.KindMap, 901, u32(1<<31), []byte("/tmp"), u64(8), u32(1)),
	}
	for _, unknown := range []control.Kind{0, 7, 29, 43, 128, 255} {
		forged[fmt.Sprintf("kind %d", unknown)] = frame(unknown, 901)
	}
	for _, own := range []control.Kind{
		control.KindHello, control.KindDone, control.KindClasses, control.KindOriginal, control.KindSeen, control.KindInstalled,
		control.KindRestored, control.KindNamed, control.KindCalibrated, control.KindTransform, control.KindNotice,
	} {
		forged["the agent's own "+own.String()] = frame(own, 901, text("x"))
	}
	for kind, body := range map[control.Kind][]byte{
		control.KindPing: nil, control.KindList: nil, control.KindRestore: nil, control.KindThreads: nil, control.KindBye: nil,
		control.KindMap:       append(append(text("/dev/shm/none"), u64(1<<20)...), u32(1)...),
		control.KindFetch:     append(u32(1), u32(1)...),
		control.KindSees:      append(u32(1), u32(1)...),
		control.KindInstall:   append(u32(1), u32(1)...),
		control.KindProbes:    append(u32(1), u64(1)...),
		control.KindWatch:     append(append(u32(1), append(text("a"), text("b")...)...), u32(0)...),
		control.KindCalibrate: append(append(append(u32(1), u32(1)...), 1), u32(1)...),
		control.KindFollow:    {1},
	} {
		if len(body) > 0 {
			forged[kind.String()+" cut off"] = frame(kind, 901, body[:len(body)-1])
			forged[kind.String()+" empty"] = frame(kind, 901)
		}
		forged[kind.String()+" with more"] = frame(kind, 901, body, []byte{0})
	}
	return forged
}

// TestAgentTakesNoForgedFrame checks that a frame that cannot be read ends the
// session: hooks are out, the arena is unmapped, the code is what it was. Outside
// a soak the JDKs take turns at the frames.
func TestAgentTakesNoForgedFrame(t *testing.T) {
	forged := forgedForTheAgent()
	t.Logf("%d frames", len(forged))
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		for i, name := range slices.Sorted(maps.Keys(forged)) {
			if !jvmtest.Turn(t, jdk, i, len(forged)) {
				continue
			}
			words := forged[name]
			b := come(s)
			if installed, err := b.install(); err != nil || installed.Err != "" {
				t.Fatalf("%s: %v %s", name, err, installed.Err)
			}
			write(b.agent, words)
			<-b.peer.Done()
			if err := b.peer.Err(); !errors.Is(err, control.ErrHungUp) {
				t.Errorf("%s: the agent went on: %v", name, err)
			}
			s.hangsUp(name, b, before)
		}
		b := come(s)
		if _, err := b.install(); err != nil {
			t.Fatal(err)
		}
		write(b.agent, frame(control.KindList, 901)[:6]) // and then nothing, for ever
		_ = b.agent.Close()
		s.hangsUp("dies in a frame", b, before)
		s.StopLoad()
		s.Check()
	})
}

// hangsUp waits for the agent's end, and demands that everything is back.
func (s *scene) hangsUp(name string, b *between, before state) {
	s.t.Helper()
	eventually(s.t, name+": the agent hangs up", func() bool { return b.peer.Err() != nil })
	if err := b.peer.Err(); !errors.Is(err, control.ErrLost) || strings.Contains(err.Error(), "\n") {
		s.t.Errorf("%s: %v", name, err)
	}
	b.strike()
	s.gone()
	for _, line := range before.code.DiffMeaning(before.oracle.Methods(s.prefixes()...)) {
		s.t.Errorf("%s: changed %s", name, line)
	}
	s.moves()
}

// TestSondeTakesNoForgedFrame holds that Sonde says in a line what it was sent,
// and that the agent, which did not send it, puts everything back.
func TestSondeTakesNoForgedFrame(t *testing.T) {
	forged := map[string]struct {
		words  []byte
		reason error
	}{
		"too long":           {[]byte{4, 0, 0, 1, byte(control.KindNotice), 0, 0, 0, 0}, control.ErrTooLong},
		"a negative length":  {[]byte{255, 255, 255, 255}, control.ErrTooLong},
		"no length":          {[]byte{0, 0, 0, 0, 0, 0, 0, 0, 0}, control.ErrMalformed},
		"kind 0":             {frame(0, 0), control.ErrUnknownKind},
		"kind 99":            {frame(99, 0), control.ErrUnknownKind},
		"HELLO again":        {frame(control.KindHello, 0, []byte{0, 1}, text(""), text(""), text(""), text("")), control.ErrOutOfTurn},
		"REFUSED late":       {frame(control.KindRefused, 0, text("x")), control.ErrOutOfTurn},
		"Sonde's own":        {frame(control.KindBye, 1), control.ErrOutOfTurn},
		"DONE to nothing":    {frame(control.KindDone, 90001), control.ErrOutOfTurn},
		"CLASSES to nothing": {frame(control.KindClasses, 90001, []byte{1}, u32(0)), control.ErrOutOfTurn},
		"NOTICE cut off":     {frame(control.KindNotice, 0, u32(5), []byte("four")), control.ErrMalformed},
		"NOTICE with more":   {frame(control.KindNotice, 0, text("x"), []byte{0}), control.ErrMalformed},
		"TRANSFORM cut off":  {frame(control.KindTransform, 2, u32(1), u32(1), text("x")), control.ErrMalformed},
		"odd TRANSFORM":      {frame(control.KindTransform, 3, u32(1), u32(1), text("x"), text("")), control.ErrOutOfTurn},
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		for i, name := range slices.Sorted(maps.Keys(forged)) {
			if !jvmtest.Turn(t, jdk, i, len(forged)) {
				continue
			}
			tt := forged[name]
			b := come(s)
			if installed, err := b.install(); err != nil || installed.Err != "" {
				t.Fatalf("%s: %v %s", name, err, installed.Err)
			}
			write(b.sonde, tt.words)
			<-b.peer.Done()
			if err := b.peer.Err(); !errors.Is(err, tt.reason) {
				t.Errorf("%s: %v, want %v", name, err, tt.reason)
			}
			s.hangsUp(name, b, before)
		}
		s.StopLoad()
		s.Check()
	})
}

// TestAgentIsAskedForTheImpossible holds that what can be read and not be done
// is answered, and does nothing.
func TestAgentIsAskedForTheImpossible(t *testing.T) {
	jvmtest.OnEach(t, jvmtest.OneJDK(t), func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		b := come(s)
		ctx := t.Context()
		precious := t.TempDir() + "/precious"
		if err := os.WriteFile(precious, make([]byte, 4096), 0o644); err != nil {
			t.Fatal(err)
		}
		var failed *control.FailedError
		for what, err := range map[string]error{
			"a second arena":     b.peer.Map(ctx, precious, 4096, 1),
			"no power of two":    b.peer.Probes(ctx, make([]uint64, 3)),
			"no such directory":  b.peer.Map(ctx, "/none/such", 4096, 1),
			"an impossible size": b.peer.Map(ctx, precious, 1<<62, 1),
		} {
			if err == nil || (what != "no power of two" && !errors.As(err, &failed)) {
				t.Errorf("%s: %v", what, err)
			}
		}
		installed, err := b.peer.Install(ctx, []uint32{1 << 30})
		if err != nil || len(installed.Gone) != 1 {
			t.Errorf("a class that is not there: %+v, %v", installed, err)
		}
		b.lock.Lock()
		b.mangle[control.KindWoven] = func(whole []byte) []byte {
			request := uint32(whole[5])<<24 | uint32(whole[6])<<16 | uint32(whole[7])<<8 | uint32(whole[8])
			return frame(control.KindWoven, request, text("\xca\xfe\xba\xbe and no class"), text(""))
		}
		b.lock.Unlock()
		if installed, err = b.install(); err != nil || installed.Err == "" {
			t.Errorf("a class that is none went in: %+v, %v", installed, err)
		}
		b.lock.Lock()
		b.mangle[control.KindWoven] = func(whole []byte) []byte {
			request := uint32(whole[5])<<24 | uint32(whole[6])<<16 | uint32(whole[7])<<8 | uint32(whole[8])
			return frame(control.KindWoven, request, u32(1<<20), []byte("short"))
		}
		b.lock.Unlock()
		_, _ = b.install() // ends with the session, before or after its answer
		s.hangsUp("WOVEN cut off", b, before)
		if content, err := os.ReadFile(precious); err != nil || strings.Trim(string(content), "\x00") != "" {
			t.Errorf("a file was written to: %v", err)
		}
		s.StopLoad()
		s.Check()
	})
}

// TestImpostorInSondesPlace answers the agent as someone who does not know the
// proof: whatever it says, no hook class is defined and nothing is changed.
func TestImpostorInSondesPlace(t *testing.T) {
	answers := map[string]func(token string) []byte{
		"a wrong proof": func(string) []byte {
			return frame(control.KindWelcome, 0, text(control.NewSecrets().Proof), u32(60_000))
		},
		"the agent's token":   func(token string) []byte { return frame(control.KindWelcome, 0, text(token), u32(60_000)) },
		"no proof":            func(string) []byte { return frame(control.KindWelcome, 0, text(""), u32(60_000)) },
		"a WELCOME cut off":   func(string) []byte { return frame(control.KindWelcome, 0, text("x")) },
		"an order at once":    func(string) []byte { return frame(control.KindMap, 1, text("/dev/shm/x"), u64(1<<20), u32(1)) },
		"classes to be woven": func(string) []byte { return frame(control.KindInstall, 1, u32(1), u32(1)) },
		"too much":            func(string) []byte { return append(u32(4097), make([]byte, 4097)...) },
		"a negative length":   func(string) []byte { return u32(1 << 31) },
		"a WELCOME and orders": func(string) []byte {
			return append(frame(control.KindWelcome, 0, text("x"), u32(1)), frame(control.KindList, 1)...)
		},
		"refusal": func(string) []byte { return frame(control.KindRefused, 0, text("no")) },
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		for i, name := range slices.Sorted(maps.Keys(answers)) {
			if !jvmtest.Turn(t, jdk, i, len(answers)) {
				continue
			}
			answer := answers[name]
			c := pitch(s, (*targetfs.Foothold).Listen)
			c.call()
			conn, err := c.listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			hello := make([]byte, 4096)
			if n, err := conn.Read(hello); err != nil || n < 9 || control.Kind(hello[4]) != control.KindHello {
				t.Fatalf("%s: %d bytes of %d, %v", name, n, hello[4], err)
			}
			write(conn, answer(c.secrets.Token))
			cutOff(t, name, conn)
			c.strike()
			s.asItWas(before)
		}
		if found := before.oracle.Methods("java.lang.SondeHooks"); len(found) > 0 {
			t.Errorf("hooks were defined for an impostor: %v", found)
		}
		s.moves()
		s.StopLoad()
		s.Check()
	})
}

// cutOff demands that the other end hangs up and says nothing.
func cutOff(t *testing.T, name string, conn net.Conn) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if len(said) > 0 || err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("%s: the reply was %q, %v", name, said, err)
	}
	_ = conn.Close()
}

// TestStrangersAtTheDoor dials where the agent is expected, with whatever one
// could try who does not know the token; the agent still gets through. On the
// loopback everybody can dial.
func TestStrangersAtTheDoor(t *testing.T) {
	hello := func(token string) []byte {
		return frame(control.KindHello, 0, []byte{0, control.Protocol}, text(token), text("build"), text("17"), text("java/lang/SondeHooks"))
	}
	strangers := map[string][]byte{
		"a wrong token":  hello(control.NewSecrets().Token),
		"no token":       hello(""),
		"a long HELLO":   append(u32(5000), make([]byte, 5000)...),
		"another frame":  frame(control.KindNotice, 0, text("let me in")),
		"HELLO cut off":  hello("x")[:12],
		"nothing at all": nil,
	}
	jvmtest.OnEach(t, jvmtest.OneJDK(t), func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour)
		s.Run(1)
		c := pitch(s, (*targetfs.Foothold).ListenLoopback)
		door := control.Listen(c.listener, c.secrets, control.Settings{})
		accepted := make(chan error, 1)
		var peer *control.Peer
		go func() {
			var err error
			peer, err = door.Accept(context.Background(), nil)
			accepted <- err
		}()
		var waiting []net.Conn
		for name, words := range strangers {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.listener.Port))
			if err != nil {
				t.Fatal(err)
			}
			write(conn, words)
			if name == "nothing at all" || name == "HELLO cut off" {
				waiting = append(waiting, conn) // it is cut off when the door shuts
				continue
			}
			cutOff(t, name, conn)
		}
		c.call()
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
		for _, conn := range waiting {
			cutOff(t, "a silent one", conn)
		}
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.listener.Port)); err == nil {
			write(conn, hello(c.secrets.Token)) // even the right one comes too late
			cutOff(t, "a late one", conn)
		}
		if _, err := peer.Bye(context.Background(), func(control.Restoring) {}); err != nil && !errors.Is(err, control.ErrLost) {
			t.Error(err)
		}
		c.strike()
		s.gone()
		s.Check()
	})
}

// intruder names, in the environment of this binary run again as nobody, the
// process whose session it is to break into.
const intruder = "SONDE_LIVE_INTRUDER"

// TestAnotherLocalUser lets the user nobody try everything on a session of a
// program that is not its own.
func TestAnotherLocalUser(t *testing.T) {
	if target := os.Getenv(intruder); target != "" {
		intrude(t, target)
		return
	}
	jvmtest.AsNobody(t)
	jvmtest.OnEach(t, jvmtest.OneJDK(t), func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.JavaAgent(agentJar(t)), live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		ticket, err := os.ReadFile(ticketOf(s.jvm))
		if err != nil {
			t.Fatal(err)
		}
		visit := s.enter("the owner's")
		visit.hook(0, "neighbour.**", "hammer.**")
		since := s.Counts()
		arenas := s.files()
		for _, path := range arenas {
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		if !strings.Contains(strings.Join(arenas, " "), ".arena") {
			t.Errorf("no arena among %q", arenas)
		}
		c := pitch(s, (*targetfs.Foothold).ListenUnix)
		path, err := c.WriteSession(targetfs.Session{Jar: c.jar.Path, Socket: c.listener.Socket, Token: c.secrets.Token, Proof: c.secrets.Proof, Holder: "bait"})
		if err != nil {
			t.Fatal(err)
		}
		asNobody(t, fmt.Sprintf("%s=%d %s", intruder, s.jvm, path))
		c.strike()
		s.Run(2)
		visit.exact(s, since)
		if err := visit.Err(); err != nil {
			t.Error(err)
		}
		visit.leave()
		invitation := fmt.Sprintf("/tmp/.sonde_invite%d", s.jvm)
		eventually(t, "the forged invitation is thrown away", func() bool {
			_, err := os.Lstat(invitation)
			return errors.Is(err, fs.ErrNotExist)
		})
		if now, err := os.ReadFile(ticketOf(s.jvm)); err != nil || !bytes.Equal(now, ticket) {
			t.Errorf("the ticket was %q, is %q, %v", ticket, now, err)
		}
		s.enter("the owner's again").leave()
		s.Check()
		s.asItWas(before)
	})
}

func ticketOf(pid int) string { return fmt.Sprintf("/tmp/.sonde_pid%d", pid) }

// asNobody runs the top-level test of this one again as nobody.
func asNobody(t *testing.T, variable string) {
	t.Helper()
	binary := filepath.Join(jvmtest.PublicDirectory(t), "intruder.test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	words := append(jvmtest.AsNobody(t), binary, "-test.run=^"+name+"$", "-test.v", "-test.timeout="+patience.String())
	again := exec.Command(words[0], words[1:]...)
	again.Env = append(os.Environ(), variable, "HOME=/nonexistent")
	again.Dir = filepath.Dir(binary)
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// intrude is what nobody does. Whatever works is a failure.
func intrude(t *testing.T, target string) {
	word, path, _ := strings.Cut(target, " ")
	pid, err := strconv.Atoi(word)
	if err != nil || os.Geteuid() == 0 {
		t.Fatalf("not in a position to try: %v, user %d", err, os.Geteuid())
	}
	directory := filepath.Dir(path)
	arenas, _ := filepath.Glob(fmt.Sprintf("/dev/shm/sonde-%d-*.arena", pid))
	if len(arenas) == 0 {
		t.Error("there is no arena to try")
	}
	refused := func(what string, err error) {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	open := func(path string, flags int) {
		file, err := os.OpenFile(path, flags, 0o600)
		if err == nil {
			_ = file.Close()
		}
		refused("opening "+path, err)
	}
	for _, path := range append(arenas, path, ticketOf(pid)) {
		open(path, os.O_RDONLY)
		open(path, os.O_RDWR)
		refused("removing "+path, os.Remove(path))
		refused("renaming "+path, os.Rename(path, path+".mine"))
		refused("linking "+path, os.Link(path, path+".link"))
		refused("opening up "+path, os.Chmod(path, 0o777))
	}
	_, err = os.ReadDir(directory)
	refused("listing the foothold", err)
	open(directory+"/more", os.O_CREATE|os.O_RDWR)
	_, err = net.Dial("unix", directory+"/socket")
	refused("dialling", err)
	if _, err := session.Open(t.Context(), pid, session.Settings{Command: "nobody's"}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a session of another user's JVM: %v", err)
	}
	// An invitation to a session of the intruder's own, with a ticket it can only guess.
	own := fmt.Sprintf("00112233445566778899aabbccddeeff\n%s\n", filepath.Join(t.TempDir(), "session"))
	if err := os.WriteFile(fmt.Sprintf("/tmp/.sonde_invite%d", pid), []byte(own), 0o644); err != nil {
		t.Error(err)
	}
}

// TestPathsAreTakenBeforeUs puts things of another user where Sonde's files go
// that have names one can know: Sonde follows none and writes to none.
func TestPathsAreTakenBeforeUs(t *testing.T) {
	const nobody = 65534
	wrap := jvmtest.OtherNamespaces(t, "rw")
	jvmtest.OnEach(t, jvmtest.OneJDK(t), func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Door{Name: "own /tmp", Wrap: wrap}, live.Neighbour, live.Hammer)
		s.Run(1)
		root := fmt.Sprintf("/proc/%d/root/tmp", s.jvm)
		precious := filepath.Join(root, "precious")
		if err := os.WriteFile(precious, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		theirs := func(err error, names ...string) {
			for _, name := range names {
				err = errors.Join(err, os.Lchown(filepath.Join(root, name), nobody, nobody))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		take := map[string]func(){
			"a directory":      func() { theirs(os.Mkdir(filepath.Join(root, ".sonde-0"), 0o777), ".sonde-0") },
			"a link to a file": func() { theirs(os.Symlink("/tmp/precious", filepath.Join(root, ".sonde-0")), ".sonde-0") },
			"a link to a directory": func() {
				theirs(errors.Join(os.Mkdir(filepath.Join(root, "theirs"), 0o777), os.Symlink("/tmp/theirs", filepath.Join(root, ".sonde-0"))), "theirs", ".sonde-0")
			},
			"a ticket": func() {
				theirs(os.WriteFile(filepath.Join(root, ".sonde_pid1"), []byte(control.NewSecrets().Token+"\n"), 0o600), ".sonde_pid1")
			},
		}
		for name, prepare := range take {
			prepare()
			visit := s.enter(name)
			visit.hook(arena.Flat, "neighbour.**")
			since := s.Counts()
			s.Run(1)
			visit.exact(s, since)
			visit.leave()
			for _, left := range []string{".sonde-0", "theirs"} {
				// With a ticket alone nothing is in the way of the usual directory.
				if entries, _ := os.ReadDir(filepath.Join(root, left)); len(entries) > 0 && name != "a ticket" {
					t.Errorf("%s: something was put into %s: %v", name, left, entries)
				}
				_ = os.RemoveAll(filepath.Join(root, left))
			}
			_ = os.Remove(filepath.Join(root, ".sonde_pid1"))
		}
		// Where the usual directory was taken the jar is in the session's own, and stays with the
		// program, which has it on its class path.
		kept, _ := filepath.Glob(filepath.Join(root, ".sonde-1-*"))
		for _, directory := range kept {
			entries, err := os.ReadDir(directory)
			if err != nil || len(entries) != 2 || !strings.HasPrefix(entries[0].Name(), "agent-") || entries[1].Name() != "used-1" {
				t.Errorf("%s: %v, %v", directory, entries, err)
			}
		}
		if len(kept) != len(take)-1 {
			t.Errorf("the jar lies in %q", kept)
		}
		if content, err := os.ReadFile(precious); err != nil || string(content) != "kept" {
			t.Errorf("a file that a link led to holds %q, %v", content, err)
		}
		s.Check()
		s.gone()
	})
}
