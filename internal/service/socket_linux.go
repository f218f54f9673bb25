package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownedBy reports whether a path is a directory of the user and not a link.
func ownedBy(dir string, uid uint32) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && owner(info) == uid
}

func owner(info os.FileInfo) uint32 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Uid
	}
	return ^uint32(0)
}

// private ensures that a directory exists, belongs to the user, and is closed to all others.
// A directory of another user is refused: that user could put a socket there.
func private(dir string, uid uint32) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return checkPrivate(dir, uid)
}

func checkPrivate(dir string, uid uint32) error {
	info, err := os.Lstat(dir)
	var why string
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		why = "is not a directory"
	case owner(info) != uid:
		why = fmt.Sprintf("belongs to user %d, not to %d", owner(info), uid)
	case info.Mode().Perm()&0o077 != 0:
		why = fmt.Sprintf("can be accessed by other users (%v)", info.Mode().Perm())
	default:
		return nil
	}
	return fmt.Errorf("%s %s: %w", dir, why, ErrUnsafe)
}

const (
	lockPatience = 5 * time.Second
	lockEvery    = 10 * time.Millisecond
)

// lock keeps other Sondes from changing a directory until unlock is called. The error is
// errGone if the directory was removed.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = errGone
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is locked by another Sonde: %w", dir, ctx.Err())
		case <-time.After(lockEvery):
		}
	}
	opened, err := file.Stat()
	named, failed := os.Lstat(dir)
	if err != nil || failed != nil || !os.SameFile(opened, named) {
		return nil, errGone
	}
	return func() { _ = file.Close() }, nil
}

// peerOf asks the kernel for the process and user at the other end.
func peerOf(conn *net.UnixConn) (pid int, uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var peer *unix.Ucred
	var asking error
	err = raw.Control(func(fd uintptr) {
		peer, asking = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, asking); err != nil {
		return 0, 0, fmt.Errorf("reading the credentials of the other end: %w", err)
	}
	return int(peer.Pid), peer.Uid, nil
}

// tryLockAlone locks a directory, or fails if it is locked already.
func tryLockAlone(dir string) (unlock func(), err error) { return tryLock(dir, unix.LOCK_EX) }

// tryLockShared locks a directory, or fails if it is locked alone.
func tryLockShared(dir string) (unlock func(), err error) { return tryLock(dir, unix.LOCK_SH) }

func tryLock(dir string, how int) (unlock func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
