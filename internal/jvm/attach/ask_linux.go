package attach

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

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
