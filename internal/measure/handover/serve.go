package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// Holding is what answers for a JVM. Questions come one at a time.
type Holding interface {
	// Apply has the set applied, or with dryRun says what that would change.
	Apply(ctx context.Context, set *probeset.Set, dryRun bool) (*Outcome, error)
	// Wanted is the set that is applied.
	Wanted() *probeset.Set
	Status() *Status
	// End begins the end and does not wait for it: Close says that it has come.
	End()
}

// How long things may take.
const (
	askPatience    = 5 * time.Second // until a question has come, and an answer has gone
	applyPatience  = 2 * time.Minute // for a set to be applied
	endPatience    = 1 * time.Minute // for a JVM to be left
	mostCalls      = 8               // at once
	dialPatience   = 2 * time.Second // until a socket has taken a call
	answerPatience = applyPatience + 10*time.Second
)

// Server answers for one JVM.
type Server struct {
	holding  Holding
	listener *net.UnixListener
	path     string
	uid      uint32

	calls sync.WaitGroup
	room  chan struct{} // holds one for each call under way
	turn  sync.Mutex    // of questions
	over  chan struct{} // closed when the JVM is left
	once  sync.Once
}

// Listen begins to answer for a JVM. It fails with a [HeldError] where another Sonde of
// this user does.
func Listen(ctx context.Context, places Places, target Target, holding Holding) (*Server, error) {
	uid := uint32(os.Geteuid())
	var failed error
	for _, dir := range places.toListen(uid) {
		path := filepath.Join(dir, target.socket())
		if len(path) > longestPath {
			failed = errors.Join(failed, fmt.Errorf("%s is too long for a socket", path))
			continue
		}
		listener, err := bind(ctx, dir, path, target, uid)
		var unsafe *UnsafeError
		if errors.As(err, &unsafe) || errors.Is(err, os.ErrPermission) {
			failed = errors.Join(failed, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &Server{holding: holding, listener: listener, path: path, uid: uid, room: make(chan struct{}, mostCalls), over: make(chan struct{})}
		s.calls.Add(1)
		go s.accept()
		return s, nil
	}
	return nil, fmt.Errorf("no place for a socket: %w", failed)
}

// bind takes the socket's name, unless somebody answers there. What killed Sondes
// left in the directory goes.
func bind(ctx context.Context, dir, path string, target Target, uid uint32) (*net.UnixListener, error) {
	var unlock func()
	err := errGone
	for tries := 0; tries < 3 && errors.Is(err, errGone); tries++ { // another that ends takes the directory with it
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
		case !isSocket(entry.Name()):
		case !answers(ctx, name):
			_ = os.Remove(name)
		case name == path:
			return nil, &HeldError{target}
		}
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening for other Sondes: %w", err)
	}
	return listener, nil
}

// answers reports whether somebody listens at a socket. One whose queue is full does.
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
			// Out of descriptors, most likely: others may give some back.
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
			reply(conn, &answer{Error: "too many ask at once: try again"})
			_ = conn.Close()
		}
	}
}

// answer has one conversation.
func (s *Server) answer(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	pid, uid, err := peerOf(conn)
	if err != nil || uid != s.uid && uid != 0 {
		reply(conn, &answer{Error: (&StrangerError{pid, uid}).Error()})
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(askPatience))
	var q question
	if err := readLine(conn, mostQuestion, &q); err != nil {
		reply(conn, &answer{Error: "the question cannot be read: " + err.Error()})
		return
	}
	if q.Sonde != protocol {
		reply(conn, &answer{Error: fmt.Sprintf("this Sonde speaks protocol %d, not %d: use the same version for both", protocol, q.Sonde)})
		return
	}
	reply(conn, s.respond(&q))
}

func reply(conn net.Conn, a *answer) {
	a.Sonde = protocol
	_ = conn.SetWriteDeadline(time.Now().Add(askPatience))
	_ = writeLine(conn, a) // who does not read it has gone
}

func (s *Server) respond(q *question) *answer {
	switch q.Ask {
	case askApply:
		return s.apply(q)
	case askSave:
		return locked(&s.turn, func() *answer { return &answer{Probes: string(s.holding.Wanted().YAML())} })
	case askStatus:
		return locked(&s.turn, func() *answer { return &answer{Status: s.holding.Status()} })
	case askEnd:
		s.holding.End()
		select {
		case <-s.over:
			return &answer{}
		case <-time.After(endPatience):
			return &answer{Error: "it is about to end, and takes long"}
		}
	}
	return &answer{Error: fmt.Sprintf("%q is not known to this Sonde: use the same version for both", q.Ask)}
}

// locked asks when no other question is under way.
func locked(turn *sync.Mutex, ask func() *answer) *answer {
	turn.Lock()
	defer turn.Unlock()
	return ask()
}

func (s *Server) apply(q *question) *answer {
	set, err := probeset.Parse([]byte(q.Probes), "probes")
	if err != nil {
		return &answer{Error: err.Error()}
	}
	return locked(&s.turn, func() *answer {
		// Who asked may go: half of a set is not left for that.
		ctx, cancel := context.WithTimeout(context.Background(), applyPatience)
		defer cancel()
		outcome, err := s.holding.Apply(ctx, set, q.DryRun)
		if err != nil {
			return &answer{Error: err.Error(), Outcome: outcome}
		}
		return &answer{Outcome: outcome}
	})
}

// Close takes the socket away, tells those who wait for the end that it has come, and
// waits until calls are over, for as long as they may take.
func (s *Server) Close() error {
	err := s.listener.Close() // removes the socket: who waits for the end must not find it
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

// tidy removes the directory, where nothing else is in it.
func (s *Server) tidy() {
	dir := filepath.Dir(s.path)
	if unlock, err := lock(context.Background(), dir); err == nil {
		_ = os.Remove(dir)
		unlock()
	}
}
