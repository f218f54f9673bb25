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

// ask puts the file in place that tells the JVM what the signal means, and
// sends the signal. The JVM takes it only from its own user.
func (l *live) ask() (withdraw func(), err error) {
	withdraw, err = l.leaveNote()
	if err != nil {
		return nil, err
	}
	if err := l.mayBeSignalled(); err != nil {
		withdraw()
		return nil, err
	}
	if err := l.signal(); err != nil {
		withdraw()
		switch {
		case errors.Is(err, unix.ESRCH):
			return nil, ErrGone
		case errors.Is(err, unix.EPERM):
			return nil, l.fail(ErrPermission, "it may not be signalled: be root", err)
		}
		return nil, err
	}
	return withdraw, nil
}

// mayBeSignalled looks once more, as late as can be, that a signal finds what
// was inspected, with a handler in place: to anything else it is deadly.
func (l *live) mayBeSignalled() error {
	now, err := l.host.Inspect(l.jvm.PID)
	switch {
	case errors.Is(err, process.ErrNoProcess) || !l.host.Same(l.jvm):
		return ErrGone
	case err != nil:
		return l.fail(ErrDisabled, "it can no longer be looked into", err)
	case now.ReducedSignal:
		return l.fail(ErrDisabled, "it leaves signals alone (-Xrs) and does not listen on its socket: start it without that option", nil)
	case now.Kind != process.HotSpot || now.Attach.Answer != process.Yes || !now.CatchesQuit:
		return l.fail(ErrDisabled, "it does not catch SIGQUIT, as a JVM that is starting: try again", nil)
	}
	return nil
}

// leaveNote creates .attach_pid<pid> in the JVM's /tmp, as the JVM's user. If
// that user can make no file there, the JVM can make no socket there either.
// Where someone else's file has the name, the working directory serves.
func (l *live) leaveNote() (withdraw func(), err error) {
	name := fmt.Sprintf(".attach_pid%d", l.jvm.NamespacePID)
	withdraw, err = l.create(l.tmp, name)
	switch {
	case err == nil:
		return withdraw, nil
	case errors.Is(err, unix.EROFS):
		return nil, l.fail(ErrReadOnlyTmp, "it needs a socket there: give it a /tmp that can be written, such as a tmpfs, or start it with -javaagent", nil)
	case !errors.Is(err, unix.EEXIST):
		return nil, l.fail(ErrDisabled, fmt.Sprintf("user %s can make no file in its /tmp: see to its space and permissions", l.jvm.User), err)
	}
	if l.isOwn(name) {
		return func() {}, nil // another who attaches, or did: the JVM takes it as it is
	}
	if l.working != nil {
		if withdraw, err = l.create(l.working, name); err == nil {
			return withdraw, nil
		}
	}
	return nil, l.fail(ErrDisabled, fmt.Sprintf("its /tmp/%s is another user's: remove that file", name), err)
}

// create makes an empty file that must not be there yet.
func (l *live) create(directory *os.File, name string) (remove func(), err error) {
	at := int(directory.Fd())
	err = asuser.As(l.jvm.UID, l.jvm.GID, func() error {
		fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	})
	if err != nil {
		return nil, err
	}
	return func() {
		// Gone already is as good, and for anything else no remedy is left.
		_ = asuser.As(l.jvm.UID, l.jvm.GID, func() error { return unix.Unlinkat(at, name, 0) })
	}, nil
}

// isOwn tells whether a file in /tmp belongs to the JVM's user.
func (l *live) isOwn(name string) bool {
	var stat unix.Stat_t
	err := unix.Fstatat(int(l.tmp.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && stat.Uid == l.jvm.UID && stat.Mode&unix.S_IFMT == unix.S_IFREG
}
