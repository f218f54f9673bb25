package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenInside opens a path as a process sees it. Symbolic links, including absolute ones, cannot lead
// outside the process's own root.
func (h Host) OpenInside(pid int, name string, flags int) (*os.File, error) {
	return openBelow(h.Path(pid, "root"), strings.TrimPrefix(name, "/"), flags)
}

// OpenWorking is OpenInside for a path below the process's working directory.
func (h Host) OpenWorking(pid int, name string, flags int) (*os.File, error) {
	return openBelow(h.Path(pid, "cwd"), name, flags)
}

func openBelow(root, name string, flags int) (*os.File, error) {
	full := filepath.Join(root, name)
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer func() { _ = unix.Close(dir) }()
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT}
	fd, err := unix.Openat2(dir, name, how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// Before Linux 5.6, and in sandboxes without this call: if no symbolic link is followed,
		// the path cannot lead outside.
		fd, err = openPlainly(dir, name, flags)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: full, Err: err}
	}
	return os.NewFile(uintptr(fd), full), nil
}

// openPlainly opens a path element by element and follows no symbolic link.
func openPlainly(dir int, name string, flags int) (int, error) {
	elements := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	if len(elements) == 0 {
		elements = []string{"."}
	}
	at := dir
	for i, element := range elements {
		if element == ".." {
			return -1, unix.EXDEV
		}
		how := unix.O_PATH | unix.O_DIRECTORY
		if i == len(elements)-1 {
			how = flags
		}
		next, err := unix.Openat(at, element, how|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if at != dir {
			_ = unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// readSmall reads a file that someone else has named: only a plain file of limited size, which never
// blocks.
func readSmall(open func(flags int) (*os.File, error)) ([]byte, error) {
	const limit = 1 << 20
	file, err := openPlain(open, unix.O_RDONLY, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", file.Name(), limit)
	}
	return data, err
}

// OpenPlain opens a plain file that someone else has named, if judge accepts it. Flags are O_RDONLY
// or O_RDWR, with O_NOFOLLOW if the name must not be a link.
func OpenPlain(name string, flags int, judge Judge) (*os.File, error) {
	return openPlain(func(how int) (*os.File, error) {
		return os.OpenFile(name, how|flags&unix.O_NOFOLLOW, 0)
	}, flags, judge)
}

// OpenMapped opens a file that a JVM shares memory with, for reading or with O_RDWR. The name is only
// a hint: it must lead to that file. The file belongs to the JVM's user, or to root if the program
// has dropped root privileges since.
func (h Host) OpenMapped(j *JVM, name string, flags int) (*os.File, error) {
	file, err := h.openPlainInside(j.PID, name, flags|unix.O_NOFOLLOW, func(_ os.FileInfo, owner uint32) error {
		if owner != j.UID && owner != 0 {
			return ErrForeign
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	is, err := h.isShared(j.PID, file)
	if err == nil && !is {
		err = fmt.Errorf("%s: %w", file.Name(), ErrNotMapped)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// openPlain checks the file before it opens it, because opening can trigger a device or block on a
// pipe. It opens exactly the file that was checked.
func openPlain(open func(flags int) (*os.File, error), flags int, judge Judge) (*os.File, error) {
	place, err := open(unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer func() { _ = place.Close() }()
	info, err := place.Stat()
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", place.Name(), ErrNotPlain)
	}
	if judge != nil {
		if err := judge(info, stat.Uid); err != nil {
			return nil, fmt.Errorf("%s: %w", place.Name(), err)
		}
	}
	mode := flags & unix.O_ACCMODE
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", place.Fd()), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: place.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), place.Name()), nil
}

// isShared reports whether a process shares memory with a file. Device and inode in /proc/PID/maps
// may differ from those of stat, for example in an overlay or on btrfs. So the file is mapped here
// as well, and both are compared in maps.
func (h Host) isShared(pid int, file *os.File) (bool, error) {
	identity, err := mappedIdentity(file)
	if err != nil {
		return false, err
	}
	shared, err := h.shared(pid)
	return slices.ContainsFunc(shared, func(m mapping) bool { return m.identity == identity }), err
}

// mappedIdentity returns the device and inode of a file as printed in maps.
func mappedIdentity(file *os.File) (string, error) {
	page, err := unix.Mmap(int(file.Fd()), 0, 1, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return "", &os.PathError{Op: "mmap", Path: file.Name(), Err: err}
	}
	defer func() { _ = unix.Munmap(page) }()
	shared, err := Local.shared(os.Getpid())
	if err != nil {
		return "", err
	}
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(page)))
	for _, m := range shared {
		if at, err := strconv.ParseUint(m.begin, 16, 64); err == nil && uintptr(at) == begin {
			return m.identity, nil
		}
	}
	return "", fmt.Errorf("%s: %w", file.Name(), ErrNotMapped)
}
