package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrUnsafe says that a directory cannot be trusted.
var ErrUnsafe = errors.New("Sonde cannot use it; remove it, or set XDG_RUNTIME_DIR to a directory of your own") //nolint:staticcheck // Sonde is a name

// ErrRunning says that another service of the same user and version listens already.
var ErrRunning = errors.New("the service is already running")

// errGone says that a directory was removed while this process waited for its lock.
var errGone = errors.New("the directory is gone")

// longestPath is the length that the kernel accepts for the path of a socket, with a margin.
const longestPath = 100

const dialPatience = 2 * time.Second

// A Place is where the service of a user and a version listens.
type Place struct {
	Runtime string // value of XDG_RUNTIME_DIR; may be empty
	Temp    string // used if there is no runtime directory
	Version string // a short name for the version of Sonde
}

// dirs returns directories to listen in, best first. The runtime directory itself must
// exist already and belong to the user.
func (p Place) dirs(uid uint32) (dirs []string) {
	if filepath.IsAbs(p.Runtime) && ownedBy(p.Runtime, uid) {
		dirs = append(dirs, filepath.Join(p.Runtime, "sonde"))
	}
	return append(dirs, filepath.Join(p.Temp, fmt.Sprint("sonde-", uid)))
}

func (p Place) socket(dir string) string { return filepath.Join(dir, "service-"+p.Version+".sock") }

// Listen listens at the socket of a service. It fails with [ErrRunning] if there is one.
func (p Place) Listen(ctx context.Context) (net.Listener, error) {
	uid := uint32(os.Geteuid())
	var failed error
	for _, dir := range p.dirs(uid) {
		path := p.socket(dir)
		if len(path) > longestPath {
			failed = errors.Join(failed, fmt.Errorf("the path %s is too long for a Unix socket: set XDG_RUNTIME_DIR to a shorter one", path))
			continue
		}
		listener, err := bind(ctx, dir, path, uid)
		if errors.Is(err, ErrUnsafe) || errors.Is(err, os.ErrPermission) {
			failed = errors.Join(failed, err)
			continue
		}
		return listener, err
	}
	return nil, fmt.Errorf("no directory for the socket of the service: %w", failed)
}

// bind listens at a path, unless another process answers there already. It removes the
// sockets of services that were killed.
func bind(ctx context.Context, dir, path string, uid uint32) (*net.UnixListener, error) {
	var unlock func()
	err := errGone
	for tries := 0; tries < 3 && errors.Is(err, errGone); tries++ { // a service that ends may remove the directory
		if err = private(dir, uid); err == nil {
			unlock, err = lock(ctx, dir)
		}
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		switch {
		case !strings.HasPrefix(entry.Name(), "service-") || filepath.Ext(entry.Name()) != ".sock":
		case !answers(ctx, name):
			_ = os.Remove(name)
		case name == path:
			return nil, ErrRunning
		}
	}
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}

// answers reports whether a process listens at a socket, also if its queue is full.
func answers(ctx context.Context, path string) bool {
	dialer := net.Dialer{Timeout: dialPatience}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return !isDead(err)
	}
	_ = conn.Close()
	return true
}

// isDead reports whether no process listens at a socket, or there is none, by the error of a
// dial. A busy socket is not dead.
func isDead(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
}
