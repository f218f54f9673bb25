//go:build !linux

package cli

// readKeys knows no terminals here: sonde attaches on Linux only.
func readKeys() (keys <-chan rune, restore func()) { return nil, func() {} }
