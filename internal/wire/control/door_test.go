package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// cutOff wants the connection to end without a word, unless the agent ended it.
func (a *agent) cutOff(what string) {
	a.t.Helper()
	said, err := io.ReadAll(a.conn)
	if err != nil && !errors.Is(err, io.ErrClosedPipe) || len(said) > 0 {
		a.t.Errorf("%s receives %q, %v", what, said, err)
	}
}

func TestOnlyTheTokenOpens(t *testing.T) {
	l, secrets := newPipes(), NewSecrets()
	accepted := accept(t.Context(), Listen(l, secrets, Settings{Lease: quiet}), nil)
	wrong := map[string]func(a *agent){
		"the proof":        func(a *agent) { a.hello(secrets.Proof) },
		"no token":         func(a *agent) { a.hello("") },
		"half a token":     func(a *agent) { a.hello(secrets.Token[:16]) },
		"a long token":     func(a *agent) { a.hello(secrets.Token + "0") },
		"another kind":     func(a *agent) { a.send(KindNotice, 0, secrets.Token) },
		"sonde's number":   func(a *agent) { a.send(KindHello, 1, samples[KindHello]) },
		"an unknown kind":  func(a *agent) { a.raw([]byte{0, 0, 0, 5, 99, 0, 0, 0, 0}) },
		"a long hello":     func(a *agent) { a.raw([]byte{0, 0, 0x10, 1, byte(KindHello), 0, 0, 0, 2}) },
		"a malformed body": func(a *agent) { a.send(KindHello, 2, secrets.Token) },
	}
	for what, say := range wrong {
		a := l.dial(t)
		go say(a)
		a.cutOff(what)
	}
	right := l.dial(t)
	right.join(secrets)
	p, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Hello() != (Hello{Protocol, "b1", "17.0.15", "java.lang.SondeRt"}) {
		t.Errorf("the agent is %+v", p.Hello())
	}
	if l.dial(t) != nil {
		t.Error("the door is still open")
	}
}

func TestSilentCallersDoNotKeepTheAgentOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, secrets := newPipes(), NewSecrets()
		accepted := accept(t.Context(), Listen(l, secrets, Settings{Lease: quiet}), nil)
		for range 3 * maxUnproven {
			go func() {
				if silent := l.dial(t); silent != nil {
					silent.cutOff("a silent caller")
				}
			}()
		}
		synctest.Wait()
		l.dial(t).join(secrets)
		p, err := accepted()
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
	})
}

func TestNobodyCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newPipes()
	accepted := accept(ctx, Listen(l, NewSecrets(), Settings{}), func(net.Conn) error { return &StrangerError{7, 8} })
	l.dial(t).cutOff("a stranger")
	pending := l.dial(t)
	pending.cutOff("another")
	cancel()
	_, err := accepted()
	var nobody *NoAgentError
	if !errors.As(err, &nobody) || nobody.TurnedAway != 2 || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "process 7 of user 8") {
		t.Error(err)
	}
	if l.dial(t) != nil {
		t.Error("the door is still open")
	}
}

func TestListenerFails(t *testing.T) {
	d := Listen(newPipes(), NewSecrets(), Settings{})
	d.Close()
	if _, err := d.Accept(t.Context(), nil); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestDoorWithoutSecrets must not be opened by nothing.
func TestDoorWithoutSecrets(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newPipes()
	accepted := accept(ctx, Listen(l, Secrets{}, Settings{}), nil)
	a := l.dial(t)
	go a.hello("")
	a.cutOff("one who shows nothing")
	cancel()
	if _, err := accepted(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRefusal(t *testing.T) {
	for name, refuse := range map[string]func(a *agent, token string){
		"at once": func(a *agent, token string) {
			a.hello(token)
			a.send(KindRefused, 0, "sonde count,\nprocess 4711")
			a.conn.Close()
		},
		"when welcomed": func(a *agent, token string) {
			a.hello(token)
			a.receive(KindWelcome)
			a.send(KindRefused, 2, "sonde count,\nprocess 4711")
			_, _ = io.Copy(io.Discard, a.conn)
		},
	} {
		l, secrets := newPipes(), NewSecrets()
		accepted := accept(t.Context(), Listen(l, secrets, Settings{}), nil)
		refuse(l.dial(t), secrets.Token)
		_, err := accepted()
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Holder != "sonde count,\nprocess 4711" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnotherProtocol(t *testing.T) {
	l, secrets := newPipes(), NewSecrets()
	accepted := accept(t.Context(), Listen(l, secrets, Settings{}), nil)
	a := l.dial(t)
	a.send(KindHello, 2, hello{Protocol: Protocol + 1, Build: "b9", Token: secrets.Token})
	said, err := decode[string](a.receive(KindRefused))
	if err != nil || !strings.Contains(said, "b9") {
		t.Errorf("the agent receives %q, %v", said, err)
	}
	a.cutOff("the agent")
	var version *VersionError
	if _, err := accepted(); !errors.As(err, &version) || version.Agent != Protocol+1 {
		t.Error(err)
	}
}

// TestAgentThatDoesNotAnswerItsWelcome ends the greeting by its own limit.
func TestAgentThatDoesNotAnswerItsWelcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, secrets := newPipes(), NewSecrets()
		accepted := accept(t.Context(), Listen(l, secrets, Settings{Lease: quiet}), nil)
		a := l.dial(t)
		a.hello(secrets.Token)
		a.receive(KindWelcome)
		a.receive(KindPing)
		a.cutOff("the agent")
		if _, err := accepted(); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestSecrets(t *testing.T) {
	s := NewSecrets()
	for _, secret := range []string{s.Token, s.Proof} {
		if len(secret) != 32 || strings.Trim(secret, "0123456789abcdef") != "" {
			t.Errorf("%q is not 32 hex digits", secret)
		}
		for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
			if strings.Contains(fmt.Sprintf(form, s), secret) {
				t.Errorf("%s prints a secret", form)
			}
		}
	}
	if s.Token == s.Proof || s == NewSecrets() {
		t.Error("secrets repeat")
	}
}

func TestLeaseFits(t *testing.T) {
	for lease, want := range map[time.Duration]uint32{1: 1, time.Second: 1000, 1 << 62: 1<<32 - 1} {
		if got := milliseconds(lease); got != want {
			t.Errorf("%v: %d", lease, got)
		}
	}
}

// unixPair is a session over a real socket. The agent answers from its welcome on, or, without a function for that, only the greeting.
func unixPair(t *testing.T, s Settings, answer func(*agent, frame)) (*Peer, *agent) {
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
	if answer == nil {
		a.join(secrets)
	} else { // the first ping may be one that renews the lease, so all are answered
		a.hello(secrets.Token)
		a.receive(KindWelcome)
		go a.serve(func(f frame) { answer(a, f) })
	}
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

// echo answers so that an answer identifies its request.
func (a *agent) echo(f frame) {
	switch f.kind {
	case KindCalibrate:
		asked, _ := decode[Calibration](f)
		a.send(KindCalibrated, f.request, []Run{{Plain: uint64(asked.Rounds)}})
	case KindSees:
		asked, _ := decode[[]uint32](f)
		a.send(KindSeen, f.request, []sight{{asked[0], fmt.Sprint(asked[0])}})
	case KindFetch:
		asked, _ := decode[[]uint32](f)
		for _, handle := range asked {
			a.send(KindOriginal, f.request, original{handle, true, []byte(fmt.Sprint(handle)), nil})
		}
		a.send(KindDone, f.request, nothing{})
	case KindInstall:
		asked, _ := decode[[]uint32](f)
		a.send(KindTransform, 2*asked[0]+2, Transform{Handle: asked[0]})
		a.send(KindInstalled, f.request, Installed{Gone: asked})
	}
}

func TestManyAtATime(t *testing.T) {
	const each = 200
	var mu sync.Mutex
	woven := map[uint32]int{}
	answered := make(chan frame, each)
	p, _ := unixPair(t, Settings{Lease: 4, Weave: func(_ context.Context, c Transform) (Woven, error) {
		mu.Lock()
		defer mu.Unlock()
		woven[c.Handle]++
		return Woven{New: []byte{1}}, nil
	}}, func(a *agent, f frame) {
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
			err := p.Fetch(t.Context(), []uint32{n, n + 1}, func(handle uint32, file []byte, _ []string) {
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
	p, a := unixPair(t, Settings{Lease: quiet}, nil)
	const waiters = 50
	results := make(chan error, waiters)
	for range waiters {
		go func() {
			_, err := p.Threads(t.Context())
			results <- err
		}()
	}
	for range waiters / 2 {
		a.receive(KindThreads)
	}
	a.raw([]byte{0, 0, 1, 0, byte(KindNamed), 0, 0})
	a.conn.Close()
	for range waiters {
		if err := <-results; !errors.Is(err, ErrLost) {
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
			a.send(KindRefused, 0, "another")
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
		p, _ := unixPair(t, Settings{Lease: 4}, func(a *agent, f frame) { // nanoseconds: as many pings as there can be
			a.send(KindRestored, f.request, Restored{Classes: 7})
			a.conn.Close()
		})
		if restored, err := p.Bye(t.Context(), func(Restoring) {}); err != nil || restored.Classes != 7 {
			t.Fatalf("%+v, %v", restored, err)
		}
	}
}
