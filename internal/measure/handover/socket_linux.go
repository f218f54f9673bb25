package handover

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
// A directory of somebody else is refused: they could put a socket there.
func private(dir string, uid uint32) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return checkPrivate(dir, uid)
}

func checkPrivate(dir string, uid uint32) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &UnsafeError{dir, "is not a directory"}
	case owner(info) != uid:
		return &UnsafeError{dir, fmt.Sprintf("belongs to user %d, not to %d", owner(info), uid)}
	case info.Mode().Perm()&0o077 != 0:
		return &UnsafeError{dir, fmt.Sprintf("is open to others (%v)", info.Mode().Perm())}
	}
	return nil
}

const (
	lockPatience = 5 * time.Second
	lockEvery    = 10 * time.Millisecond
)

// lock keeps other Sondes from changing a directory until unlock is called.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, errGone)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			if !isStill(file, dir) {
				_ = file.Close()
				return nil, fmt.Errorf("%s: %w", dir, errGone)
			}
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, fmt.Errorf("%s is locked by another Sonde: %w", dir, ctx.Err())
		case <-time.After(lockEvery):
		}
	}
	_ = file.Close()
	return nil, fmt.Errorf("locking %s: %w", dir, err)
}

// isStill reports whether an open directory still has its name.
func isStill(file *os.File, dir string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(dir)
	return err == nil && os.SameFile(opened, named)
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
