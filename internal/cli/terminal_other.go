//go:build !linux

package cli

import (
	"errors"
	"syscall"
)

// readKeys knows no terminals here: sonde attaches on Linux only.
func readKeys() (keys <-chan rune, restore func()) { return nil, func() {} }

func ownSession() *syscall.SysProcAttr { return nil }

func leaveTerminal() error { return errors.ErrUnsupported }
