//go:build !linux

package process

import (
	"errors"
	"os"
)

// OpenDirectory needs Linux, as all of this package does.
func (h Host) OpenDirectory(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenWorking needs Linux.
func (h Host) OpenWorking(int) (*os.File, error) { return nil, errors.ErrUnsupported }

func (h Host) openPlainInside(*JVM, string, int, Judge) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

func (h Host) openFolder(*JVM, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func (f *Folder) open(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenPlain needs Linux.
func OpenPlain(string, int, Judge) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenMapped needs Linux.
func (h Host) OpenMapped(*JVM, string, int) (*os.File, error) { return nil, errors.ErrUnsupported }

// IOTarget needs Linux.
func (h Host) IOTarget(int, int) string { return "" }
