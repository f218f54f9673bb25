package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/asuser"
)

// OpenDirectory returns a handle of a directory as a process sees it, by which other names can be reached but nothing
// can be read. Symbolic links, including absolute ones, cannot lead outside the process's own root.
func (h Host) OpenDirectory(pid int, name string) (*os.File, error) {
	return openBelow(h.Path(pid, "root"), name, unix.O_PATH|unix.O_DIRECTORY)
}

// OpenWorking is OpenDirectory for the working directory of a process.
func (h Host) OpenWorking(pid int) (*os.File, error) {
	return openBelow(h.Path(pid, "cwd"), ".", unix.O_PATH|unix.O_DIRECTORY)
}

func openBelow(root, name string, flags int) (*os.File, error) {
	dir, err := openPath(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return openAt(dir, name, flags)
}

// openPath opens a directory of this process, or a directory that the kernel names in /proc.
func openPath(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openAt opens a path below a directory, which is the root directory for its links.
func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	full := filepath.Join(dir.Name(), name)
	if name = strings.TrimLeft(name, "/"); name == "" {
		name = "."
	}
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT}
	fd, err := unix.Openat2(int(dir.Fd()), name, how)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		// Before Linux 5.6, and in sandboxes without this call: if no symbolic link is followed,
		// the path cannot lead outside.
		fd, err = openPlainly(int(dir.Fd()), name, flags)
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

// as calls fn with the rights of a JVM's user if this process is root, who could open anything.
func (j *JVM) as(fn func() error) error {
	if os.Geteuid() != 0 {
		return fn()
	}
	return asuser.As(j.Identity(), fn)
}

// inside calls open with a directory and a path below it for a name that a JVM's user has chosen.
func (h Host) inside(j *JVM, name string, open func(dir *os.File, name string) error) error {
	below := func(root, name string) error {
		dir, err := openPath(h.Path(j.PID, root)) // only root may follow this link for every process
		if err != nil {
			return err
		}
		defer func() { _ = dir.Close() }()
		return open(dir, name)
	}
	if path.IsAbs(name) {
		return below("root", name)
	}
	if working, err := os.Readlink(h.Path(j.PID, "cwd")); err == nil {
		// In a chroot, this is not the path that the process sees.
		if err := below("root", path.Join(working, name)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return below("cwd", name)
}

// openPlainInside opens a plain file as a JVM sees it and with the rights of its user, if judge accepts it. Flags are as
// in OpenPlain.
func (h Host) openPlainInside(j *JVM, name string, flags int, judge Judge) (file *os.File, err error) {
	err = h.inside(j, name, func(dir *os.File, name string) error {
		return j.as(func() (err error) {
			file, err = openPlain(func(how int) (*os.File, error) { return openAt(dir, name, how|flags&unix.O_NOFOLLOW) }, flags, judge)
			return err
		})
	})
	return file, err
}

func (h Host) openFolder(j *JVM, name string) (dir *os.File, err error) {
	err = h.inside(j, name, func(root *os.File, name string) error {
		return j.as(func() (err error) {
			dir, err = openAt(root, name, unix.O_PATH|unix.O_DIRECTORY)
			return err
		})
	})
	return dir, err
}

func (f *Folder) open(name string) (file *os.File, err error) {
	err = f.jvm.as(func() (err error) {
		place, err := openAt(f.dir, name, unix.O_PATH)
		if err != nil {
			return err
		}
		defer func() { _ = place.Close() }()
		if info, err := place.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			return errors.Join(err, fmt.Errorf("%s: %w", place.Name(), ErrNotPlain))
		}
		file, err = reopen(place, unix.O_RDONLY)
		return err
	})
	return file, err
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
// has dropped root privileges since; so it is opened with the rights of this process, not with the rights of the user.
func (h Host) OpenMapped(j *JVM, name string, flags int) (*os.File, error) {
	file, err := openPlain(func(how int) (*os.File, error) {
		return openBelow(h.Path(j.PID, "root"), name, how|unix.O_NOFOLLOW)
	}, flags, func(_ os.FileInfo, owner uint32) error {
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
	return reopen(place, flags&unix.O_ACCMODE)
}

// reopen opens the file of a handle. It does not block, even if another process has a lease on the file.
func reopen(place *os.File, mode int) (*os.File, error) {
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
