package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// The kinds of errors, for errors.Is.
var (
	ErrMissing   = errors.New("there is no such entry")
	ErrDamaged   = errors.New("the entry is damaged")
	ErrVersion   = errors.New("the entry was written by another version of Sonde")
	ErrBusy      = errors.New("another process is changing the cache")
	ErrTooLarge  = errors.New("the entry is too large for the cache")
	ErrFull      = errors.New("the disk is full")
	ErrReadOnly  = errors.New("it is read-only")
	ErrDenied    = errors.New("its permissions do not allow access")
	ErrUntrusted = errors.New("other users could have put code there")
	ErrNoCache   = errors.New("it is not a cache of Sonde")
	ErrBroken    = errors.New("its file system fails")
)

// EntryError is an entry that cannot be used: ErrDamaged or ErrVersion. It is ErrMissing,
// too, because the class has to be woven again.
type EntryError struct {
	Path   string
	Kind   error
	Detail string
}

func (e *EntryError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Path, e.Kind, e.Detail) }

// Is reports whether the target is ErrMissing.
func (e *EntryError) Is(target error) bool { return target == ErrMissing }

func (e *EntryError) Unwrap() error { return e.Kind }

// DirError is a problem of the cache as a whole, with a remedy.
type DirError struct {
	Dir    string
	Kind   error // ErrFull, ErrReadOnly, ErrDenied, ErrUntrusted, ErrNoCache or ErrBroken
	Detail string
	Cause  error // error of the system; may be nil
}

func (e *DirError) Error() string {
	text := fmt.Sprintf("cache %s: %v", e.Dir, e.Kind)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text + ": " + remedies[e.Kind]
}

func (e *DirError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

var remedies = map[error]string{
	ErrFull:      "free some space, or use another directory with --cache",
	ErrReadOnly:  "to keep more classes, use a writable directory with --cache",
	ErrDenied:    "use a directory of your own with --cache",
	ErrUntrusted: "use a directory that only you can write to with --cache, or trust its owner with --cache-trust",
	ErrNoCache:   "use a new or empty directory, or one created by Sonde, with --cache",
	ErrBroken:    "check the disk, or use another directory with --cache",
}

// explain turns an error of the system into a DirError; nil stays nil.
func (d *Disk) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrBroken
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		kind = ErrFull
	case errors.Is(err, unix.ELOOP): // a symbolic link, which Sonde never creates
		kind = ErrUntrusted
	case errors.Is(err, unix.EROFS):
		kind = ErrReadOnly
	case errors.Is(err, fs.ErrPermission):
		kind = ErrDenied
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENOENT):
		kind = ErrNoCache
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &DirError{Dir: d.dir, Kind: kind, Detail: doing + ": " + err.Error(), Cause: err}
}

// Sharing says who besides their owner may read entries. Nobody else may write them.
type Sharing int

// The kinds of sharing.
const (
	Private Sharing = iota
	WithGroup
	WithEveryone
)

// ParseSharing parses the value of --cache-share.
func ParseSharing(text string) (Sharing, error) {
	switch text {
	case "", "private":
		return Private, nil
	case "group":
		return WithGroup, nil
	case "everyone":
		return WithEveryone, nil
	}
	return Private, fmt.Errorf("%q is not private, group or everyone", text)
}

func (s Sharing) dirMode() fs.FileMode { return [...]fs.FileMode{0o700, 0o750, 0o755}[s] }

func (s Sharing) fileMode() fs.FileMode { return [...]fs.FileMode{0o600, 0o640, 0o644}[s] }

// trust decides whose files are used.
type trust struct {
	self   uint32
	others []uint32
}

// refuses returns why a file cannot be trusted, or "" where it can.
func (t *trust) refuses(stat *unix.Stat_t) string {
	switch {
	case stat.Uid != t.self && !slices.Contains(t.others, stat.Uid):
		return fmt.Sprintf("it belongs to %s, not to you, %s", userName(stat.Uid), userName(t.self))
	case modeOf(stat)&0o022 != 0:
		return fmt.Sprintf("others may write to it: its mode is %04o", modeOf(stat)&0o7777)
	}
	return ""
}

// modeOf returns the mode of a file, whose type differs between systems.
func modeOf(stat *unix.Stat_t) uint32 {
	return uint32(stat.Mode) //nolint:unconvert // on Linux it is a uint32 already
}

func userName(uid uint32) string {
	number := strconv.Itoa(int(uid))
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "user " + number
}

// LookupUser returns the id of a user given by name or id.
func LookupUser(name string) (uint32, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no user %q", name)
	}
	n, err := strconv.ParseUint(u.Uid, 10, 32)
	return uint32(n), err
}
