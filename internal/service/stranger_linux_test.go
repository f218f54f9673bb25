package service

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
)

const nobody = 65534

// asStranger calls fn as another user.
func asStranger[T any](t *testing.T, fn func() (T, error)) (value T, err error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this test must change its user: run it as root")
	}
	err = asuser.As(asuser.User{UID: nobody, GID: nobody}, func() (failed error) {
		value, failed = fn()
		return failed
	})
	return value, err
}

// TestStrangers: another user cannot connect to the service. Even if that user can, because the
// modes of the directory and the socket were changed, every request is refused and has no effect.
func TestStrangers(t *testing.T) {
	s := serve(t)
	dial := func() (net.Conn, error) { return net.Dial("unix", s.client.Socket) }
	if _, err := asStranger(t, dial); !errors.Is(err, os.ErrPermission) {
		t.Errorf("another user connects: %v, want that this is not permitted", err)
	}
	if _, err := asStranger(t, func() ([]os.DirEntry, error) { return os.ReadDir(filepath.Dir(s.client.Socket)) }); !errors.Is(err, os.ErrPermission) {
		t.Errorf("another user lists the directory of the socket: %v", err)
	}
	a := s.postBackground()
	a.keep("json", "{}")
	for _, path := range []string{s.State, s.history.path(a.Number()), s.history.path(a.Number(), "result.json")} {
		if _, err := asStranger(t, func() (*os.File, error) { return os.Open(path) }); !errors.Is(err, os.ErrPermission) {
			t.Errorf("another user opens %s: %v", path, err)
		}
	}
	for path, mode := range map[string]os.FileMode{s.place.Temp: 0o755, filepath.Dir(s.client.Socket): 0o777, s.client.Socket: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Dial: func(string, string) (net.Conn, error) { return asStranger(t, dial) }}}
	for _, c := range s.everyCall() {
		body := aCount
		if c.path == "/v1/looks/1/keys" {
			body = `{"keys": "q"}`
		}
		have := ask(t, client, c.method, "http://sonde"+c.path, strings.NewReader(body), "Authorization", "Bearer ")
		checkRefusal(t, c.method+" "+c.path, have, http.StatusForbidden, "belongs to user 65534, the service to user 0")
	}
	if all := s.history.all(); len(all) != 1 || all[0].State != Running || a.ctx.Err() != nil || len(a.Keys()) > 0 || len(s.begun) > 0 || a.Terminal() != (Terminal{}) || isOver(s.Service) {
		t.Errorf("requests of another user had an effect: %+v", all)
	}
	if have := s.ask(http.MethodGet, "/v1/looks", nil); have.status != http.StatusOK {
		t.Errorf("the user of the service gets %d %s", have.status, have.body)
	}
	// A client does not use such a directory any more, and no service starts in it.
	if _, err := s.place.Find(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("a client uses a directory that is open to others: %v", err)
	}
	if _, err := s.place.Listen(t.Context()); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a service uses a directory that is open to others: %v", err)
	}
}

// TestStrangeService: a client sends nothing to a process of another user.
func TestStrangeService(t *testing.T) {
	place := newPlace(t)
	if err := os.Chmod(place.Temp, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(place.Temp, "strange")
	listener, err := asStranger(t, func() (net.Listener, error) { return net.Listen("unix", path) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	received := make(chan int, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n, _ := conn.Read(make([]byte, 1))
			received <- n
			_ = conn.Close()
		}
	}()
	if err := errors.Join(os.Mkdir(place.dir(), 0o700), os.Rename(path, place.socket(place.dir()))); err != nil {
		t.Fatal(err)
	}
	client, err := place.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var stranger *StrangerError
	if err := client.Call(t.Context(), http.MethodPost, "/v1/looks/count", []byte(aCount), nil); !errors.As(err, &stranger) || stranger.User != nobody || errors.Is(err, ErrEnding) {
		t.Errorf("a client that finds a service of another user: %v", err)
	}
	if n := within(t, received) + within(t, received); n > 0 { // of Find, and of the call
		t.Error("the process of another user has received a request")
	}
}

// TestRootIsNoStranger: root can use the service of any user.
func TestRootIsNoStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: this test needs root")
	}
	host, err := New(Settings{Runner: &fake{}, State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	host.uid = nobody // as if the service belonged to another user
	s := &stage{T: t, Service: host, place: newPlace(t)}
	listener, err := s.place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.listen(listener)
	if s.client, err = s.place.Find(t.Context()); err != nil {
		t.Fatal(err)
	}
	if have := s.ask(http.MethodGet, "/v1/service", nil); have.status != http.StatusOK {
		t.Errorf("root gets %d %s from the service of a user", have.status, have.body)
	}
}
