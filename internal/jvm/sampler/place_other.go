//go:build !linux

package sampler

import (
	"errors"
	"os"
)

func openDirectory(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
