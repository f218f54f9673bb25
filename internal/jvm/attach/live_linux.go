package attach

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// live is a target on this host.
type live struct {
	host    process.Host
	jvm     *process.JVM
	handle  int      // a pidfd, which never refers to a later process with the same PID
	tmp     *os.File // the JVM's own /tmp
	working *os.File // its working directory, nil if it cannot be opened
	signal  func() error
}

// newLive opens handles of the inspected process. It changes nothing.
func newLive(host process.Host, jvm *process.JVM) (*live, error) {
	handle, err := unix.PidfdOpen(jvm.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, &Error{PID: jvm.PID, Kind: ErrGone, Detail: "sonde ps lists the running JVMs"}
	}
	if err != nil {
		return nil, &Error{PID: jvm.PID, Kind: ErrDisabled, Detail: "sonde needs Linux 5.3 or later", Cause: err}
	}
	l := &live{host: host, jvm: jvm, handle: handle}
	l.signal = func() error { return unix.PidfdSendSignal(l.handle, unix.SIGQUIT, nil, 0) }
	// The handle refers to the inspected process only if that still has the PID.
	if !host.Same(jvm) {
		l.close()
		return nil, &Error{PID: jvm.PID, Kind: ErrGone, Detail: "sonde ps lists the running JVMs"}
	}
	if l.tmp, err = host.OpenDirectory(jvm.PID, "/tmp"); err != nil {
		l.close()
		if errors.Is(err, os.ErrPermission) {
			return nil, &Error{PID: jvm.PID, Kind: ErrPermission, Detail: "this user is not allowed to open its /tmp; " + jvm.Access(), Cause: err}
		}
		return nil, &Error{PID: jvm.PID, Kind: ErrDisabled, Detail: "its /tmp cannot be opened; provide a /tmp that its user can write to", Cause: err}
	}
	l.working, _ = host.OpenWorking(jvm.PID) // used only if a file in /tmp is in the way
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

func (l *live) started() bool {
	names, err := filepath.Glob(l.host.Path(l.jvm.PID, "task") + "/*/comm")
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && strings.HasPrefix(string(text), "VM Periodic Tas")
	})
}

// dial opens the socket with the identity of the JVM's user, because the JVM answers only that user and root,
// and checks that the JVM itself listens.
func (l *live) dial() (conn net.Conn, err error) {
	// Through the handle of the directory, the name is short enough for a socket and refers to the JVM's
	// /tmp even if its process has ended.
	address := &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", l.tmp.Fd(), l.socketName())}
	if err := l.checkSocket(); err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "attach socket")
	defer func() { _ = file.Close() }() // FileConn has a copy
	err = asuser.As(l.jvm.Identity(), func() error { return unix.Connect(fd, address) })
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ECONNREFUSED):
		return nil, errNoListener
	case errors.Is(err, unix.EAGAIN): // its queue is full
		return nil, errBusy
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, l.fail(ErrPermission, "this user is not allowed to open its socket; "+l.jvm.Access(), err)
	case err != nil:
		return nil, os.NewSyscallError("connect", err)
	}
	if err := l.checkPeer(fd); err != nil {
		return nil, err
	}
	return net.FileConn(file)
}

// checkSocket fails if something else has the name of the socket: the JVM could not listen, and a link could lead to a
// socket of another process.
func (l *live) checkSocket() error {
	var stat unix.Stat_t
	err := unix.Fstatat(int(l.tmp.Fd()), l.socketName(), &stat, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return l.fail(ErrImpostor, fmt.Sprintf("/tmp/%s of user %d is not a socket; remove that file", l.socketName(), stat.Uid), nil)
	}
	return nil
}

func (l *live) socketName() string { return fmt.Sprintf(".java_pid%d", l.jvm.NamespacePID) }

// checkPeer asks the kernel who listens, because anyone can create a socket with the JVM's name in /tmp.
func (l *live) checkPeer(fd int) error {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	if int(peer.Pid) != l.jvm.PID || peer.Uid != l.jvm.UID {
		return l.fail(ErrImpostor, fmt.Sprintf("process %d of user %d owns /tmp/%s; remove that file",
			peer.Pid, peer.Uid, l.socketName()), nil)
	}
	return nil
}

func (l *live) fail(kind error, detail string, cause error) *Error {
	return &Error{PID: l.jvm.PID, Kind: kind, Detail: detail, Cause: cause}
}

// ask creates the file that gives the signal its meaning, and sends the signal. The file must belong to the
// JVM's user.
func (l *live) ask() (withdraw func(), err error) {
	withdraw, err = l.leaveNote()
	if err != nil {
		return nil, err
	}
	// Another process may have asked until just now; its file is gone when the JVM listens.
	if conn, err := l.dial(); !errors.Is(err, errNoListener) {
		if err == nil {
			_ = conn.Close()
		}
		withdraw()
		return nil, errAsked
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
			return nil, l.fail(ErrPermission, "this user is not allowed to send it signals; "+l.jvm.Access(), err)
		}
		return nil, err
	}
	return withdraw, nil
}

// mayBeSignalled checks once more, as late as possible, that the process is the inspected one and handles the
// signal, which kills any other process.
func (l *live) mayBeSignalled() error {
	now, err := l.host.Inspect(l.jvm.PID)
	switch {
	case errors.Is(err, process.ErrNoProcess) || !l.host.Same(l.jvm):
		return ErrGone
	case err != nil:
		return l.fail(ErrDisabled, "its files in /proc can no longer be read", err)
	case now.ReducedSignal:
		return l.fail(ErrDisabled, "it ignores signals (-Xrs) and does not listen on its socket; start it without that option", nil)
	case now.Kind != process.HotSpot || now.Attach.Answer != process.Yes || !now.CatchesQuit:
		return l.fail(ErrDisabled, "it does not handle SIGQUIT, probably because it is still starting; try again", nil)
	}
	return nil
}

// leaveNote creates .attach_pid<pid> in the JVM's /tmp, as the JVM's user. If that user cannot create a file
// there, the JVM cannot create its socket there either. If another user's file has the name, the working
// directory is used.
func (l *live) leaveNote() (withdraw func(), err error) {
	name := fmt.Sprintf(".attach_pid%d", l.jvm.NamespacePID)
	withdraw, err = l.create(l.tmp, name)
	switch {
	case err == nil:
		return withdraw, nil
	case errors.Is(err, unix.EROFS):
		return nil, l.fail(ErrReadOnlyTmp, "the JVM must create a socket there; provide a writable /tmp, such as a tmpfs, or start it with -javaagent", nil)
	case !errors.Is(err, unix.EEXIST):
		return nil, l.fail(ErrDisabled, fmt.Sprintf("user %s cannot create a file in its /tmp; check its space and permissions", l.jvm.User), err)
	}
	if made, ok := l.isOwn(name); ok {
		if time.Since(made) < noteAge {
			return nil, errAsked
		}
		return func() {}, nil // of a process that was killed; the JVM accepts it
	}
	if l.working != nil {
		if withdraw, err = l.create(l.working, name); err == nil {
			return withdraw, nil
		}
	}
	return nil, l.fail(ErrDisabled, fmt.Sprintf("its /tmp/%s belongs to another user; remove that file", name), err)
}

// create creates an empty file, which must not exist.
func (l *live) create(directory *os.File, name string) (remove func(), err error) {
	at := int(directory.Fd())
	err = asuser.As(l.jvm.Identity(), func() error {
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
		// Nothing can be done about an error.
		_ = asuser.As(l.jvm.Identity(), func() error { return unix.Unlinkat(at, name, 0) })
	}, nil
}

// noteAge is how long a process that attaches may take until the JVM listens. Later, its file does not keep others
// from asking.
const noteAge = 2 * time.Second

// isOwn reports whether a file in /tmp belongs to the JVM's user, and when it was made.
func (l *live) isOwn(name string) (made time.Time, ok bool) {
	var stat unix.Stat_t
	err := unix.Fstatat(int(l.tmp.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return time.Unix(stat.Mtim.Unix()), err == nil && stat.Uid == l.jvm.UID && stat.Mode&unix.S_IFMT == unix.S_IFREG
}
