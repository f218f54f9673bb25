//go:build !linux

package recorder

import (
	"errors"
	"os"
)

func openDirectory(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
