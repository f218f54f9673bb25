//go:build !linux

package process

import "os"

func readLine(name string) ([]byte, error) { return os.ReadFile(name) }
