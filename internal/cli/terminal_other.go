//go:build !linux

package cli

import (
	"errors"
	"syscall"
)

// ownsTerminal knows no terminals here: sonde attaches on Linux only.
func ownsTerminal() bool { return false }

func setEcho(bool) bool { return false }

func dropKeys() {}

func ownSession() *syscall.SysProcAttr { return nil }

func leaveTerminal() error { return errors.ErrUnsupported }
