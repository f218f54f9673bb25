// Package identity lets one thread act as another user.
//
// Root that makes or removes files in places of a user does it with that user's
// power: then nothing the user could put in the way, such as a symbolic link,
// makes root do what the user could not have done.
package asuser

import "os"

// MayBecome tells whether we are, or can take on the identity of, a user.
func MayBecome(uid, gid uint32) bool {
	return os.Geteuid() == 0 || IsSelf(uid, gid)
}

// IsSelf tells whether a user and group are this process's effective ones.
func IsSelf(uid, gid uint32) bool {
	return os.Geteuid() == int(uid) && os.Getegid() == int(gid)
}
