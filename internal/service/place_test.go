package service

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// dir returns the directory of sockets in the place's temporary directory.
func (p Place) dir() string { return p.dirs(uint32(os.Geteuid()))[len(p.dirs(uint32(os.Geteuid())))-1] }

func TestListenTwice(t *testing.T) {
	s := serve(t)
	if _, err := s.place.Listen(t.Context()); !errors.Is(err, ErrRunning) {
		t.Errorf("listening again: %v, want that the service is already running", err)
	}
	s.mustCall(http.MethodGet, "/v1/service", "", &About{}) // the first one goes on
}

// TestListenTogether: of services that start at the same time, one listens.
func TestListenTogether(t *testing.T) {
	place := newPlace(t)
	var listening atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			listener, err := place.Listen(t.Context())
			switch {
			case err == nil:
				listening.Add(1)
				t.Cleanup(func() { _ = listener.Close() })
			case !errors.Is(err, ErrRunning):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := listening.Load(); n != 1 {
		t.Errorf("%d services listen at one socket", n)
	}
}

// TestStaleSocket: the sockets of services that were killed are replaced and removed.
func TestStaleSocket(t *testing.T) {
	place := newPlace(t)
	older := Place{Temp: place.Temp, Version: "0"}
	for _, p := range []Place{place, older} {
		listener, err := p.Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // a killed process leaves it
		_ = listener.Close()
		if _, err := p.Find(t.Context()); !errors.Is(err, ErrNone) {
			t.Errorf("a service that was killed: %v, want that none is running", err)
		}
	}
	listener, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if _, err := place.Find(t.Context()); err != nil {
		t.Errorf("the service that follows is not found: %v", err)
	}
	entries, err := os.ReadDir(place.dir())
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v; want the new socket alone", entries, err)
	}
	info, err := os.Lstat(place.dir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
}

// TestOtherSocket: a service whose socket was removed leaves that of its follower alone.
func TestOtherSocket(t *testing.T) {
	place := newPlace(t)
	first, err := New(Settings{Runner: &fake{}, State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- first.Serve(listener) }()
	client, err := place.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Call(t.Context(), http.MethodGet, "/v1/service", nil, nil); err != nil { // Serve has begun
		t.Fatal(err)
	}
	if err := os.RemoveAll(place.dir()); err != nil {
		t.Fatal(err)
	}
	next, err := place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Close() }()
	first.Close()
	if err := within(t, served); err != nil {
		t.Error(err)
	}
	if _, err := place.Find(t.Context()); err != nil {
		t.Errorf("after the first service has ended, the second is not found: %v", err)
	}
}

// TestUnsafe: a directory that others can change or read is not used.
func TestUnsafe(t *testing.T) {
	open := func(mode os.FileMode) func(t *testing.T, dir string) error {
		return func(_ *testing.T, dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)) }
	}
	for name, prepare := range map[string]func(t *testing.T, dir string) error{
		"readable by the group": open(0o750),
		"open to all":           open(0o777),
		"searchable by all":     open(0o701),
		"a file":                func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link":                func(t *testing.T, dir string) error { return os.Symlink(t.TempDir(), dir) },
		"of another user": func(t *testing.T, dir string) error {
			if os.Geteuid() != 0 {
				t.Skip("NOT TESTED: only root can make a directory of another user")
			}
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534))
		},
	} {
		t.Run(name, func(t *testing.T) {
			place := newPlace(t)
			if err := prepare(t, place.dir()); err != nil {
				t.Fatal(err)
			}
			_, err := place.Listen(t.Context())
			if !errors.Is(err, ErrUnsafe) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), place.dir()) {
				t.Errorf("listening: %v, want one line that refuses the directory", err)
			}
			listener, err := net.Listen("unix", filepath.Join(place.dir(), filepath.Base(place.socket("x"))))
			if err != nil {
				return // a file is no directory
			}
			defer func() { _ = listener.Close() }()
			if _, err := place.Find(t.Context()); !errors.Is(err, ErrNone) {
				t.Errorf("a client uses the directory: %v", err)
			}
		})
	}
}

// TestRuntimeDir: the runtime directory of the user is preferred, and another one is used if
// it cannot be.
func TestRuntimeDir(t *testing.T) {
	place := newPlace(t)
	place.Runtime = newPlace(t).Temp
	for _, c := range []struct{ runtime, want string }{
		{place.Runtime, filepath.Join(place.Runtime, "sonde")},
		{"", place.dir()},
		{"relative", place.dir()},
		{filepath.Join(place.Runtime, "missing"), place.dir()},
		{filepath.Join(place.Runtime, strings.Repeat("x", 80)), place.dir()},
	} {
		if len(c.runtime) > 80 {
			if err := os.Mkdir(c.runtime, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		p := Place{c.runtime, place.Temp, "1"}
		listener, err := p.Listen(t.Context())
		if err != nil {
			t.Errorf("%q: %v", c.runtime, err)
			continue
		}
		client, err := p.Find(t.Context())
		if err != nil || filepath.Dir(client.Socket) != c.want || listener.Addr().String() != client.Socket {
			t.Errorf("XDG_RUNTIME_DIR=%q: listens at %s, found %v, %v; want it in %s", c.runtime, listener.Addr(), client, err, c.want)
		}
		_ = listener.Close()
	}
	long := Place{"", filepath.Join(place.Temp, strings.Repeat("x", 100)), "1"}
	if _, err := long.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a path that is too long for a socket: %v", err)
	}
}

// TestVersions: services of two versions do not meet.
func TestVersions(t *testing.T) {
	one := serve(t)
	two := Place{Temp: one.place.Temp, Version: "2"}
	if _, err := two.Find(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("a client of another version: %v, want that no service is running", err)
	}
	host, err := New(Settings{Version: "2", Runner: one.fake, State: one.State})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := two.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := &stage{T: t, Service: host, fake: one.fake, place: two}
	other.listen(listener)
	if other.client, err = two.Find(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]*stage{"1": one, "2": other} {
		var about About
		if s.mustCall(http.MethodGet, "/v1/service", "", &about); about.Version != want {
			t.Errorf("the client of version %s has found %s", want, about.Version)
		}
	}
	// They share the history, and leave each other's looks alone.
	first, second := one.postBackground(), other.postBackground()
	if first.Number() == second.Number() {
		t.Errorf("both looks have the number %d", first.Number())
	}
	var list List
	other.mustCall(http.MethodGet, "/v1/looks", "", &list)
	if len(list.Looks) != 2 || list.Looks[0].State != Running || list.Looks[1].State != Running {
		t.Errorf("the list of the other service is %+v", list.Looks)
	}
	checkRefusal(t, "end of a look of another service", other.ask(http.MethodPost, first.path("/end"), nil), http.StatusConflict, "another version")
	checkRefusal(t, "result of a look of another service", other.ask(http.MethodGet, first.path("/result"), nil), http.StatusConflict, "is still running")
	if first.ctx.Err() != nil {
		t.Error("the look of another service was ended")
	}
}
