package targetfs

import (
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// arenaPlaces are the directories for an arena, the best first. On a disk the kernel may delay a thread that writes
// to a page which is being written back.
var arenaPlaces = []string{"/dev/shm", "/tmp"}

// An Arena is a file that the target and Sonde map. It must not be accessed beyond the allocated size: if the file
// system has no room there, the target is killed.
type Arena struct {
	Path string   // as the target sees it
	File *os.File // open for reading and writing; removing the arena closes it
	Size int64    // to which it can grow

	where *place // nil once removed
	name  string

	mu        sync.Mutex
	allocated int64
}

// DefaultArenaSize is large enough for any session. Only the allocated part takes memory.
const DefaultArenaSize = 1 << 30

// Arena creates an arena that can grow to a size (0 for the default), with its first bytes allocated. It is in
// memory, /dev/shm, if that has room for twice as much, so that it can grow and leaves room for others; otherwise
// in /tmp.
func (f *Foothold) Arena(size, first int64) (*Arena, error) {
	if size == 0 {
		size = DefaultArenaSize
	}
	if first < 0 || first > size {
		return nil, f.fail(ErrFiles, fmt.Sprintf("an arena of at most %d bytes cannot have an initial size of %d", size, first), nil)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		return nil, f.removed()
	}
	var failed []error
	for _, name := range arenaPlaces {
		arena, err := f.arenaIn(name, size, first)
		if err == nil {
			f.arenas = append(f.arenas, arena)
			return arena, nil
		}
		failed = append(failed, err)
	}
	err := errors.Join(failed...)
	if isFull(err) {
		return nil, f.fail(ErrFull, fmt.Sprintf("the arena needs %d MiB in /dev/shm or /tmp: make room there", first>>20), err)
	}
	return nil, f.explain(err)
}

func (f *Foothold) arenaIn(where string, size, first int64) (*Arena, error) {
	at, err := openPlace(f.host, f.jvm, where)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if !f.host.Same(f.jvm) {
		at.close()
		return nil, unix.ESRCH
	}
	name := process.ArenaName(f.jvm.NamespacePID, random(16))
	file, err := at.create(name)
	if err != nil {
		at.close()
		return nil, err
	}
	a := &Arena{Path: path.Join(where, name), File: file, Size: size, where: at, name: name}
	if err := a.begin(first); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", where, err), a.remove())
	}
	return a, nil
}

func (a *Arena) begin(first int64) error {
	hold(a.File)
	var stat unix.Stat_t
	if err := unix.Fstat(int(a.File.Fd()), &stat); err != nil {
		return err
	}
	if stat.Uid != a.where.uid || stat.Mode != unix.S_IFREG|0o600 {
		return errNotOwn
	}
	var room unix.Statfs_t
	if err := unix.Fstatfs(int(a.File.Fd()), &room); err != nil {
		return err
	}
	// A tmpfs without a limit reports no blocks at all.
	if room.Blocks > 0 && room.Bavail*uint64(room.Bsize) < 2*uint64(first) {
		return unix.ENOSPC
	}
	if err := a.where.as(func() error { return unix.Ftruncate(int(a.File.Fd()), a.Size) }); err != nil {
		return err
	}
	return a.Grow(first)
}

// Grow allocates the file up to an offset, so that writing before it cannot fail. If there is no room, the error is
// ErrFull and the allocated size stays. The target must not have written beyond the allocated size.
func (a *Arena) Grow(upTo int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.where == nil:
		return fmt.Errorf("arena %s: %w", a.Path, os.ErrClosed)
	case upTo > a.Size:
		return fmt.Errorf("arena %s: %w: it has reached its maximum size of %d bytes", a.Path, ErrFull, a.Size)
	}
	err := a.allocate(upTo)
	if isFull(err) {
		return fmt.Errorf("arena %s: %w in its file system (%w): make room in %s", a.Path, ErrFull, err, path.Dir(a.Path))
	}
	if err != nil {
		return fmt.Errorf("arena %s: %w", a.Path, err)
	}
	return nil
}

func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// Allocated returns the allocated size.
func (a *Arena) Allocated() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.allocated
}

func (a *Arena) remove() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.where == nil {
		return nil
	}
	if a.where.holds(a.name, a.File) {
		if err := a.where.remove(a.name); err != nil {
			return err
		}
	}
	err := a.File.Close()
	a.where.close()
	a.where = nil
	return err
}

// allocateStep is the number of bytes allocated by one call, which a signal may undo.
const allocateStep = 16 << 20

// fallocate is the system call. Tests replace it.
var fallocate = func(fd int, offset, length int64) error { return unix.Fallocate(fd, 0, offset, length) }

// allocate has the privileges of the user, so that it does not use blocks reserved for root.
func (a *Arena) allocate(upTo int64) error {
	for a.allocated < upTo {
		length := min(allocateStep, upTo-a.allocated)
		err := a.where.as(func() error { return reserve(int(a.File.Fd()), a.allocated, length) })
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

// zeros are written to file systems without fallocate.
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
