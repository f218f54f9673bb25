package cache

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openAt opens a file of a directory, and never what a link leads to.
func openAt(dir int, name string, flags int, mode fs.FileMode) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode.Perm()))
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// readAt fills a buffer from somewhere in a file.
func readAt(fd int, b []byte, from int64) error {
	for at := 0; at < len(b); {
		n, err := unix.Pread(fd, b[at:], from+int64(at))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		default:
			at += n
		}
	}
	return nil
}

// writeAll writes a file from its beginning.
func writeAll(fd int, b []byte) error {
	for at := 0; at < len(b); {
		n, err := unix.Pwrite(fd, b[at:], int64(at))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		default:
			at += n
		}
	}
	return nil
}

// tryLock takes the lock of a file, if nobody has it.
func tryLock(fd int) (bool, error) {
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}

// names are those of a directory inside the cache, in no order.
func (d *Disk) names(dir string) ([]string, error) {
	fd, err := openAt(d.root, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), dir)
	defer func() { _ = file.Close() }() // only read
	return file.Readdirnames(-1)
}

// blocks is what a file of a size takes on most disks.
func blocks(size int64) int64 {
	const block = 4096
	return (size + block - 1) &^ (block - 1)
}
