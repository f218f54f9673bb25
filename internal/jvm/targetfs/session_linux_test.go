package targetfs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestSessionIsRead by Java, whatever the values hold.
func TestSessionIsRead(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		g := startGuest(t, jdk, nil)
		f := mustMake(t, g.jvm)
		token, proof := random(32), random(32)
		path, err := f.WriteSession(Session{Jar: `/a b\c=d:#e!`, Port: 4711, Token: token, Proof: proof, Holder: " é\n\t𝄞 "})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{holder= <233><10><9><55348><56606> , jar=/a b\c=d:#e!, port=4711, proof=%s, token=%s}`, proof, token)
		if got := g.does(t, "properties", path); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestSessionIsWhole(t *testing.T) {
	good := Session{Jar: "/j", Socket: "/s", Token: random(32), Proof: random(32)}
	for name, spoil := range map[string]func(s *Session){
		"both":       func(s *Session) { s.Port = 1 },
		"neither":    func(s *Session) { s.Socket = "" },
		"no port":    func(s *Session) { s.Socket, s.Port = "", 65536 },
		"no jar":     func(s *Session) { s.Jar = "" },
		"no token":   func(s *Session) { s.Token = "" },
		"weak proof": func(s *Session) { s.Proof = strings.Repeat("x", 32) },
	} {
		s := good
		spoil(&s)
		if text, err := s.encode(); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
	if _, err := good.encode(); err != nil {
		t.Error(err)
	}
}
