//go:build !linux

package cli

import (
	"errors"
	"os"
	"syscall"
)

// readTerminalKeys knows no terminals here: sonde attaches on Linux only.
func readTerminalKeys() (keys <-chan rune, restore func()) { return nil, func() {} }

func ownSession() *syscall.SysProcAttr { return nil }

func leaveTerminal() error { return errors.ErrUnsupported }

func notifyResize(chan<- os.Signal) (stop func()) { return func() {} }
