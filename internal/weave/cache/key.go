package cache

import (
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

// Key identifies an entry: a hash of everything that determines the woven bytes.
type Key [sha256.Size]byte

// String returns the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Original identifies a class file.
type Original struct {
	Digest [sha256.Size]byte
	Size   int
}

// OriginalOf returns the identity of a class file.
func OriginalOf(class []byte) Original { return Original{sha256.Sum256(class), len(class)} }

// keyDomain keeps these hashes apart from other uses of SHA-256. It changes whenever the
// meaning of a key changes.
const keyDomain = "sonde instrumentation cache, key 2\n"

// Recipe is the part of the key that many classes have in common, hashed once. It is safe
// for concurrent use.
type Recipe struct {
	engine string
	digest [sha256.Size]byte
}

// NewRecipe returns the recipe of an engine version and the class files of templates.
func NewRecipe(engine string, templates ...[]byte) *Recipe {
	// Each part is preceded by its length, so that no two lists read the same.
	text := append([]byte(keyDomain), 0)
	text = binary.AppendUvarint(text, uint64(len(engine)))
	text = append(text, engine...)
	text = binary.AppendUvarint(text, uint64(len(templates)))
	for _, template := range templates {
		sum := sha256.Sum256(template)
		text = append(text, sum[:]...)
	}
	return &Recipe{engine: engine, digest: sha256.Sum256(text)}
}

// Engine returns the version of the engine.
func (r *Recipe) Engine() string { return r.engine }

// Key returns the key of a class woven as the spec says.
func (r *Recipe) Key(class Original, spec string) Key {
	text := r.digest[:]
	text = binary.AppendUvarint(text, uint64(class.Size))
	text = append(text, class.Digest[:]...)
	text = binary.AppendUvarint(text, uint64(len(spec)))
	text = append(text, spec...)
	return sha256.Sum256(text)
}

// Engine returns the version of this program's engine: the release, the commit it was
// built from, or else a hash of the build. Programs with different engines therefore
// never share entries.
var Engine = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; strings.HasPrefix(v, "v") && !strings.Contains(v, "+dirty") {
			return v
		}
	}
	if path, err := os.Executable(); err == nil {
		if build, err := buildOf(path); err == nil {
			return "build " + build
		}
	}
	// A unique version: entries are never shared with a program that cannot be identified.
	return "unknown " + rand.Text()
})

// buildOf returns a short hash that identifies the build of a program.
func buildOf(path string) (string, error) {
	if program, err := elf.Open(path); err == nil {
		defer func() { _ = program.Close() }() // only read
		if note := program.Section(".note.go.buildid"); note != nil {
			// The linker stores a hash of everything that went into the program there.
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
