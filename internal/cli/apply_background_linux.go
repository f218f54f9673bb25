package cli

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

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
