//go:build !linux

package doctor

// space needs Linux, as all processes looked at do.
func (h host) space(int, string) (size, free int64, ok bool) { return 0, 0, false }
