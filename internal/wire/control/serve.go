package control

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Handler weaves a class. Its context ends when the agent no longer waits. An error is sent to
// the agent, which then leaves the class unchanged. Several calls may run at a time, in any
// order. It may keep the bytes of the Transform.
type Handler func(context.Context, Transform) (Woven, error)

const (
	// weaveLimit is the time that the agent waits for a class.
	weaveLimit = 2 * time.Second
	// The classes that may wait for a free worker. A JVM in which more threads load classes
	// continues without hooks in the rest.
	maxWaiting      = 8 << 10
	maxWaitingBytes = 256 << 20
)

// weaves are the agent's requests without an answer.
type weaves struct {
	workers chan struct{}

	mu    sync.Mutex
	open  map[uint32]bool
	bytes int
}

// add registers a request and reports whether there is room for it.
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

// weave serves a request of the agent in the background.
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
		// An agent that never reads its answers ends the conversation through the writer.
		return p.reply(f, KindFailed, "sonde is busy with other classes")
	}
	ctx, cancel := context.WithTimeout(p.ctx, weaveLimit)
	go func() {
		defer cancel()
		kind, answer := p.woven(ctx, t)
		// The agent may reuse the number as soon as it has the answer.
		p.weaves.remove(f)
		_ = p.reply(f, kind, answer) // fails only when the conversation has ended
	}()
	return nil
}

// woven runs the handler as soon as a worker is free.
func (p *Peer) woven(ctx context.Context, t Transform) (Kind, any) {
	select {
	case p.weaves.workers <- struct{}{}:
		defer func() { <-p.weaves.workers }()
	case <-ctx.Done():
		return KindFailed, "sonde was busy with other classes for too long"
	}
	if ctx.Err() != nil {
		return KindFailed, "sonde came to it too late"
	}
	woven, err := p.settings.Weave(ctx, t)
	if err != nil {
		return KindFailed, oneLine(err.Error())
	}
	return KindWoven, woven
}

// reply answers a request of the agent.
func (p *Peer) reply(f frame, kind Kind, body any) error {
	data, err := encode(kind, f.request, body)
	if err != nil {
		if data, err = encode(KindFailed, f.request, err.Error()); err != nil {
			return err
		}
	}
	return p.send(p.ctx, data)
}

// notices are messages on their way to the user.
type notices struct {
	queue   chan string
	dropped atomic.Int64
}

const (
	maxNotices = 256
	maxNotice  = 4 << 10 // bytes of a message; longer ones are cut
)

// cut limits the length of a text for the user.
func cut(text string) string {
	if len(text) <= maxNotice {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", validPrefix(text, maxNotice), len(text))
}

// add never blocks: a slow reader must not delay the agent.
func (n *notices) add(text string) {
	select {
	case n.queue <- cut(text):
	default:
		n.dropped.Add(1)
	}
}

// deliver passes messages on, including messages that arrive just before the end.
func (n *notices) deliver(ctx context.Context, to func(string)) {
	for {
		select {
		case text := <-n.queue:
			to(text)
			continue
		default:
		}
		if dropped := n.dropped.Swap(0); dropped > 0 {
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
