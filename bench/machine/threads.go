package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Threads are the folders in /proc of those threads of a process of which the names, as the
// kernel has them, are wanted.
func Threads(pid int, isWanted func(name string) bool) (folders []string) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is well formed
	for _, folder := range all {
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err == nil && isWanted(string(bytes.TrimSpace(name))) { // else it has ended
			folders = append(folders, folder)
		}
	}
	return folders
}
