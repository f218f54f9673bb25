package control

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Handler weaves a class. Its context ends when the agent no longer waits; an
// error is told to the agent, which then leaves the class alone. Several may
// run at a time, in any order. It may keep the Transform's bytes.
type Handler func(context.Context, Transform) (Woven, error)

const (
	// weaveLimit is how long the agent waits for a class.
	weaveLimit = 2 * time.Second
	// What may wait for a free worker. A JVM with more threads than this that
	// all load classes is told to go on without.
	maxWaiting      = 8 << 10
	maxWaitingBytes = 256 << 20
)

// weaves are the agent's requests that are not answered yet.
type weaves struct {
	workers chan struct{}

	mu    sync.Mutex
	open  map[uint32]bool
	bytes int
}

func (w *weaves) init(workers int) {
	w.workers = make(chan struct{}, workers)
	w.open = map[uint32]bool{}
}

// add notes a request, and tells whether there is room for it.
func (w *weaves) add(f frame) (room bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case f.request == 0 || f.request%2 != 0:
		return false, f.defect(ErrOutOfTurn, "its number is not one of the agent's")
	case w.open[f.request]:
		return false, f.defect(ErrOutOfTurn, "its number is in use")
	case len(w.open) >= maxWaiting || w.bytes+len(f.body) > maxWaitingBytes:
		return false, nil
	}
	w.open[f.request] = true
	w.bytes += len(f.body)
	return true, nil
}

func (w *weaves) remove(f frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, f.request)
	w.bytes -= len(f.body)
}

// weave has a request of the agent served, without waiting for that.
func (p *Peer) weave(f frame) error {
	t, err := decode[Transform](f)
	if err != nil {
		return err
	}
	room, err := p.weaves.add(f)
	if err != nil {
		return err
	}
	if !room {
		// An agent that never reads its answers ends this with the writer.
		return p.reply(f, KindFailed, message("sonde is busy with other classes"))
	}
	ctx, cancel := context.WithTimeout(p.ctx, weaveLimit)
	go func() {
		defer cancel()
		kind, answer := p.woven(ctx, t)
		// The number is free again from when the agent can know the answer.
		p.weaves.remove(f)
		_ = p.reply(f, kind, answer) // fails only when the conversation has ended
	}()
	return nil
}

// woven runs the handler as soon as a worker is free.
func (p *Peer) woven(ctx context.Context, t Transform) (Kind, body) {
	select {
	case p.weaves.workers <- struct{}{}:
		defer func() { <-p.weaves.workers }()
	case <-ctx.Done():
		return KindFailed, message("sonde was busy with other classes for too long")
	}
	if ctx.Err() != nil {
		return KindFailed, message("sonde came to it too late")
	}
	woven, err := p.settings.Weave(ctx, t)
	if err != nil {
		return KindFailed, message(oneLine(err.Error()))
	}
	return KindWoven, woven
}

// reply answers a request of the agent.
func (p *Peer) reply(f frame, kind Kind, b body) error {
	data, err := encode(kind, f.request, b)
	if err != nil {
		if data, err = encode(KindFailed, f.request, message(err.Error())); err != nil {
			return err
		}
	}
	return p.send(p.ctx, data)
}

// notices are texts on their way to the user.
type notices struct {
	queue   chan string
	mu      sync.Mutex
	dropped int
}

const (
	maxNotices = 256
	maxNotice  = 4 << 10 // bytes of a text that are kept
)

func (n *notices) init() { n.queue = make(chan string, maxNotices) }

// add never waits: a user who reads slowly must not hold the agent up.
func (n *notices) add(text string) {
	if len(text) > maxNotice {
		text = fmt.Sprintf("%s… (%d bytes)", validPrefix(text, maxNotice), len(text))
	}
	select {
	case n.queue <- text:
	default:
		n.mu.Lock()
		n.dropped++
		n.mu.Unlock()
	}
}

func (n *notices) takeDropped() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	dropped := n.dropped
	n.dropped = 0
	return dropped
}

// deliver hands over what came, also what came just before the end.
func (n *notices) deliver(ctx context.Context, to func(string)) {
	for {
		select {
		case text := <-n.queue:
			to(text)
			continue
		default:
		}
		if dropped := n.takeDropped(); dropped > 0 {
			to(fmt.Sprintf("%d notices of the agent were dropped", dropped))
		}
		select {
		case text := <-n.queue:
			to(text)
		case <-ctx.Done():
			if len(n.queue) == 0 {
				return
			}
		}
	}
}
