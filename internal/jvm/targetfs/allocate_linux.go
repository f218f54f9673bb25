package targetfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// allocateStep is what is allocated by one call, which a signal may undo as a
// whole.
const allocateStep = 16 << 20

// fallocate is the system's; tests put one without.
var fallocate = func(fd int, offset, length int64) error { return unix.Fallocate(fd, 0, offset, length) }

// allocate is with the user's power, so that what a file system reserves for
// root stays reserved.
func (a *Arena) allocate(upTo int64) error {
	for a.allocated < upTo {
		length := min(allocateStep, upTo-a.allocated)
		err := a.where.as(func() error { return reserve(int(a.file.Fd()), a.allocated, length) })
		if err != nil {
			return err
		}
		a.allocated += length
	}
	return nil
}

func reserve(fd int, offset, length int64) error {
	for {
		err := fallocate(fd, offset, length)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return writeZeros(fd, offset, length)
		default:
			return err
		}
	}
}

// zeros are what a file system without fallocate is given.
var zeros [1 << 20]byte

func writeZeros(fd int, offset, length int64) error {
	for length > 0 {
		n, err := unix.Pwrite(fd, zeros[:min(length, int64(len(zeros)))], offset)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		offset, length = offset+int64(n), length-int64(n)
	}
	return nil
}
