package control

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// unprovenLimit bounds the time that a caller may take to prove itself. An agent sends its
	// HELLO at once, but its JVM may be stopped or get no processor time.
	unprovenLimit = 10 * time.Second
	// maxUnproven bounds the callers that are heard at a time.
	maxUnproven = 16
	// greetLimit bounds the time that an agent may take to answer its welcome.
	greetLimit = 20 * time.Second
)

// A Door accepts one agent.
type Door struct {
	listener net.Listener
	secrets  Secrets
	settings Settings
}

// Listen returns a Door that owns a listener.
func Listen(l net.Listener, secrets Secrets, settings Settings) *Door {
	return &Door{l, secrets, settings.orDefaults()}
}

// Close closes the door without waiting for anyone.
func (d *Door) Close() error { return d.listener.Close() }

// Accept waits for the agent, and closes the door when it has arrived or when the context ends,
// because the secrets are valid once. A caller that check refuses, or that does not send the
// token in time, is disconnected without an answer, and the wait continues. check may be nil;
// it must not block.
//
// The error is a *RefusedError if the JVM belongs to another session, a *VersionError if the
// agent speaks another protocol, and a *NoAgentError if none arrived.
func (d *Door) Accept(ctx context.Context, check func(net.Conn) error) (*Peer, error) {
	h := &hearing{door: d, check: check, proven: make(chan caller), broken: make(chan error, 1)}
	c, err := h.first(ctx)
	if err != nil {
		return nil, err
	}
	return d.greet(ctx, c)
}

// A caller is a connection that has proven to be the agent.
type caller struct {
	conn    net.Conn
	reader  *lineReader
	hello   Hello
	request uint32
}

// A hearing lets callers prove themselves.
type hearing struct {
	door   *Door
	check  func(net.Conn) error
	proven chan caller
	broken chan error // the error of the listener; has room for one

	mu         sync.Mutex
	turnedAway int
	last       error
}

// first returns the first caller that proves itself. When it returns, all other callers are
// disconnected and all goroutines of the hearing have ended.
func (h *hearing) first(parent context.Context) (caller, error) {
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(ctx, func() { _ = h.door.Close() })
	var group sync.WaitGroup
	group.Go(func() { h.listen(ctx, &group) })
	defer func() {
		cancel()
		stop()
		_ = h.door.Close()
		group.Wait()
	}()
	select {
	case c := <-h.proven:
		return c, nil
	case err := <-h.broken:
		if parent.Err() == nil {
			return caller{}, h.nobody(err)
		}
	case <-ctx.Done():
	}
	return caller{}, h.nobody(parent.Err())
}

func (h *hearing) nobody(cause error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &NoAgentError{TurnedAway: h.turnedAway, Last: h.last, Cause: cause}
}

func (h *hearing) listen(ctx context.Context, group *sync.WaitGroup) {
	slots := make(chan struct{}, maxUnproven)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := h.door.listener.Accept()
		if err != nil {
			h.broken <- err
			return
		}
		group.Go(func() {
			defer func() { <-slots }()
			h.hear(ctx, conn)
		})
	}
}

// hear hands a caller over or disconnects it.
func (h *hearing) hear(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, err := h.prove(conn)
	if err != nil {
		h.mu.Lock()
		h.turnedAway, h.last = h.turnedAway+1, err
		h.mu.Unlock()
		_ = conn.Close()
	}
	// From here on the end of the hearing must not close the connection.
	if !stop() || err != nil {
		return
	}
	select {
	case h.proven <- c:
	case <-ctx.Done():
		_ = conn.Close()
	}
}

var errWrongToken = errors.New("the token is wrong")

func (h *hearing) prove(conn net.Conn) (caller, error) {
	if h.check != nil {
		if err := h.check(conn); err != nil {
			return caller{}, err
		}
	}
	if err := conn.SetDeadline(time.Now().Add(unprovenLimit)); err != nil {
		return caller{}, err
	}
	r := newLineReader(conn)
	f, err := readFrame(r, maxHello)
	if err != nil {
		return caller{}, err
	}
	if f.kind != KindHello || f.request%2 != 0 {
		return caller{}, f.defect(ErrOutOfTurn, "HELLO comes first")
	}
	said, err := decode[hello](f)
	switch {
	case err != nil:
		return caller{}, err
	case !h.door.secrets.accepts(said.Token):
		return caller{}, errWrongToken
	}
	return caller{conn, r, Hello{said.Protocol, said.Build, said.Java, said.HookClass}, f.request}, conn.SetDeadline(time.Time{})
}

// greet welcomes an agent that has proven itself and waits for its answer: an agent whose JVM
// belongs to another session refuses now, or has refused right after its HELLO.
func (d *Door) greet(ctx context.Context, c caller) (*Peer, error) {
	if c.hello.Protocol != Protocol {
		return nil, d.sendAway(c)
	}
	first, err := encode(KindWelcome, c.request, welcome{d.secrets.Proof, milliseconds(d.settings.Lease)})
	if err != nil {
		_ = c.conn.Close()
		return nil, err
	}
	p := converse(c.conn, c.reader, c.hello, d.settings, first)
	ctx, cancel := context.WithTimeout(ctx, greetLimit)
	defer cancel()
	if err := p.Ping(ctx); err != nil {
		_ = p.Close()
		var refused *RefusedError
		if errors.As(err, &refused) {
			return nil, refused
		}
		return nil, fmt.Errorf("greeting the agent: %w", err)
	}
	p.greeted.Store(true)
	return p, nil
}

// sendAway refuses an agent of another protocol, with the reason.
func (d *Door) sendAway(c caller) error {
	defer func() { _ = c.conn.Close() }()
	reason := &VersionError{Agent: c.hello.Protocol, Build: c.hello.Build}
	data, err := encode(KindRefused, c.request, reason.Error())
	if err == nil && c.conn.SetWriteDeadline(time.Now().Add(unprovenLimit)) == nil {
		_, _ = c.conn.Write(data) // it is sent away in any case
	}
	return reason
}

// Secrets are known only to those who can read the session file: the agent sends the token,
// Sonde the proof. They are valid for one session.
type Secrets struct {
	Token, Proof string // 32 hex digits each
}

// NewSecrets returns secrets that cannot be guessed.
func NewSecrets() Secrets { return Secrets{Token: secret(), Proof: secret()} }

func secret() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails: the program ends before it would
	return hex.EncodeToString(random[:])
}

// accepts compares a token in constant time. A door without a token accepts none.
func (s Secrets) accepts(token string) bool {
	return s.Token != "" && subtle.ConstantTimeCompare([]byte(s.Token), []byte(token)) == 1
}

// String keeps secrets out of printed text.
func (Secrets) String() string { return "(secrets)" }

// GoString keeps secrets out of debug output.
func (Secrets) GoString() string { return "control.Secrets{…}" }
