//go:build !linux

package process

import (
	"errors"
	"os"
)

// OpenInside needs Linux, as all of this package does.
func (h Host) OpenInside(int, string, int) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenWorking needs Linux.
func (h Host) OpenWorking(int, string, int) (*os.File, error) { return nil, errors.ErrUnsupported }

func readSmall(open func(flags int) (*os.File, error)) ([]byte, error) {
	_, err := open(0)
	return nil, err
}

func openPlain(open func(flags int) (*os.File, error), _ int, _ Judge) (*os.File, error) {
	return open(0)
}

// OpenPlain needs Linux.
func OpenPlain(string, int, Judge) (*os.File, error) { return nil, errors.ErrUnsupported }

// OpenMapped needs Linux.
func (h Host) OpenMapped(*JVM, string, int) (*os.File, error) { return nil, errors.ErrUnsupported }
