package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Sharing says who besides their owner may read entries. Nobody may ever write them.
type Sharing int

// The kinds of sharing.
const (
	Private Sharing = iota
	WithGroup
	WithEveryone
)

// ParseSharing reads what a command line says.
func ParseSharing(text string) (Sharing, error) {
	switch text {
	case "", "private":
		return Private, nil
	case "group":
		return WithGroup, nil
	case "everyone":
		return WithEveryone, nil
	}
	return Private, fmt.Errorf("%q is none of private, group and everyone", text)
}

func (s Sharing) dirMode() fs.FileMode { return [...]fs.FileMode{0o700, 0o750, 0o755}[s] }

func (s Sharing) fileMode() fs.FileMode { return [...]fs.FileMode{0o600, 0o640, 0o644}[s] }

// trust is whose files are believed.
type trust struct {
	self   uint32
	others []uint32
}

func newTrust(others []uint32) trust {
	// Root can do anything in any case.
	return trust{uint32(os.Geteuid()), append([]uint32{0}, others...)}
}

// doubt says why something is not to be believed; "" where it is.
func (t *trust) doubt(stat *unix.Stat_t) string {
	switch {
	case stat.Uid != t.self && !slices.Contains(t.others, stat.Uid):
		return fmt.Sprintf("it is that of %s, not yours, %s", userName(stat.Uid), userName(t.self))
	case modeOf(stat)&0o022 != 0:
		return fmt.Sprintf("others may write to it: its mode is %04o", modeOf(stat)&0o7777)
	}
	return ""
}

// modeOf is a file's mode, of which systems have different types.
func modeOf(stat *unix.Stat_t) uint32 {
	return uint32(stat.Mode) //nolint:unconvert // on Linux it is one already
}

// userName is how people know a user.
func userName(uid uint32) string {
	number := strconv.Itoa(int(uid))
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "user " + number
}

// LookupUser finds the number of a user by name or number.
func LookupUser(name string) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no user %q", name)
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(n), err
}

// A ledger says how much all entries take. Entries appear and go only while its lock
// is held, so what it says and what there is agree, but for what a process that was
// killed left undone: then it says too much.
//
//	8  bytes that entries take, in whole blocks
//	8  the same with every bit turned, as it is trusted with nothing else
type ledger struct {
	fd   int
	mine chan struct{} // of the goroutines of this process; the file's lock is of the process
}

func newLedger(fd int) *ledger { return &ledger{fd, make(chan struct{}, 1)} }

// patience is how long the lock is waited for. It is held for microseconds, unless a
// disk hangs or a process was stopped.
const patience = 250 * time.Millisecond

// hold takes the lock; the error is ErrBusy, or the system's.
func (l *ledger) hold(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrBusy)
	defer cancel()
	select {
	case l.mine <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := l.lockFile(ctx)
	if err != nil {
		<-l.mine
	}
	return err
}

func (l *ledger) lockFile(ctx context.Context) error {
	const longest = 5 * time.Millisecond
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, longest) {
		if got, err := tryLock(l.fd); got || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *ledger) release() {
	_ = unix.Flock(l.fd, unix.LOCK_UN) // of a file that is open: it cannot fail
	<-l.mine
}

// read says what entries take; false where that is not known.
func (l *ledger) read() (used int64, known bool) {
	var b [16]byte
	if readAt(l.fd, b[:], 0) != nil {
		return 0, false
	}
	used = int64(binary.LittleEndian.Uint64(b[:]))
	return used, used >= 0 && ^uint64(used) == binary.LittleEndian.Uint64(b[8:])
}

func (l *ledger) write(used int64) error {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(max(used, 0)))
	binary.LittleEndian.PutUint64(b[8:], ^uint64(max(used, 0)))
	return writeAll(l.fd, b[:])
}

func (l *ledger) close() error { return unix.Close(l.fd) }

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
