package control

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMisbehaviourEndsTheSession holds that every waiter is told why.
func TestMisbehaviourEndsTheSession(t *testing.T) {
	list := func(ctx context.Context, p *Peer) error { _, err := p.List(ctx); return err }
	sees := func(ctx context.Context, p *Peer) error { _, err := p.Sees(ctx, []uint32{1, 2}); return err }
	install := func(ctx context.Context, p *Peer) error { _, err := p.Install(ctx, []uint32{1}); return err }
	fetch := func(ctx context.Context, p *Peer) error {
		return p.Fetch(ctx, []uint32{1, 2}, func(uint32, []byte, string) {})
	}
	for name, tt := range map[string]struct {
		call   func(context.Context, *Peer) error
		say    func(a *agent, request uint32)
		reason error
	}{
		"hangs up":         {list, func(a *agent, _ uint32) { a.conn.Close() }, ErrHungUp},
		"dies in a frame":  {list, func(a *agent, _ uint32) { a.raw([]byte{0, 0, 0, 9, byte(KindNotice)}); a.conn.Close() }, ErrTruncated},
		"oversized":        {list, func(a *agent, _ uint32) { a.raw([]byte{4, 0, 0, 1}) }, ErrTooLong},
		"unknown kind":     {list, func(a *agent, n uint32) { a.raw([]byte{0, 0, 0, 5, 99, 0, 0, 0, byte(n)}) }, ErrUnknownKind},
		"sonde's kind":     {list, func(a *agent, n uint32) { a.send(KindPing, n, nothing{}) }, ErrOutOfTurn},
		"says hello again": {list, func(a *agent, _ uint32) { a.hello("") }, ErrOutOfTurn},
		"refuses late":     {list, func(a *agent, _ uint32) { a.send(KindRefused, 0, message("x")) }, ErrOutOfTurn},
		"reply to nothing": {list, func(a *agent, n uint32) { a.send(KindDone, n+2, nothing{}) }, ErrOutOfTurn},
		"reply to none":    {list, func(a *agent, _ uint32) { a.send(KindDone, 0, nothing{}) }, ErrOutOfTurn},
		"old reply again":  {list, func(a *agent, n uint32) { a.send(KindDone, n-4, nothing{}) }, ErrOutOfTurn},
		"wrong reply":      {list, func(a *agent, n uint32) { a.send(KindSeen, n, seen{}) }, ErrOutOfTurn},
		"malformed reply":  {list, func(a *agent, n uint32) { a.send(KindClasses, n, message("xx")) }, ErrMalformed},
		"handle 0":         {list, func(a *agent, n uint32) { a.send(KindClasses, n, classes{true, []Class{{Name: "x"}}}) }, ErrMalformed},
		"malformed fail":   {list, func(a *agent, n uint32) { a.send(KindFailed, n, nothing{}) }, ErrMalformed},
		"malformed notice": {list, func(a *agent, _ uint32) { a.send(KindNotice, 0, nothing{}) }, ErrMalformed},
		"sees too few":     {sees, func(a *agent, n uint32) { a.send(KindSeen, n, seen{{1, ""}}) }, ErrOutOfTurn},
		"sees one twice":   {sees, func(a *agent, n uint32) { a.send(KindSeen, n, seen{{1, ""}, {1, ""}}) }, ErrOutOfTurn},
		"gone, not asked":  {install, func(a *agent, n uint32) { a.send(KindInstalled, n, Installed{Gone: []uint32{3}}) }, ErrOutOfTurn},
		"fetches too few":  {fetch, func(a *agent, n uint32) { a.send(KindDone, n, nothing{}) }, ErrOutOfTurn},
		"fetches another":  {fetch, func(a *agent, n uint32) { a.send(KindOriginal, n, original{3, true, []byte{1}}) }, ErrOutOfTurn},
		"an empty class":   {fetch, func(a *agent, n uint32) { a.send(KindOriginal, n, original{1, true, nil}) }, ErrMalformed},
		"done with more":   {fetch, func(a *agent, n uint32) { a.send(KindDone, n, message("")) }, ErrMalformed},
		"odd transform":    {list, func(a *agent, n uint32) { a.send(KindTransform, n, Transform{}) }, ErrOutOfTurn},
		"transform 0":      {list, func(a *agent, _ uint32) { a.send(KindTransform, 0, Transform{}) }, ErrOutOfTurn},
		"bad transform":    {list, func(a *agent, _ uint32) { a.send(KindTransform, 4, nothing{}) }, ErrMalformed},
	} {
		p, a := connect(t, Settings{})
		other := make(chan error, 1)
		go func() { other <- p.Map(t.Context(), "/never/answered", 0, 0) }()
		a.receive(KindMap)
		go func() {
			f, err := readFrame(a.reader, MaxFrame)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			tt.say(a, f.request)
		}()
		for _, err := range []error{tt.call(t.Context(), p), <-other, p.Err(), p.Ping(t.Context())} {
			var lost *LostError
			if !errors.Is(err, ErrLost) || !errors.Is(err, tt.reason) || !errors.As(err, &lost) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", name, err)
			}
		}
		<-p.Done()
		a.cutOff(name)
	}
}

func TestDuplicateReply(t *testing.T) {
	p, a := connect(t, Settings{})
	go func() {
		f := a.receive(KindPing)
		a.send(KindDone, f.request, nothing{})
		a.send(KindDone, f.request, nothing{})
	}()
	if err := p.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	<-p.Done()
	if err := p.Err(); !errors.Is(err, ErrOutOfTurn) {
		t.Error(err)
	}
}

// TestCloseTellsWaiters also when the agent no longer reads.
func TestCloseTellsWaiters(t *testing.T) {
	p, _ := connect(t, Settings{})
	const waiters = 3 * outgoing
	told := make(chan error, waiters)
	for range waiters {
		go func() { told <- p.Ping(t.Context()) }()
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for range waiters {
		if err := <-told; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// TestAbandonedRequest holds that the late answer to one is taken as such.
func TestAbandonedRequest(t *testing.T) {
	p, a := connect(t, Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := p.List(ctx)
		given <- err
	}()
	late := a.receive(KindList)
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) || errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := p.Ping(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("asked with a context that has ended: %v", err)
	}
	go func() {
		a.send(KindClasses, late.request, classes{})
		a.send(KindClasses, late.request, classes{last: true})
		a.send(KindDone, a.receive(KindPing).request, nothing{})
	}()
	if err := p.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if len(p.requests.open) > 0 {
		t.Errorf("%d requests are left", len(p.requests.open))
	}
}

func TestSilentAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := connect(t, Settings{Silence: 30 * time.Second})
		started := time.Now()
		go a.receive(KindList)
		if _, err := p.List(t.Context()); !errors.Is(err, ErrSilent) || time.Since(started) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
	})
}

// TestAgentThatDoesNotRead is silent, too.
func TestAgentThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := connect(t, Settings{Silence: 30 * time.Second})
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
					a.send(KindNotice, 0, message("I live"))
				}
			}
		}()
		if err := p.Ping(t.Context()); !errors.Is(err, ErrSilent) {
			t.Error(err)
		}
		close(stop)
	})
}

// TestLeaseIsKept counts signs of life on a clock of its own.
func TestLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := connect(t, Settings{Lease: 4 * time.Second})
		last := time.Now()
		for range 10 {
			f := a.receive(KindPing)
			if gap := time.Since(last); gap > time.Second {
				t.Errorf("a gap of %v", gap)
			}
			last = time.Now()
			a.send(KindDone, f.request, nothing{})
		}
		p.Close()
		a.cutOff("an agent after the end")
	})
}

func TestRequestNumbersComeRound(t *testing.T) {
	p, a := connect(t, Settings{})
	go a.serve(func(frame) {})
	p.requests.mu.Lock()
	p.requests.last = 1<<32 - 3
	p.requests.open[1] = &answer{peer: p, asked: KindList}
	p.requests.mu.Unlock()
	for _, want := range []uint32{1<<32 - 1, 3} {
		answer, err := p.ask(t.Context(), KindPing, nothing{})
		if err != nil || answer.number != want {
			t.Errorf("number %d instead of %d, %v", answer.number, want, err)
		}
	}
}
