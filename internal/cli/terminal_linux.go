package cli

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownsTerminal reports whether this process may use its terminal: the kernel stops a background
// job that does.
func ownsTerminal() bool { return withTerminal(func(int) error { return nil }) }

// withTerminal reports whether this process may use its terminal and use succeeds.
func withTerminal(use func(fd int) error) bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	fd := int(terminal.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp() && use(fd) == nil
}

// setEcho decides whether the terminal shows the keys that are pressed, and reports whether that is a change.
func setEcho(on bool) bool {
	changed := false
	return withTerminal(func(fd int) error {
		state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		before := state.Lflag
		if state.Lflag &^= unix.ECHO; on {
			state.Lflag |= unix.ECHO
		}
		changed = state.Lflag != before
		return unix.IoctlSetTermios(fd, unix.TCSETS, state)
	}) && changed
}

// dropKeys forgets keys that were pressed before.
func dropKeys() {
	_ = withTerminal(func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) })
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
