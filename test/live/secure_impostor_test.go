package live_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestImpostorInSondesPlace has someone answer the agent who does not know the
// proof: whatever it says, no hook class is defined and nothing is changed.
func TestImpostorInSondesPlace(t *testing.T) {
	answers := map[string]func(token string) []byte{
		"a wrong proof": func(string) []byte {
			return frame(control.KindWelcome, 0, text(control.NewSecrets().Proof), u32(60_000))
		},
		"the agent's token":   func(token string) []byte { return frame(control.KindWelcome, 0, text(token), u32(60_000)) },
		"no proof":            func(string) []byte { return frame(control.KindWelcome, 0, text(""), u32(60_000)) },
		"a WELCOME cut off":   func(string) []byte { return frame(control.KindWelcome, 0, text("x")) },
		"an order at once":    func(string) []byte { return frame(control.KindMap, 1, text("/dev/shm/x"), u64(1<<20), u32(1)) },
		"classes to be woven": func(string) []byte { return frame(control.KindInstall, 1, u32(1), u32(1)) },
		"too much":            func(string) []byte { return append(u32(4097), make([]byte, 4097)...) },
		"a negative length":   func(string) []byte { return u32(1 << 31) },
		"a WELCOME and orders": func(string) []byte {
			return append(frame(control.KindWelcome, 0, text("x"), u32(1)), frame(control.KindList, 1)...)
		},
		"refusal": func(string) []byte { return frame(control.KindRefused, 0, text("no")) },
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		s.StartLoad(1)
		for name, answer := range answers {
			c := pitch(s, (*targetfs.Foothold).Listen)
			c.call()
			conn, err := c.listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			hello := make([]byte, 4096)
			if n, err := conn.Read(hello); err != nil || n < 9 || control.Kind(hello[4]) != control.KindHello {
				t.Fatalf("%s: %d bytes of %d, %v", name, n, hello[4], err)
			}
			write(conn, answer(c.secrets.Token))
			cutOff(t, name, conn)
			c.strike()
			s.asItWas(before)
		}
		if found := before.oracle.Methods("java.lang.SondeHooks"); len(found) > 0 {
			t.Errorf("hooks were defined for an impostor: %v", found)
		}
		s.moves()
		s.StopLoad()
		s.Check()
	})
}

// cutOff demands that the other end hangs up and says nothing.
func cutOff(t *testing.T, name string, conn net.Conn) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if len(said) > 0 || err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("%s: was told %q, %v", name, said, err)
	}
	_ = conn.Close()
}

// TestStrangersAtTheDoor dials where the agent is expected, with whatever one
// could try who does not know the token; the agent still gets through. On the
// loopback everybody can dial.
func TestStrangersAtTheDoor(t *testing.T) {
	hello := func(token string) []byte {
		return frame(control.KindHello, 0, []byte{0, control.Protocol}, text(token), text("build"), text("17"), text("java/lang/SondeHooks"))
	}
	strangers := map[string][]byte{
		"a wrong token":  hello(control.NewSecrets().Token),
		"no token":       hello(""),
		"a long HELLO":   append(u32(5000), make([]byte, 5000)...),
		"another frame":  frame(control.KindNotice, 0, text("let me in")),
		"HELLO cut off":  hello("x")[:12],
		"nothing at all": nil,
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Neighbour)
		s.Run(1)
		c := pitch(s, (*targetfs.Foothold).ListenLoopback)
		door := control.Listen(c.listener, c.secrets, control.Settings{})
		accepted := make(chan error, 1)
		var peer *control.Peer
		go func() {
			var err error
			peer, err = door.Accept(context.Background(), nil)
			accepted <- err
		}()
		var waiting []net.Conn
		for name, words := range strangers {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.listener.Port))
			if err != nil {
				t.Fatal(err)
			}
			write(conn, words)
			if name == "nothing at all" || name == "HELLO cut off" {
				waiting = append(waiting, conn) // it is cut off when the door shuts
				continue
			}
			cutOff(t, name, conn)
		}
		c.call()
		if err := <-accepted; err != nil {
			t.Fatal(err)
		}
		for _, conn := range waiting {
			cutOff(t, "a silent one", conn)
		}
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.listener.Port)); err == nil {
			write(conn, hello(c.secrets.Token)) // even the right one comes too late
			cutOff(t, "a late one", conn)
		}
		if _, err := peer.Bye(context.Background(), func(control.Restoring) {}); err != nil && !errors.Is(err, control.ErrLost) {
			t.Error(err)
		}
		c.strike()
		s.gone()
		s.Check()
	})
}
