//go:build !unix

package launch

// CheckOwn knows users and modes as Unix has them.
func CheckOwn(string) error { return nil }
