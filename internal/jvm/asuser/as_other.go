//go:build !linux

package asuser

import "errors"

// As calls fn where the user is the one we are; to become another needs Linux.
func As(uid, gid uint32, fn func() error) error {
	if !IsSelf(uid, gid) {
		return errors.ErrUnsupported
	}
	return fn()
}
