package targetfs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
)

// firstWithSockets is the first JDK in which Java can dial Unix sockets.
const firstWithSockets = 16

// backlog has room for one agent and for callers that are not the agent.
const backlog = 16

// A Listener accepts the target's agent, and anyone else who dials. For a Unix socket the kernel identifies the
// caller (control.FromProcess), on the loopback only the session's token does. The file of a socket is removed
// with the foothold.
type Listener struct {
	net.Listener
	Socket string // path, as the target sees it, or ""
	Port   int    // on the target's loopback, or 0
}

// Listen listens on a Unix socket in the foothold, or on the target's own loopback if its JDK cannot dial Unix
// sockets or its version is unknown.
func (f *Foothold) Listen() (*Listener, error) {
	if jdk.Feature(f.jvm.Version) >= firstWithSockets {
		return f.ListenUnix()
	}
	return f.ListenLoopback()
}

// ListenUnix listens on a socket in the foothold that belongs to the target's user.
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
	// The file that bind creates has the mode of the socket.
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return nil, os.NewSyscallError("fchmod", err)
	}
	// Through the handle, the name is short enough for a socket.
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

// ListenLoopback listens on a free port of 127.0.0.1 in the target's network
// namespace.
func (f *Foothold) ListenLoopback() (*Listener, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return nil, f.removed()
	}
	socket, err := f.loopbackSocket()
	switch {
	case errors.Is(err, unix.EPERM):
		return nil, f.fail(ErrNetwork, "it has its own network namespace, which only root can enter; run sonde as root, or run the program on JDK 16 or later, which needs no network", err)
	case errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.ENETUNREACH):
		return nil, f.fail(ErrNetwork, "the loopback interface is down; run ip link set lo up in its network namespace", err)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return nil, f.fail(ErrGone, "sonde ps lists the running JVMs", nil)
	case err != nil:
		return nil, f.fail(ErrNetwork, "try again", err)
	}
	defer func() { _ = socket.Close() }() // FileListener has a copy
	inner, err := startListening(socket)
	if err != nil {
		return nil, f.fail(ErrNetwork, "try again", err)
	}
	address, ok := inner.Addr().(*net.TCPAddr)
	if !ok {
		_ = inner.Close()
		return nil, f.fail(ErrNetwork, fmt.Sprintf("%v is not a port", inner.Addr()), nil)
	}
	l := &Listener{Listener: inner, Port: address.Port}
	f.listeners = append(f.listeners, l)
	return l, nil
}

// loopbackSocket binds a socket in the target's network namespace, to which it belongs from then on.
func (f *Foothold) loopbackSocket() (socket *os.File, err error) {
	theirs, err := os.Open(f.host.Path(f.jvm.PID, "ns/net"))
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, unix.EPERM
	case err != nil:
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	if !f.host.Same(f.jvm) {
		return nil, unix.ESRCH
	}
	err = asuser.OnThread(func() (back bool, err error) {
		return visit(theirs, func() (err error) {
			socket, err = boundSocket()
			return err
		})
	})
	return socket, err
}

var loopback = [4]byte{127, 0, 0, 1}

func boundSocket() (*os.File, error) {
	if err := checkRoute(); err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback}); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return os.NewFile(uintptr(fd), "loopback"), nil
}

// checkRoute checks that the loopback is up: listening works even if it is not, but nobody could dial. Connecting a
// datagram socket sends nothing.
func checkRoute() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(fd) }()
	const anyPort = 9
	return os.NewSyscallError("connect", unix.Connect(fd, &unix.SockaddrInet4{Addr: loopback, Port: anyPort}))
}

// visit calls fn on this thread in a network namespace, and reports whether the thread is back in its own.
func visit(theirs *os.File, fn func() error) (back bool, err error) {
	ours, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return true, err
	}
	defer func() { _ = ours.Close() }()
	if sameFile(ours, theirs) {
		return true, fn()
	}
	if err := unix.Setns(int(theirs.Fd()), unix.CLONE_NEWNET); err != nil {
		return true, os.NewSyscallError("setns", err)
	}
	defer func() { back = unix.Setns(int(ours.Fd()), unix.CLONE_NEWNET) == nil }()
	return false, fn()
}

func sameFile(a, b *os.File) bool {
	one, err := a.Stat()
	if err != nil {
		return false
	}
	other, err := b.Stat()
	return err == nil && os.SameFile(one, other)
}
