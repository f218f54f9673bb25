//go:build !linux

package launch

func hasTerminal() bool { return false }
