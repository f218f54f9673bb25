package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasTerminal tells whether a terminal sends its signals to this process's group,
// and so to the programs it has started as well.
func hasTerminal() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = terminal.Close() }()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
