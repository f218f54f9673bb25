package cli

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownsTerminal reports whether this process may use its terminal: the kernel stops a background
// job that does.
func ownsTerminal() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ownSession makes a process survive the end of its terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// leaveTerminal redirects the streams of this process to /dev/null.
func leaveTerminal() error {
	nowhere, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = nowhere.Close() }()
	for fd := range 3 {
		if err := unix.Dup3(int(nowhere.Fd()), fd, 0); err != nil {
			return fmt.Errorf("detaching from the terminal: %w", err)
		}
	}
	return nil
}
