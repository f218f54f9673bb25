//go:build !linux

package asuser

import "errors"

// As calls fn if the user is the current one; becoming another one needs Linux.
func As(u User, fn func() error) error {
	if !IsSelf(u.UID, u.GID) {
		return errors.ErrUnsupported
	}
	return fn()
}
