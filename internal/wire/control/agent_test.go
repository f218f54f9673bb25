package control

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// agent is the other end, played by a test. It does what it is told, right or
// wrong, and nothing by itself.
type agent struct {
	t      testing.TB
	conn   net.Conn
	reader *lineReader
	mu     sync.Mutex // of writing
}

func newAgent(t testing.TB, conn net.Conn) *agent {
	t.Cleanup(func() { conn.Close() })
	return &agent{t: t, conn: conn, reader: newLineReader(conn)}
}

// send is told nothing of a Sonde that has hung up: tests ask Sonde for that.
func (a *agent) send(kind Kind, request uint32, b body) {
	data, err := encode(kind, request, b)
	if err != nil {
		a.t.Errorf("the agent's %v: %v", kind, err)
		return
	}
	a.raw(data)
}

func (a *agent) raw(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.conn.Write(data)
}

// receive waits for a frame of a kind; others are not expected.
func (a *agent) receive(kind Kind) frame {
	a.t.Helper()
	f, err := readFrame(a.reader, MaxFrame)
	if err != nil || f.kind != kind {
		a.t.Errorf("the agent wants %v and gets %v: %v", kind, f.kind, err)
	}
	return f
}

func (a *agent) hello(token string) {
	a.send(KindHello, 2, hello{Hello{Protocol, "b1", "17.0.15", "java.lang.SondeRt"}, token})
}

// join does all that an agent does until its session has begun.
func (a *agent) join(s Secrets) {
	a.t.Helper()
	a.hello(s.Token)
	f := a.receive(KindWelcome)
	said, err := decode[welcome](f)
	if err != nil || said.proof != s.Proof || f.request != 2 {
		a.t.Errorf("the welcome %d is %+v: %v", f.request, said, err)
	}
	a.send(KindDone, a.receive(KindPing).request, nothing{})
}

// serve answers requests, each by its own goroutine, until the connection ends.
func (a *agent) serve(answer func(f frame)) {
	for {
		f, err := readFrame(a.reader, MaxFrame)
		if err != nil {
			return
		}
		if f.kind == KindPing {
			a.send(KindDone, f.request, nothing{})
			continue
		}
		go answer(f)
	}
}

// pipes is a listener whose callers are in this process.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{calls: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-l.calls:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// dial is nil when the door is shut.
func (l *pipes) dial(t testing.TB) *agent {
	here, there := net.Pipe()
	select {
	case l.calls <- here:
		return newAgent(t, there)
	case <-l.closed:
		return nil
	}
}

// quiet is a lease so long that no ping comes between.
const quiet = 24 * time.Hour

// accept runs Accept aside.
func accept(ctx context.Context, d *Door, check func(net.Conn) error) func() (*Peer, error) {
	var p *Peer
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, err = d.Accept(ctx, check)
	}()
	return func() (*Peer, error) {
		<-done
		return p, err
	}
}

// connect gives both ends of a session that has just begun.
func connect(t testing.TB, s Settings) (*Peer, *agent) {
	t.Helper()
	if s.Lease == 0 {
		s.Lease = quiet
	}
	l, secrets := newPipes(), NewSecrets()
	accepted := accept(t.Context(), Listen(l, secrets, s), nil)
	a := l.dial(t)
	a.join(secrets)
	p, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, a
}
