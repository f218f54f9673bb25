package cache

import (
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

// Engine is the version of what weaves in this program: that of a release, or of the
// commit it was built from; of anything else, the build itself. So no program ever
// takes what one with another engine has woven.
var Engine = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; strings.HasPrefix(v, "v") && !strings.Contains(v, "+dirty") {
			return v
		}
	}
	path, err := os.Executable()
	if err == nil {
		var build string
		if build, err = buildOf(path); err == nil {
			return "build " + build
		}
	}
	// Nothing is known of it, so nothing of it may be taken for another's.
	return "unknown " + rand.Text()
})

// buildOf is a short name of what a program was built from.
func buildOf(path string) (string, error) {
	if program, err := elf.Open(path); err == nil {
		defer func() { _ = program.Close() }() // only read
		if note := program.Section(".note.go.buildid"); note != nil {
			// The linker has put a hash of all that went into the program there.
			if id, err := note.Data(); err == nil && len(id) > 16+20 {
				sum := sha256.Sum256(id)
				return hex.EncodeToString(sum[:10]), nil
			}
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:10]), nil
}
