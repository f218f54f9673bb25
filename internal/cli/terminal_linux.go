package cli

import (
	"bufio"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// readKeys has the terminal give keys as they are pressed, without showing them.
// Where standard input is no terminal, or another job's, there are none: the
// channel is nil. restore puts the terminal back.
func readKeys() (keys <-chan rune, restore func()) {
	nothing := func() {}
	fd := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, nothing
	}
	// A job in the background that reads, or changes the terminal, is stopped.
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, nothing
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO // Ctrl-C stays what it is
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &now); err != nil {
		return nil, nothing
	}
	pressed := make(chan rune)
	ended := make(chan struct{})
	go func() {
		in := bufio.NewReader(os.Stdin)
		for {
			key, _, err := in.ReadRune()
			if err != nil {
				return
			}
			select {
			case pressed <- key:
			case <-ended:
				return
			}
		}
	}()
	return pressed, func() {
		close(ended)
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, before) // the terminal may be gone
	}
}

// ownSession has a process live on when the terminal it was started from is closed.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// leaveTerminal has what this process writes go nowhere from now on.
func leaveTerminal() error {
	nowhere, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = nowhere.Close() }()
	for fd := range 3 {
		if err := unix.Dup3(int(nowhere.Fd()), fd, 0); err != nil {
			return fmt.Errorf("leaving the terminal: %w", err)
		}
	}
	return nil
}
