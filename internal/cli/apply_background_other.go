//go:build !linux

package cli

import (
	"errors"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

func leaveTerminal() error { return errors.ErrUnsupported }
