package sampler

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// openDirectory opens a directory of a process in its own mount namespace. Links
// lead nowhere but below the process's own root.
func openDirectory(pid int, path string) (*os.File, error) {
	return process.Local.OpenInside(pid, path, unix.O_RDONLY|unix.O_DIRECTORY)
}
