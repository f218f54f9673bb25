//go:build unix

package launch

import (
	"io/fs"
	"syscall"
)

// ownerOf is the number of the user whose a file is.
func ownerOf(info fs.FileInfo) (owner int, known bool) {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0, false
	}
	return int(stat.Uid), true
}
