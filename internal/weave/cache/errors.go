package cache

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// What can be the matter with a store, for errors.Is.
var (
	ErrMissing   = errors.New("there is no such entry")
	ErrDamaged   = errors.New("the entry is damaged")
	ErrOther     = errors.New("the entry has a format of another version of Sonde")
	ErrBusy      = errors.New("others are at work in the cache")
	ErrTooLarge  = errors.New("the entry is too large for the cache")
	ErrFull      = errors.New("the disk is full")
	ErrReadOnly  = errors.New("it can only be read")
	ErrDenied    = errors.New("its permissions do not allow it")
	ErrUntrusted = errors.New("others could have put code there")
	ErrNoCache   = errors.New("it is no cache of Sonde's")
	ErrBroken    = errors.New("its file system fails")
)

// An EntryError is an entry that cannot be had. It is ErrMissing, as it has to be made
// again, and ErrDamaged or ErrOther besides.
type EntryError struct {
	Path   string
	Kind   error
	Detail string
}

func (e *EntryError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Path, e.Kind, e.Detail) }

// Is makes it ErrMissing.
func (e *EntryError) Is(target error) bool { return target == ErrMissing }

func (e *EntryError) Unwrap() error { return e.Kind }

// A DirError says what is the matter with a cache as a whole, and what to do.
type DirError struct {
	Dir    string
	Kind   error  // ErrFull, ErrReadOnly, ErrDenied, ErrUntrusted, ErrNoCache or ErrBroken
	Detail string // what was seen
	Cause  error  // of the system; may be nil
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
	ErrFull:      "make room there, or name another directory with --cache",
	ErrReadOnly:  "name a directory that can be written to with --cache to have more kept",
	ErrDenied:    "name a directory of your own with --cache",
	ErrUntrusted: "name a directory that only you can write to with --cache, or trust its owner with --cache-trust",
	ErrNoCache:   "name a new or empty directory, or one that Sonde made, with --cache",
	ErrBroken:    "look after the disk, or name another directory with --cache",
}

// explain says what an error of the system means for the cache.
func (d *Disk) explain(doing string, err error) error {
	return explainIn(d.dir, doing, err)
}

func explainIn(dir, doing string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrBroken
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		kind = ErrFull
	case errors.Is(err, unix.ELOOP): // a link, where Sonde makes none
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
	return &DirError{Dir: dir, Kind: kind, Detail: doing + ": " + err.Error(), Cause: err}
}
