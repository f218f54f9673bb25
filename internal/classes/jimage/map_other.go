//go:build !unix

package jimage

import "os"

// mapFile reads the whole file where there is no mmap.
func mapFile(path string) ([]byte, func() error, error) {
	data, err := os.ReadFile(path)
	return data, func() error { return nil }, err
}
