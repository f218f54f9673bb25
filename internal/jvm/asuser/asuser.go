// Package asuser lets one thread act as another user.
//
// When root creates or removes files in directories of a user, it does so with that user's privileges. Then
// nothing that the user prepares, such as a symbolic link, makes root do anything that the user could not do.
package asuser

import "os"

// A User is what a thread becomes: a user with a group and supplementary groups.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// MayBecome reports whether this process is, or can become, a user.
func MayBecome(uid, gid uint32) bool {
	return os.Geteuid() == 0 || IsSelf(uid, gid)
}

// IsSelf reports whether a user and group are the effective ones of this process.
func IsSelf(uid, gid uint32) bool {
	return os.Geteuid() == int(uid) && os.Getegid() == int(gid)
}
