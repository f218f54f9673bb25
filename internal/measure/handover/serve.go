package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// A Holding carries out the requests that a Server receives, one at a time.
type Holding interface {
	// Apply applies the set, or with dryRun returns what that would change.
	Apply(ctx context.Context, set *probeset.Set, dryRun bool) (*Outcome, error)
	// Wanted returns the set that is applied.
	Wanted() *probeset.Set
	Status() *Status
	// End begins to leave the JVM and does not wait for it: Server.Close ends the wait.
	End()
}

// Time limits, and the number of calls at the same time.
const (
	askPatience    = 5 * time.Second // to receive a request, and to send an answer
	applyPatience  = 2 * time.Minute // to apply a set
	endPatience    = 1 * time.Minute // to leave a JVM
	maxCalls       = 8               // at the same time
	dialPatience   = 2 * time.Second // to connect to a socket
	answerPatience = applyPatience + 10*time.Second
)

// Server answers requests about one JVM.
type Server struct {
	holding  Holding
	listener *net.UnixListener
	path     string
	uid      uint32

	calls sync.WaitGroup
	room  chan struct{} // holds an element for each running call
	turn  sync.Mutex    // held while a request is carried out
	over  chan struct{} // closed when the JVM has been left
	once  sync.Once
}

// Listen starts a server for a JVM. It fails with a [HeldError] if another Sonde of this
// user has one.
func Listen(ctx context.Context, places Places, target Target, holding Holding) (*Server, error) {
	uid := uint32(os.Geteuid())
	var failed error
	for _, dir := range places.toListen(uid) {
		path := filepath.Join(dir, target.socket())
		if len(path) > longestPath {
			failed = errors.Join(failed, fmt.Errorf("the path %s is too long for a Unix socket: set XDG_RUNTIME_DIR to a shorter one", path))
			continue
		}
		listener, err := bind(ctx, dir, path, target, uid)
		if errors.Is(err, ErrUnsafe) || errors.Is(err, os.ErrPermission) {
			failed = errors.Join(failed, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &Server{holding: holding, listener: listener, path: path, uid: uid, room: make(chan struct{}, maxCalls), over: make(chan struct{})}
		s.calls.Add(1)
		go s.accept()
		return s, nil
	}
	return nil, fmt.Errorf("no directory for a socket: %w", failed)
}

// bind listens at a path, unless another process answers there already. It removes the
// sockets of Sondes that were killed.
func bind(ctx context.Context, dir, path string, target Target, uid uint32) (*net.UnixListener, error) {
	var unlock func()
	err := errGone
	for tries := 0; tries < 3 && errors.Is(err, errGone); tries++ { // a server that ends removes the directory
		if err = private(dir, uid); err == nil {
			unlock, err = lock(ctx, dir)
		}
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		switch {
		case !strings.HasPrefix(entry.Name(), "jvm-") || filepath.Ext(entry.Name()) != ".sock":
		case !answers(ctx, name):
			_ = os.Remove(name)
		case name == path:
			return nil, fmt.Errorf("%w process %d: sonde apply --end %d ends that command", ErrHeld, target.PID, target.PID)
		}
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening for other Sondes: %w", err)
	}
	return listener, nil
}

// answers reports whether a process listens at a socket, also if its queue is full.
func answers(ctx context.Context, path string) bool {
	dialer := net.Dialer{Timeout: dialPatience}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return !isDead(err)
	}
	_ = conn.Close()
	return true
}

func (s *Server) accept() {
	defer s.calls.Done()
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Most likely there is no file descriptor left; others may be closed.
			select {
			case <-s.over:
				return
			case <-time.After(100 * time.Millisecond):
				continue
			}
		}
		select {
		case s.room <- struct{}{}:
			s.calls.Add(1)
			go func() {
				defer func() { <-s.room; s.calls.Done() }()
				s.answer(conn)
			}()
		default:
			reply(conn, &answer{Error: "too many requests at the same time: try again"})
			_ = conn.Close()
		}
	}
}

// answer answers the request of a connection.
func (s *Server) answer(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	if err := checkPeer(conn, s.uid); err != nil {
		reply(conn, &answer{Error: err.Error()})
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(askPatience))
	var q request
	if err := readLine(conn, maxRequest, &q); err != nil {
		reply(conn, &answer{Error: "the request cannot be read: " + err.Error()})
		return
	}
	if q.Sonde != protocol {
		reply(conn, &answer{Error: fmt.Sprintf("the Sonde that holds this JVM uses protocol %d, not %d: use the same version of Sonde for both", protocol, q.Sonde)})
		return
	}
	reply(conn, s.respond(&q))
}

func reply(conn net.Conn, a *answer) {
	a.Sonde = protocol
	_ = conn.SetWriteDeadline(time.Now().Add(askPatience))
	_ = writeLine(conn, a) // a client that does not read it has gone
}

func (s *Server) respond(q *request) *answer {
	if q.Ask == askEnd {
		s.holding.End()
		select {
		case <-s.over:
			return &answer{}
		case <-time.After(endPatience):
			return &answer{Error: "the Sonde that holds this JVM is still removing its hooks; sonde status PID shows when it has finished"}
		}
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	switch q.Ask {
	case askApply:
		return s.apply(q)
	case askSave:
		return &answer{Probes: string(s.holding.Wanted().YAML())}
	case askStatus:
		return &answer{Status: s.holding.Status()}
	}
	return &answer{Error: fmt.Sprintf("%q is not known to this Sonde: use the same version for both", q.Ask)}
}

func (s *Server) apply(q *request) *answer {
	set, err := probeset.Parse([]byte(q.Probes), "probes")
	if err != nil {
		return &answer{Error: err.Error()}
	}
	// Not cancelled if the client goes away: half of a set must not stay applied.
	ctx, cancel := context.WithTimeout(context.Background(), applyPatience)
	defer cancel()
	outcome, err := s.holding.Apply(ctx, set, q.DryRun)
	if err != nil {
		return &answer{Error: err.Error(), Outcome: outcome}
	}
	return &answer{Outcome: outcome}
}

// Close removes the socket, answers the calls that wait for the end, and waits for all calls
// for a limited time.
func (s *Server) Close() error {
	err := s.listener.Close() // removes the socket first, so that no waiting process finds it
	s.once.Do(func() { close(s.over) })
	s.tidy()
	done := make(chan struct{})
	go func() { s.calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * askPatience):
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// tidy removes the directory if it is empty.
func (s *Server) tidy() {
	dir := filepath.Dir(s.path)
	if unlock, err := lock(context.Background(), dir); err == nil {
		_ = os.Remove(dir)
		unlock()
	}
}
