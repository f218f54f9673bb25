package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenInside opens a path as a process sees it. Symbolic links, also absolute
// ones, lead nowhere but below the process's own root.
func (h Host) OpenInside(pid int, name string, flags int) (*os.File, error) {
	return openBelow(h.path(pid, "root"), strings.TrimPrefix(name, "/"), flags)
}

// OpenWorking is OpenInside for a path below the process's working directory.
func (h Host) OpenWorking(pid int, name string, flags int) (*os.File, error) {
	return openBelow(h.path(pid, "cwd"), name, flags)
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
		// Before Linux 5.6, and where a sandbox knows no newer call: without
		// symbolic links nothing can lead out.
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

// readSmall reads a file someone else named: only a plain one of a sane size,
// and never one that makes us wait.
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
