package targetfs

import (
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A place is an open directory in which one user creates and removes files. Names are single path elements.
type place struct {
	path     string // as the target sees it
	dir      *os.File
	uid, gid uint32
}

// errSwappable is about a directory in which other users can rename files.
var errSwappable = errors.New("other users can rename files there")

// openPlace opens a shared directory of the target, in which nobody may replace our files.
func openPlace(host process.Host, jvm *process.JVM, name string) (*place, error) {
	dir, err := host.OpenDirectory(jvm.PID, name)
	if err != nil {
		return nil, err
	}
	p := &place{path: name, dir: dir, uid: jvm.UID, gid: jvm.GID}
	root, err := host.OpenDirectory(jvm.PID, "/")
	if err != nil {
		p.close()
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if err := p.checkShared(root); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// checkShared trusts root, the target's user, and the owner of the target's root directory, which is the root user of
// a container. The sticky bit must keep all others from renaming files.
func (p *place) checkShared(root *os.File) error {
	var at, top unix.Stat_t
	if err := unix.Fstat(int(p.dir.Fd()), &at); err != nil {
		return err
	}
	if err := unix.Fstat(int(root.Fd()), &top); err != nil {
		return err
	}
	owned := at.Uid == 0 || at.Uid == p.uid || at.Uid == top.Uid
	switch {
	case !owned:
		return fmt.Errorf("%w; give the directory to root (chown root)", errSwappable)
	case at.Mode&0o022 != 0 && at.Mode&unix.S_ISVTX == 0:
		return fmt.Errorf("%w; set its sticky bit (chmod +t)", errSwappable)
	}
	return nil
}

// open opens a name in this place with the identity of the user. It follows no symbolic link.
func (p *place) open(op, name string, flags int) (*os.File, error) {
	full := path.Join(p.path, name)
	var fd int
	err := p.as(func() (err error) {
		fd, err = unix.Openat(p.fd(), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: op, Path: full, Err: err}
	}
	return os.NewFile(uintptr(fd), full), nil
}

// openOwn opens a file or directory that must belong to the user and have the expected form.
func (p *place) openOwn(name string, flags int, fits func(unix.Stat_t) bool) (*os.File, error) {
	file, err := p.open("open", name, flags)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	err = unix.Fstat(int(file.Fd()), &stat)
	if err == nil && (stat.Uid != p.uid || !fits(stat)) {
		err = errNotOwn
	}
	if err != nil {
		_ = file.Close()
		return nil, &os.PathError{Op: "open", Path: file.Name(), Err: err}
	}
	return file, nil
}

// within opens a subdirectory, which must belong to the user and be closed to others.
func (p *place) within(name string) (*place, error) {
	dir, err := p.openOwn(name, unix.O_RDONLY|unix.O_DIRECTORY, func(stat unix.Stat_t) bool { return stat.Mode&0o777 == 0o700 })
	if err != nil {
		return nil, err
	}
	return &place{path: dir.Name(), dir: dir, uid: p.uid, gid: p.gid}, nil
}

var errNotOwn = errors.New("this file or directory does not belong to the target's user, or other users can access it; remove it")

func (p *place) fd() int { return int(p.dir.Fd()) }

func (p *place) close() { _ = p.dir.Close() }

func (p *place) as(fn func() error) error { return asuser.As(asuser.User{UID: p.uid, GID: p.gid}, fn) }

// holds reports whether a name in this place still refers to an open file.
func (p *place) holds(name string, handle *os.File) bool {
	var here, there unix.Stat_t
	return unix.Fstatat(p.fd(), name, &here, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		unix.Fstat(int(handle.Fd()), &there) == nil && here.Dev == there.Dev && here.Ino == there.Ino
}

// makeDirectory creates a directory, which must not exist, and opens it.
func (p *place) makeDirectory(name string) (*place, error) {
	if err := p.as(func() error { return unix.Mkdirat(p.fd(), name, 0o700) }); err != nil {
		return nil, &os.PathError{Op: "mkdir", Path: path.Join(p.path, name), Err: err}
	}
	inner, err := p.within(name)
	if err != nil {
		_ = p.removeDirectory(name) // a directory of someone else is not empty or not removable
	}
	return inner, err
}

// create creates a file, which must not exist.
func (p *place) create(name string) (*os.File, error) {
	return p.open("create", name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
}

// openFile opens a plain file for reading, which must belong to the user, be closed to others, and have one name.
func (p *place) openFile(name string) (*os.File, error) {
	// Anything but a plain file must not block.
	return p.openOwn(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, func(stat unix.Stat_t) bool {
		return stat.Mode&^unix.S_ISVTX == unix.S_IFREG|0o600 && stat.Nlink == 1
	})
}

// put creates or replaces a file, atomically.
func (p *place) put(name string, content []byte) error {
	fresh := ".new-" + random(16)
	if err := p.fill(fresh, content); err != nil {
		return err
	}
	err := p.as(func() error { return unix.Renameat(p.fd(), fresh, p.fd(), name) })
	if err != nil {
		return errors.Join(&os.PathError{Op: "rename", Path: path.Join(p.path, name), Err: err}, p.remove(fresh))
	}
	return nil
}

// fill creates a new file with a content, or none. It writes with the identity of the target's user, so that the
// limits of that user apply.
func (p *place) fill(name string, content []byte) error {
	file, err := p.create(name)
	if err != nil {
		return err
	}
	err = p.as(func() error {
		_, err := file.Write(content)
		return err
	})
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, p.remove(name))
	}
	return nil
}

// remove removes a file. It succeeds if there is none.
func (p *place) remove(name string) error { return p.unlink(name, 0) }

func (p *place) removeDirectory(name string) error { return p.unlink(name, unix.AT_REMOVEDIR) }

func (p *place) unlink(name string, flags int) error {
	err := p.as(func() error { return unix.Unlinkat(p.fd(), name, flags) })
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return &os.PathError{Op: "remove", Path: path.Join(p.path, name), Err: err}
}

// hold locks a new file. Only a Sweep can hold its lock, for an instant. If files cannot be locked, Sweep cannot lock
// them either and keeps them.
func hold(file *os.File) {
	for range mostTries {
		if !errors.Is(lock(file, unix.LOCK_EX), unix.EWOULDBLOCK) {
			return
		}
		time.Sleep(tryPause)
	}
}

// lock locks a file, or fails at once if another process holds the lock.
func lock(file *os.File, how int) error {
	return unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
}
