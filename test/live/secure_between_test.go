package live_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
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

// call has the agent loaded and told where to dial.
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
	mapped, err := arena.Create(file.File(), file.Allocated(), arena.Owner{Target: b.s.jvm, Sonde: os.Getpid()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = mapped.Close() })
	if err := b.peer.Map(context.Background(), file.Path(), uint64(mapped.Length()), mapped.Epoch()); err != nil {
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
