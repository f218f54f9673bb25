package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// readTerminalKeys makes the terminal report keys as they are pressed, without echoing them. If
// standard input is no terminal, or belongs to another job, the channel is nil. restore
// restores the terminal.
func readTerminalKeys() (keys <-chan rune, restore func()) {
	nothing := func() {}
	fd := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, nothing
	}
	// The kernel stops a background job that reads or changes the terminal.
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, nothing
	}
	now := *before
	now.Lflag &^= unix.ICANON | unix.ECHO // Ctrl-C still sends a signal
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

// notifyResize reports changes of the size of the terminal, until stop is called.
func notifyResize(resized chan<- os.Signal) (stop func()) {
	signal.Notify(resized, syscall.SIGWINCH)
	return func() { signal.Stop(resized) }
}
