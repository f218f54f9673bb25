package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// fileRemedy adds to why a file cannot be read as an arena what to do.
func fileRemedy(err error, name string) error {
	switch {
	case !errors.Is(err, arena.ErrNotArena) && !errors.Is(err, process.ErrNotPlain):
		return err
	case isPack(name):
		return fmt.Errorf("%s is a pack, not what was measured with it: name the arena of the program that was started with it, or its process number", name)
	}
	return fmt.Errorf("%w; name the file that arena= has named, or /tmp/sonde-PID-….arena; one of another version the Sonde reads that made the pack", err)
}

// isPack reports whether a file is a pack, of whichever version and state.
func isPack(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false // to open it could take for ever
	}
	opened, err := pack.Open(name)
	if err == nil {
		_ = opened.Close() // only read
		return true
	}
	return errors.Is(err, pack.ErrDamaged) || errors.Is(err, pack.ErrVersion)
}

// insideRemedy adds to why the arena of a JVM cannot be read what to do. What is wrong
// with a pack that was named is said already.
func insideRemedy(err error, pid int, packPath string) error {
	var of *fs.PathError
	switch {
	case errors.Is(err, results.ErrNoArena), errors.As(err, &of) && packPath != "" && of.Path == packPath:
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run sonde as the user of process %d, or as root", err, pid)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; it was removed while process %d runs: start the program again, with arena=FILE where nobody tidies up", err, pid)
	case errors.Is(err, arena.ErrNotArena):
		return fmt.Errorf("%w; the Sonde reads it that made the pack", err)
	}
	return err
}
