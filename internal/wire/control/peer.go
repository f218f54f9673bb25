// Package control is Sonde's end of the conversation with the agent in a JVM.
// docs/formats/control.md specifies the protocol.
//
// The agent connects to Sonde. A Door accepts the one connection that proves knowledge of the
// secret in the session file, and returns a Peer for it; all others are closed without an
// answer. A Peer sends requests on behalf of any number of goroutines, passes on the agent's
// requests to weave classes, and renews the lease. When the lease expires, the agent restores
// its JVM.
//
// The other end runs in a process that may be broken or hostile: the length of its messages
// (frames) is bounded, and they are checked before they are used. Any defect ends the session,
// and the agent then restores its JVM. Every wait ends: with its context, with the connection, or
// after a limit of its own.
package control

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

//go:generate go run ./gen -go kinds_gen.go -java ../../../agent/control/src8/sonde/agent/control/Kind.java kinds.table

// The defaults of Settings.
const (
	DefaultLease   = 20 * time.Second // a busy machine may give no processor to a thread of the agent for ten seconds
	DefaultSilence = time.Minute
	DefaultWorkers = 4
)

// Settings configure a Peer. Zero fields have defaults.
type Settings struct {
	// Lease is how long the agent keeps its JVM changed without a sign of life from Sonde.
	Lease time.Duration
	// Silence is how long the agent may send nothing before it counts as lost. A JVM that
	// collects garbage sends nothing, so this must not be short.
	Silence time.Duration
	// Weave serves the agent's requests; nil leaves every class unchanged.
	Weave Handler
	// Workers is the number of classes that are woven at a time.
	Workers int
	// Notice receives the agent's messages to the user, one at a time and in order. Messages
	// that arrive faster than it accepts them are dropped and counted.
	Notice func(text string)
}

func (s Settings) orDefaults() Settings {
	s.Lease = cmp.Or(s.Lease, DefaultLease)
	s.Silence = cmp.Or(s.Silence, DefaultSilence)
	s.Workers = cmp.Or(s.Workers, DefaultWorkers)
	if s.Weave == nil {
		s.Weave = func(context.Context, Transform) (Woven, error) { return Woven{}, nil }
	}
	if s.Notice == nil {
		s.Notice = func(string) {}
	}
	return s
}

// A Peer is one connected agent. It is safe for concurrent use. It owns the connection: one
// goroutine reads it and never waits for anything slow, another one writes it, so that no frame
// is sent in part while the conversation goes on.
type Peer struct {
	hello    Hello
	settings Settings
	conn     net.Conn
	out      chan []byte
	greeted  atomic.Bool // the agent has answered and can no longer refuse
	leaving  atomic.Bool // the agent was asked to exit and may hang up
	lastWord string      // why the agent leaves by itself; used by the reader only

	ctx  context.Context // ends with the conversation
	end  context.CancelCauseFunc
	done chan struct{}

	requests requests
	weaves   weaves
	notices  notices
}

const (
	outgoing = 64 // frames that may wait to be written
	// lastWords bounds the time for reading the agent's last frames once it no longer accepts
	// ours.
	lastWords = time.Second
)

// converse begins a conversation with an agent that has proven itself. r may hold bytes of the
// connection that were read ahead.
func converse(conn net.Conn, r *lineReader, hello Hello, s Settings, first []byte) *Peer {
	p := &Peer{hello: hello, settings: s, conn: conn, out: make(chan []byte, outgoing), done: make(chan struct{})}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	p.requests.open = map[uint32]*answer{}
	p.weaves.workers, p.weaves.open = make(chan struct{}, s.Workers), map[uint32]bool{}
	p.notices.queue = make(chan string, maxNotices)
	p.out <- first
	r.silence = s.Silence
	context.AfterFunc(p.ctx, func() {
		_ = conn.Close() // readers and writers report the loss
		close(p.done)
	})
	go p.readAll(r)
	go p.writeAll()
	go p.keepLease()
	go p.notices.deliver(p.ctx, s.Notice)
	return p
}

// Hello returns the description that the agent gave of itself.
func (p *Peer) Hello() Hello { return p.hello }

// Done is closed when the conversation has ended.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err returns nil while the conversation goes on, and a *LostError afterwards.
func (p *Peer) Err() error {
	if cause := context.Cause(p.ctx); cause != nil {
		return &LostError{cause}
	}
	return nil
}

// Close ends the conversation at once; the agent then restores its JVM by itself. It cancels
// running Handlers without waiting for them. It may be called more than once.
func (p *Peer) Close() error {
	p.end(ErrClosed)
	<-p.done
	return nil
}

func (p *Peer) readAll(r io.Reader) {
	for {
		f, err := readFrame(r, MaxFrame)
		if err == nil {
			err = p.take(f)
		}
		if err != nil {
			p.end(p.explain(err))
			return
		}
	}
}

// explain translates the ways in which an agent disappears.
func (p *Peer) explain(err error) error {
	switch {
	case p.leaving.Load():
		return ErrClosed
	case p.lastWord != "":
		return fmt.Errorf("%w: %s", ErrHungUp, p.lastWord)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET): // it has hung up without reading everything
		return ErrHungUp
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSilent
	}
	return err
}

// take dispatches a frame.
func (p *Peer) take(f frame) error {
	if !f.kind.sentByAgent() {
		return f.defect(ErrOutOfTurn, "only sonde sends it")
	}
	switch f.kind {
	case KindHello:
		return f.defect(ErrOutOfTurn, "it was said")
	case KindRefused:
		reason, err := decode[string](f)
		switch {
		case err != nil:
			return err
		case p.greeted.Load():
			return f.defect(ErrOutOfTurn, "the session has begun")
		}
		return &RefusedError{Holder: reason}
	case KindNotice:
		text, err := decode[string](f)
		if err == nil {
			p.notices.add(text)
		}
		return err
	case KindLeaves:
		var err error
		p.lastWord, err = decode[string](f)
		return err
	case KindTransform:
		return p.weave(f)
	}
	return p.requests.deliver(f)
}

func (p *Peer) writeAll() {
	for {
		select {
		case data := <-p.out:
			_ = p.conn.SetWriteDeadline(time.Now().Add(p.settings.Silence)) // fails only with the write
			if _, err := p.conn.Write(data); err != nil {
				// An agent that hangs up may have sent a reason: give the reader time for it.
				time.AfterFunc(lastWords, func() { p.end(p.explain(err)) })
				return
			}
		case <-p.done:
			return
		}
	}
}

// send queues a frame for the writer.
func (p *Peer) send(ctx context.Context, data []byte) error {
	select {
	case p.out <- data:
		return nil
	case <-p.done:
		return p.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keepLease sends signs of life, often enough that one or two may be late. It does not wait for
// answers, because the agent may be busy.
func (p *Peer) keepLease() {
	ticker := time.NewTicker(max(p.settings.Lease/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if sign, err := p.ask(p.ctx, KindPing, nothing{}); err == nil {
				sign.abandon()
			}
		case <-p.done:
			return
		}
	}
}

// ends reports whether a frame may answer a request, and whether it is the last one.
func (k Kind) ends(f frame) (last, fits bool) {
	request := kinds[k]
	switch {
	case f.kind == KindFailed:
		return true, true
	case f.kind == KindClasses && f.kind == request.last:
		return len(f.body) > 0 && f.body[0] == 1, true
	case f.kind == request.last:
		return true, true
	}
	return false, f.kind == request.part
}

// requests are Sonde's requests without an answer. An abandoned request stays until it is
// answered, so that its answer is not taken for an error.
type requests struct {
	mu   sync.Mutex
	last uint32
	open map[uint32]*answer
}

// add assigns the next free odd number to a request.
func (r *requests) add(a *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a.number == 0 || r.open[a.number] != nil {
		r.last = (r.last + 1) | 1
		a.number = r.last
	}
	r.open[a.number] = a
}

func (r *requests) remove(number uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, number)
}

// deliver hands a frame to the request that it answers.
func (r *requests) deliver(f frame) error {
	r.mu.Lock()
	a := r.open[f.request]
	r.mu.Unlock()
	if a == nil {
		return f.defect(ErrOutOfTurn, "it answers no request")
	}
	last, fits := a.asked.ends(f)
	if !fits {
		return f.defect(ErrOutOfTurn, fmt.Sprintf("it does not answer %v", a.asked))
	}
	if last {
		r.remove(f.request)
		if a.asked == KindBye && f.kind != KindFailed {
			a.peer.leaving.Store(true)
		}
	}
	return a.put(f)
}

// maxQueued bounds the bytes of an answer that wait to be read.
const maxQueued = 256 << 20

// An answer holds the frames of an answer that were not read yet.
type answer struct {
	peer   *Peer
	asked  Kind
	number uint32
	come   chan struct{} // signals a new frame; has room for one

	mu        sync.Mutex
	frames    []frame
	queued    int
	abandoned bool
}

// ask sends a request.
func (p *Peer) ask(ctx context.Context, kind Kind, body any) (*answer, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("asking the agent for %v: %w", kind, err)
	}
	a := &answer{peer: p, asked: kind, come: make(chan struct{}, 1)}
	p.requests.add(a)
	data, err := encode(kind, a.number, body)
	if err == nil {
		err = p.send(ctx, data)
	}
	if err != nil {
		p.requests.remove(a.number)
		return nil, fmt.Errorf("asking the agent for %v: %w", kind, err)
	}
	return a, nil
}

// put adds a frame without blocking.
func (a *answer) put(f frame) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.abandoned {
		return nil
	}
	a.frames = append(a.frames, f)
	if a.queued += len(f.body); a.queued > maxQueued {
		return f.defect(ErrTooLong, "more comes than is taken")
	}
	select {
	case a.come <- struct{}{}:
	default:
	}
	return nil
}

// next waits for a frame. FAILED is returned as an error. No frame follows an error.
func (a *answer) next(ctx context.Context) (frame, error) {
	for {
		// Frames that arrived before the end count.
		err := a.peer.Err()
		if f, ok := a.pop(); ok {
			return f, a.failure(f)
		}
		if err != nil {
			return frame{}, err
		}
		select {
		case <-a.come:
		case <-a.peer.done:
		case <-ctx.Done():
			a.abandon()
			return frame{}, fmt.Errorf("waiting for the agent to do %v: %w", a.asked, ctx.Err())
		}
	}
}

func (a *answer) pop() (frame, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.frames) == 0 {
		return frame{}, false
	}
	f := a.frames[0]
	a.frames[0] = frame{}
	a.frames = a.frames[1:]
	a.queued -= len(f.body)
	return f, true
}

func (a *answer) failure(f frame) error {
	if f.kind != KindFailed {
		return nil
	}
	reason, err := decode[string](f)
	if err != nil {
		return a.peer.reject(err)
	}
	return &FailedError{Asked: a.asked, Reason: reason}
}

// abandon discards all frames of the answer, including later ones.
func (a *answer) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.abandoned, a.frames, a.queued = true, nil, 0
}

// reject ends the conversation because of a defect in an answer.
func (p *Peer) reject(defect error) error {
	p.end(defect)
	return p.Err()
}

// A lineReader reads a connection, and fails when nothing arrives for the duration of silence.
type lineReader struct {
	conn    net.Conn
	silence time.Duration // 0 keeps the deadline that the connection has
	buffer  *bufio.Reader
}

func newLineReader(conn net.Conn) *lineReader {
	r := &lineReader{conn: conn}
	r.buffer = bufio.NewReaderSize((*patient)(r), 16<<10)
	return r
}

func (r *lineReader) Read(dst []byte) (int, error) { return r.buffer.Read(dst) }

// patient is the reader underneath the buffer.
type patient lineReader

func (r *patient) Read(dst []byte) (int, error) {
	if r.silence > 0 {
		if err := r.conn.SetReadDeadline(time.Now().Add(r.silence)); err != nil {
			return 0, err
		}
	}
	return r.conn.Read(dst)
}
