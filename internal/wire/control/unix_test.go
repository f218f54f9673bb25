package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// unixPair is a session over a real socket.
func unixPair(t *testing.T, s Settings) (*Peer, *agent) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := NewSecrets()
	accepted := accept(t.Context(), Listen(l, secrets, s), nil)
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, conn)
	a.join(secrets)
	p, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if _, err := os.Stat(l.Addr().String()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	return p, a
}

// echo answers so that an answer tells which request it is to.
func (a *agent) echo(f frame) {
	switch f.kind {
	case KindCalibrate:
		asked, _ := decode[Calibration](f)
		a.send(KindCalibrated, f.request, runs{{Plain: uint64(asked.Rounds)}})
	case KindSees:
		asked, _ := decode[handles](f)
		a.send(KindSeen, f.request, seen{{asked[0], fmt.Sprint(asked[0])}})
	case KindFetch:
		asked, _ := decode[handles](f)
		for _, handle := range asked {
			a.send(KindOriginal, f.request, original{handle, true, []byte(fmt.Sprint(handle))})
		}
		a.send(KindDone, f.request, nothing{})
	case KindInstall:
		asked, _ := decode[handles](f)
		a.send(KindTransform, 2*asked[0]+2, Transform{Handle: asked[0]})
		a.send(KindInstalled, f.request, Installed{Gone: asked})
	}
}

func TestManyAtATime(t *testing.T) {
	const each = 200
	var mu sync.Mutex
	woven := map[uint32]int{}
	p, a := unixPair(t, Settings{Lease: 4, Weave: func(_ context.Context, c Transform) (Woven, error) {
		mu.Lock()
		defer mu.Unlock()
		woven[c.Handle]++
		return Woven{New: []byte{1}}, nil
	}})
	answered := make(chan frame, each)
	go a.serve(func(f frame) {
		if f.kind == KindWoven {
			answered <- f
			return
		}
		a.echo(f)
	})
	var group sync.WaitGroup
	for n := range uint32(each) {
		text := fmt.Sprint(n)
		group.Go(func() {
			if got, err := p.Calibrate(t.Context(), Calibration{Rounds: n}); err != nil || got[0].Plain != uint64(n) {
				t.Errorf("calibrate %d: %v, %v", n, got, err)
			}
		})
		group.Go(func() {
			if got, err := p.Sees(t.Context(), []uint32{n}); err != nil || got[n] != text {
				t.Errorf("sees %d: %v, %v", n, got, err)
			}
		})
		group.Go(func() {
			err := p.Fetch(t.Context(), []uint32{n, n + 1}, func(handle uint32, file []byte, _ string) {
				if string(file) != fmt.Sprint(handle) {
					t.Errorf("fetch %d: %s", handle, file)
				}
			})
			if err != nil {
				t.Errorf("fetch %d: %v", n, err)
			}
		})
		group.Go(func() {
			if got, err := p.Install(t.Context(), []uint32{n}); err != nil || got.Gone[0] != n {
				t.Errorf("install %d: %v, %v", n, got, err)
			}
		})
	}
	group.Wait()
	for range each {
		<-answered
	}
	mu.Lock()
	defer mu.Unlock()
	if len(woven) != each {
		t.Errorf("%d of %d classes woven", len(woven), each)
	}
}

// TestKilledAgent leaves nobody waiting, whatever was under way.
func TestKilledAgent(t *testing.T) {
	p, a := unixPair(t, Settings{Lease: quiet})
	const waiters = 50
	told := make(chan error, waiters)
	for range waiters {
		go func() {
			_, err := p.Threads(t.Context())
			told <- err
		}()
	}
	for range waiters / 2 {
		a.receive(KindThreads)
	}
	a.raw([]byte{0, 0, 1, 0, byte(KindNamed), 0, 0})
	a.conn.Close()
	for range waiters {
		if err := <-told; !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	}
}

// TestRefusalOutlivesTheConnection also where our welcome finds it closed.
func TestRefusalOutlivesTheConnection(t *testing.T) {
	for network, address := range map[string]string{"unix": filepath.Join(t.TempDir(), "s"), "tcp": "127.0.0.1:0"} {
		for range 50 {
			l, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			secrets := NewSecrets()
			conn, err := net.Dial(network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			a := newAgent(t, conn)
			a.hello(secrets.Token)
			a.send(KindRefused, 0, message("another"))
			conn.Close()
			var refused *RefusedError
			if _, err := Listen(l, secrets, Settings{}).Accept(t.Context(), nil); !errors.As(err, &refused) {
				t.Fatalf("%s: %v", network, err)
			}
		}
	}
}

// TestByeOutlivesTheConnection where our pings find it closed.
func TestByeOutlivesTheConnection(t *testing.T) {
	for range 50 {
		p, a := unixPair(t, Settings{Lease: 4}) // nanoseconds: as many pings as there can be
		go a.serve(func(f frame) {
			a.send(KindRestored, f.request, Restored{Classes: 7})
			a.conn.Close()
		})
		if restored, err := p.Bye(t.Context(), func(Restoring) {}); err != nil || restored.Classes != 7 {
			t.Fatalf("%+v, %v", restored, err)
		}
	}
}
