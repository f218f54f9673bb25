package jvmproc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Waits tells whether an agent in the JVM, put there with -javaagent, waits to
// be invited: by its ticket, which must be the JVM's user's own and private, and
// of this process rather than of an earlier one with its number.
func (h Host) Waits(j *JVM) bool {
	file, err := openPlain(func(flags int) (*os.File, error) {
		return h.OpenInside(j.PID, "/tmp/"+TicketName(j.NamespacePID), flags|unix.O_NOFOLLOW)
	})
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid != j.UID || info.Mode().Perm()&0o077 != 0 || j.StartedAfter(info.ModTime()) {
		return false
	}
	text := make([]byte, 64)
	n, err := file.ReadAt(text, 0)
	if n == 0 && err != nil {
		return false
	}
	_, ok = ParseTicket(text[:n])
	return ok
}
