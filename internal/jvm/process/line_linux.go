package process

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// longestLine bounds the files of one line in /proc.
const longestLine = 4096

// readLine reads a file of one line in /proc. Threads have many of them, and os.ReadFile makes twice as many system calls.
func readLine(name string) ([]byte, error) {
	file, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(file) //nolint:errcheck // nothing was written to it
	var line [longestLine]byte
	n, err := unix.Read(file, line[:])
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return bytes.Clone(line[:n]), nil
}
