//go:build !linux

package asuser

import "errors"

// As calls fn if the user is the current one; becoming another one needs Linux.
func As(uid, gid uint32, fn func() error) error {
	if !IsSelf(uid, gid) {
		return errors.ErrUnsupported
	}
	return fn()
}
