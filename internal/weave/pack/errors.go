package pack

import (
	"errors"
	"fmt"
)

// What can be the matter with a pack, for errors.Is.
var (
	ErrNotPack = errors.New("it is no pack of Sonde's: name a file that `sonde pack` made")
	ErrVersion = errors.New("it was made by another version of Sonde: make it again with `sonde pack`")
	ErrDamaged = errors.New("it is damaged: make it again with `sonde pack`")
)

// A FileError is a pack that cannot be read, or a class of it that cannot be had.
type FileError struct {
	Path   string
	Kind   error // ErrNotPack, ErrVersion or ErrDamaged
	Detail string
}

func (e *FileError) Error() string {
	text := fmt.Sprintf("pack %s: %v", e.Path, e.Kind)
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

func (e *FileError) Unwrap() error { return e.Kind }

func damaged(format string, args ...any) error {
	return &FileError{Kind: ErrDamaged, Detail: fmt.Sprintf(format, args...)}
}
