package process

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
)

// Find returns the JVMs that can be seen, by rising process number. Processes
// that end meanwhile, and those that cannot be told to be JVMs, are left out.
func (h Host) Find(ctx context.Context) ([]*JVM, error) {
	entries, err := os.ReadDir(h.Proc)
	if err != nil {
		return nil, err
	}
	var found []*JVM
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// What is odd about one process must not hide the others.
		if j, err := h.Inspect(pid); err == nil {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b *JVM) int { return cmp.Compare(a.PID, b.PID) })
	return found, nil
}
