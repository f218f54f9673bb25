//go:build !linux

package service

import (
	"context"
	"errors"
	"net"
)

func ownedBy(string, uint32) bool { return false }

func private(string, uint32) error { return errors.ErrUnsupported }

func checkPrivate(string, uint32) error { return errors.ErrUnsupported }

func lock(context.Context, string) (func(), error) { return nil, errors.ErrUnsupported }

func peerOf(*net.UnixConn) (int, uint32, error) { return 0, 0, errors.ErrUnsupported }

func tryLockAlone(string) (func(), error) { return nil, errors.ErrUnsupported }

func tryLockShared(string) (func(), error) { return nil, errors.ErrUnsupported }
