package control

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// What Settings mean where they are zero.
const (
	DefaultLease   = 10 * time.Second
	DefaultSilence = time.Minute
	DefaultWorkers = 4
)

// Settings are how a Peer behaves. What is zero has a default.
type Settings struct {
	// Lease is how long the agent keeps its JVM changed without hearing of us.
	Lease time.Duration
	// Silence is how long the agent may say nothing before it is given up. A
	// JVM that collects garbage says nothing, so it is no short time.
	Silence time.Duration
	// Weave serves the agent's requests; nil leaves every class alone.
	Weave Handler
	// Workers is how many weaves are under way at a time.
	Workers int
	// Notice gets what the agent has to say to a user, one text at a time and
	// in order. Texts that come faster than it takes them are dropped, counted.
	Notice func(text string)
}

func (s Settings) orDefaults() Settings {
	if s.Lease <= 0 {
		s.Lease = DefaultLease
	}
	if s.Silence <= 0 {
		s.Silence = DefaultSilence
	}
	if s.Workers <= 0 {
		s.Workers = DefaultWorkers
	}
	if s.Weave == nil {
		s.Weave = func(context.Context, Transform) (Woven, error) { return Woven{}, nil }
	}
	if s.Notice == nil {
		s.Notice = func(string) {}
	}
	return s
}

// A Peer is one connected agent. Its methods may be called by many goroutines
// at a time. It owns the connection: one goroutine reads it, and never waits
// for anything slow; one writes it, so that no frame is ever sent in part while
// the conversation goes on.
type Peer struct {
	hello    Hello
	settings Settings
	conn     net.Conn
	out      chan []byte
	greeted  atomic.Bool // the agent has answered, so it can no longer refuse
	leaving  atomic.Bool // the agent was sent away, so it may hang up

	ctx  context.Context // ends with the conversation
	end  context.CancelCauseFunc
	done chan struct{}

	requests requests
	weaves   weaves
	notices  notices
}

const (
	outgoing = 64 // frames that may wait to be written
	// lastWords is how long the agent's last frames may take to be read once
	// it no longer takes ours.
	lastWords = time.Second
)

// converse begins a conversation with an agent that has proven itself. What r
// has already read of the connection is not lost.
func converse(conn net.Conn, r *lineReader, hello Hello, s Settings, first []byte) *Peer {
	p := &Peer{hello: hello, settings: s, conn: conn, out: make(chan []byte, outgoing), done: make(chan struct{})}
	p.ctx, p.end = context.WithCancelCause(context.Background())
	p.requests.open = map[uint32]*answer{}
	p.weaves.init(s.Workers)
	p.notices.init()
	p.out <- first
	r.silence = s.Silence
	context.AfterFunc(p.ctx, func() {
		_ = conn.Close() // its loss is told by whoever meets it
		close(p.done)
	})
	go p.readAll(r)
	go p.writeAll()
	go p.keepLease()
	go p.notices.deliver(p.ctx, s.Notice)
	return p
}

// Hello is what the agent said of itself.
func (p *Peer) Hello() Hello { return p.hello }

// Done is closed when the conversation has ended.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err is nil while the conversation goes on, and a *LostError afterwards.
func (p *Peer) Err() error {
	if cause := context.Cause(p.ctx); cause != nil {
		return &LostError{cause}
	}
	return nil
}

// Close ends the conversation at once, whereupon the agent restores its JVM by
// itself. It does not wait for weaves under way, whose context ends. It may be
// called more than once.
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

// explain names the ways in which an agent goes.
func (p *Peer) explain(err error) error {
	switch {
	case p.leaving.Load():
		return ErrClosed
	case errors.Is(err, io.EOF):
		return ErrHungUp
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrSilent
	}
	return err
}

// take gives a frame to whom it concerns.
func (p *Peer) take(f frame) error {
	if !f.kind.sentByAgent() {
		return f.defect(ErrOutOfTurn, "only sonde sends it")
	}
	switch f.kind {
	case KindHello:
		return f.defect(ErrOutOfTurn, "it was said")
	case KindRefused:
		reason, err := decode[message](f)
		switch {
		case err != nil:
			return err
		case p.greeted.Load():
			return f.defect(ErrOutOfTurn, "the session has begun")
		}
		return &RefusedError{Holder: string(reason)}
	case KindNotice:
		text, err := decode[message](f)
		if err == nil {
			p.notices.add(string(text))
		}
		return err
	case KindTransform:
		return p.weave(f)
	}
	return p.requests.settle(f)
}

func (p *Peer) writeAll() {
	for {
		select {
		case data := <-p.out:
			_ = p.conn.SetWriteDeadline(time.Now().Add(p.settings.Silence)) // fails only with the write
			if _, err := p.conn.Write(data); err != nil {
				// An agent that hangs up may have said why: leave the reader
				// a while to hear it.
				time.AfterFunc(lastWords, func() { p.end(p.explain(err)) })
				return
			}
		case <-p.done:
			return
		}
	}
}

// send leaves a frame to the writer.
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

// keepLease shows a sign of life so often that one or two may come late. An
// answer is not waited for: the agent may be busy with something long.
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
