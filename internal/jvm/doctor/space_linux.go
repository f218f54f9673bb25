package doctor

import (
	"os"
	"syscall"
)

// space is how large the file system is that holds a directory of the process,
// and how much of it users may still take.
func (h host) space(pid int, name string) (size, free int64, ok bool) {
	dir, err := h.OpenInside(pid, name, os.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return 0, 0, false
	}
	defer func() { _ = dir.Close() }()
	var stat syscall.Statfs_t
	if err := syscall.Fstatfs(int(dir.Fd()), &stat); err != nil {
		return 0, 0, false
	}
	return int64(stat.Blocks) * stat.Bsize, int64(stat.Bavail) * stat.Bsize, true
}
