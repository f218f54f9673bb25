package process

import (
	"errors"
	"os"
)

// Why a file is not opened that someone else has named.
var (
	ErrNotPlain  = errors.New("not a plain file")
	ErrForeign   = errors.New("it is another user's")
	ErrEmpty     = errors.New("it is empty")
	ErrNotMapped = errors.New("it is not the file that the process has in memory")
)

// A Judge looks at a plain file and at whose it is, before it is opened: an error of its
// keeps it closed.
type Judge func(info os.FileInfo, owner uint32) error

// NamedBy judges files that a user has named, for reading: those that this user, root or
// we have made, and those that everybody may read anyway.
func NamedBy(user uint32) Judge {
	return func(info os.FileInfo, owner uint32) error {
		const readableByAll = 0o004
		switch {
		case owner != user && owner != 0 && int(owner) != os.Geteuid() && info.Mode().Perm()&readableByAll == 0:
			return ErrForeign
		case info.Size() == 0: // so is what is made while it is read, as below /proc
			return ErrEmpty
		}
		return nil
	}
}
