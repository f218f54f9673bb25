package control

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// greet welcomes an agent that has proven itself, and lets it answer: one whose
// JVM is held by someone else says so now, or said so right after its HELLO.
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

// sendAway tells an agent of another protocol why it is not wanted.
func (d *Door) sendAway(c caller) error {
	defer func() { _ = c.conn.Close() }()
	reason := &VersionError{Agent: c.hello.Protocol, Build: c.hello.Build}
	data, err := encode(KindRefused, c.request, message(reason.Error()))
	if err == nil && c.conn.SetWriteDeadline(time.Now().Add(unprovenLimit)) == nil {
		_, _ = c.conn.Write(data) // it is sent away in any case
	}
	return reason
}
