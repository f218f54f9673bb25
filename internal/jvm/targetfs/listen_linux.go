package targetfs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// firstWithSockets is the JDK from which on Java can dial Unix sockets.
const firstWithSockets = 16

// backlog is of one agent, and of those who are in its way.
const backlog = 16

// A Listener is where the target's agent dials. It takes whoever dials: that it
// is the target, the kernel can tell of a Unix socket (control.FromProcess), on
// the loopback only the session's token. A socket's file goes with the foothold.
type Listener struct {
	net.Listener
	Socket string // path, as the target sees it, or ""
	Port   int    // on the target's loopback, or 0
}

// Listen listens where the target's JDK can dial: on a Unix socket in the
// foothold, or on the target's own loopback where the JDK has none, or its
// version is not known.
func (f *Foothold) Listen() (*Listener, error) {
	if majorVersion(f.jvm.Version) >= firstWithSockets {
		return f.ListenUnix()
	}
	return f.ListenLoopback()
}

// majorVersion reads 17.0.15, 1.8.0_402, 22-ea; 0 where it cannot.
func majorVersion(version string) int {
	version = strings.TrimPrefix(version, "1.")
	if end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		version = version[:end]
	}
	major, err := strconv.Atoi(version)
	if err != nil {
		return 0
	}
	return major
}

// ListenUnix listens on a socket in the foothold, the target's user's own.
func (f *Foothold) ListenUnix() (*Listener, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return nil, f.removed()
	}
	inner, err := f.own.listen(socketName)
	if err != nil {
		return nil, f.explain(err)
	}
	l := &Listener{Listener: inner, Socket: path.Join(f.own.path, socketName)}
	f.listeners = append(f.listeners, l)
	return l, nil
}

func (p *place) listen(name string) (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }() // FileListener has a copy
	// The file that bind makes has the mode the socket has by then.
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return nil, os.NewSyscallError("fchmod", err)
	}
	// Through the handle the name is short enough for a socket's.
	address := &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", p.fd(), name)}
	if err := p.as(func() error { return unix.Bind(fd, address) }); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	inner, err := startListening(file)
	if err != nil {
		return nil, errors.Join(err, p.remove(name))
	}
	return inner, nil
}

func startListening(socket *os.File) (net.Listener, error) {
	if err := unix.Listen(int(socket.Fd()), backlog); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	return net.FileListener(socket)
}
