package classfile

import (
	"errors"
	"fmt"
)

// FormatError says that bytes are not a class file, or a part of one: which
// structure was being read, where, and what is wrong with it.
type FormatError struct {
	Structure string // such as "constant pool entry 7" or "method 3, attribute 1"
	Offset    int    // from the start of what was being read: the file, or the attribute
	Detail    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s at offset %d: %s", e.Structure, e.Offset, e.Detail)
}

// ErrPoolFull is what a pool reports that was given more than 65,535 entries.
var ErrPoolFull = errors.New("constant pool is full (65535 entries)")

// PoolError says that a constant pool index does not lead to what was wanted.
type PoolError struct {
	Index uint16
	Want  string
	Got   Tag // 0 where the index is outside the pool or inside a long or double
}

func (e *PoolError) Error() string {
	if e.Got == 0 {
		return fmt.Sprintf("constant pool index %d: no such entry, want %s", e.Index, e.Want)
	}
	return fmt.Sprintf("constant pool index %d: want %s, found %s", e.Index, e.Want, e.Got)
}
