package attach

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// live is a JVM of this host.
type live struct {
	host    process.Host
	jvm     *process.JVM
	handle  int      // a pidfd: this process and no later one of its number
	tmp     *os.File // the JVM's own /tmp
	working *os.File // its working directory, nil where it cannot be reached
	signal  func() error
}

// newLive takes hold of the process that was inspected, with the power we have;
// nothing is changed yet.
func newLive(host process.Host, jvm *process.JVM) (*live, error) {
	handle, err := unix.PidfdOpen(jvm.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, &Error{PID: jvm.PID, Kind: ErrGone, Detail: "sonde ps lists those there are"}
	}
	if err != nil {
		return nil, &Error{PID: jvm.PID, Kind: ErrDisabled, Detail: "sonde needs Linux 5.3 or later", Cause: err}
	}
	l := &live{host: host, jvm: jvm, handle: handle}
	l.signal = func() error { return unix.PidfdSendSignal(l.handle, unix.SIGQUIT, nil, 0) }
	// The handle is the inspected process only if that still has the number.
	if !host.Same(jvm) {
		l.close()
		return nil, &Error{PID: jvm.PID, Kind: ErrGone, Detail: "sonde ps lists those there are"}
	}
	if l.tmp, err = host.OpenInside(jvm.PID, "/tmp", unix.O_PATH|unix.O_DIRECTORY); err != nil {
		l.close()
		return nil, &Error{PID: jvm.PID, Kind: ErrDisabled, Detail: "its /tmp cannot be reached: make one that its user can write", Cause: err}
	}
	l.working, _ = host.OpenWorking(jvm.PID, ".", unix.O_PATH|unix.O_DIRECTORY) // only ever a second choice
	return l, nil
}

func (l *live) close() {
	if l.handle >= 0 {
		_ = unix.Close(l.handle)
		l.handle = -1
	}
	for _, file := range []*os.File{l.tmp, l.working} {
		if file != nil {
			_ = file.Close()
		}
	}
}

func (l *live) alive() bool {
	return l.handle >= 0 && !errors.Is(unix.PidfdSendSignal(l.handle, 0, nil, 0), unix.ESRCH) && l.host.Same(l.jvm)
}

// dial opens the socket with the JVM's own identity, the only one besides
// root's that it answers, and makes sure that it is the JVM who listens.
func (l *live) dial() (conn net.Conn, err error) {
	// Through the handle of the directory the name is short enough for a socket,
	// and means the JVM's /tmp even when its process is gone.
	address := &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/.java_pid%d", l.tmp.Fd(), l.jvm.NamespacePID)}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "attach socket")
	defer func() { _ = file.Close() }() // FileConn has a copy
	err = asuser.As(l.jvm.UID, l.jvm.GID, func() error { return unix.Connect(fd, address) })
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.EAGAIN):
		return nil, errNoListener
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, l.fail(ErrPermission, "its socket is closed to us: be root", err)
	case err != nil:
		return nil, os.NewSyscallError("connect", err)
	}
	if err := l.checkPeer(fd); err != nil {
		return nil, err
	}
	return net.FileConn(file)
}

// checkPeer asks the kernel who listens: in a /tmp for all, anyone can make a
// socket of the JVM's name.
func (l *live) checkPeer(fd int) error {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	if int(peer.Pid) != l.jvm.PID || peer.Uid != l.jvm.UID {
		return l.fail(ErrImpostor, fmt.Sprintf("process %d of user %d owns /tmp/.java_pid%d: remove that file",
			peer.Pid, peer.Uid, l.jvm.NamespacePID), nil)
	}
	return nil
}

func (l *live) fail(kind error, detail string, cause error) *Error {
	return &Error{PID: l.jvm.PID, Kind: kind, Detail: detail, Cause: cause}
}
