package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Waits tells whether an agent in the JVM, put there with -javaagent, waits to
// be invited: by its ticket.
func (h Host) Waits(j *JVM) bool {
	text, err := h.readNote(j, TicketName(j.NamespacePID))
	if err != nil {
		return false
	}
	_, ok := ParseTicket(text)
	return ok
}

// mostNote is how much of a note is read.
const mostNote = 16 << 10

// readNote reads what an agent in the JVM has written into the JVM's /tmp, where
// anybody may have put something else: it must be the JVM's user's own and private,
// and of this process rather than of an earlier one with its number.
func (h Host) readNote(j *JVM, name string) ([]byte, error) {
	file, err := openPlain(func(flags int) (*os.File, error) {
		return h.OpenInside(j.PID, "/tmp/"+name, flags|unix.O_NOFOLLOW)
	}, unix.O_RDONLY, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid != j.UID || info.Mode().Perm()&0o077 != 0 || j.StartedAfter(info.ModTime()) {
		return nil, fmt.Errorf("%s: %w", file.Name(), errNotNote)
	}
	return io.ReadAll(io.LimitReader(file, mostNote))
}

var errNotNote = errors.New("not of this process, or not private")
