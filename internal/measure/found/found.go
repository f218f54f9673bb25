// Package found stores the causes of slow calls that searches have found, so that the next search below the same method
// can begin with them. A cause is stored with hashes of the class files on the path to it. If one of these classes has
// changed, the cause is not used.
package found

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A Cause is what a search has found.
type Cause struct {
	At   time.Time     `json:"at"`
	Goal time.Duration `json:"goalNanos"` // slower calls were slow
	Text string        `json:"cause"`
	Path []Method      `json:"path"` // from the method that was searched to the cause
}

// A Method is a method with its class file.
type Method struct {
	Class      string `json:"class"` // internal
	Name       string `json:"method"`
	Descriptor string `json:"descriptor"`
	File       string `json:"sha256"` // of the class file
}

// Ref returns the method without its class file.
func (m Method) Ref() classfile.MethodRef {
	return classfile.MethodRef{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor}
}

// Digest returns the SHA-256 sum of the file of a loaded class; "" if it is not known.
type Digest func(class string) string

// Limits of what is remembered.
const (
	mostCauses = 200
	mostPath   = 100
	longest    = 1000 // bytes of a cause's text
	mostBytes  = 64 << 10
)

// suffix ends the names of files with a cause.
const suffix = ".json"

// New returns a cause at the end of a path; false if it is not worth remembering, because the path has one method only, or
// cannot be remembered, because the file of a class is not known.
func New(text string, goal time.Duration, path []classfile.MethodRef, digest Digest) (Cause, bool) {
	c := Cause{At: time.Now(), Goal: goal, Text: strings.ToValidUTF8(text[:min(len(text), longest)], "")}
	for _, m := range path {
		c.Path = append(c.Path, Method{m.Class, m.Name, m.Descriptor, digest(m.Class)})
	}
	return c, c.isValid()
}

func (c *Cause) isValid() bool {
	isBad := func(m Method) bool { return m.Class == "" || m.Name == "" || m.Descriptor == "" || m.File == "" }
	return len(c.Path) >= 2 && len(c.Path) <= mostPath && len(c.Text) <= longest && !slices.ContainsFunc(c.Path, isBad)
}

// Methods returns the path.
func (c *Cause) Methods() (methods []classfile.MethodRef) {
	for _, m := range c.Path {
		methods = append(methods, m.Ref())
	}
	return methods
}

// Causes are the remembered causes, the newest first.
type Causes []Cause

// Below returns the newest cause below one of some methods, if all classes on the way have the same files as then; nil if there
// is none.
func (c Causes) Below(isRoot func(classfile.MethodRef) bool, digest Digest) *Cause {
	at := slices.IndexFunc(c, func(cause Cause) bool {
		return isRoot(cause.Path[0].Ref()) && !slices.ContainsFunc(cause.Path, func(m Method) bool { return digest(m.Class) != m.File })
	})
	if at < 0 {
		return nil
	}
	return &c[at]
}

// ClassesBelow returns the classes on the ways below some methods.
func (c Causes) ClassesBelow(isRoot func(classfile.MethodRef) bool) map[string]bool {
	classes := make(map[string]bool)
	for _, cause := range c {
		if isRoot(cause.Path[0].Ref()) {
			for _, m := range cause.Path {
				classes[m.Class] = true
			}
		}
	}
	return classes
}

// Read returns the causes in a directory. Files that others could have written and causes that are not complete are left out.
func Read(dir string) (causes Causes) {
	entries, _ := os.ReadDir(dir) // none if there is no such directory
	for _, entry := range entries {
		if len(causes) < mostCauses && strings.HasSuffix(entry.Name(), suffix) {
			if c, err := read(filepath.Join(dir, entry.Name())); err == nil && c.isValid() {
				causes = append(causes, c)
			}
		}
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return b.At.Compare(a.At) })
	return causes
}

func read(name string) (c Cause, err error) {
	file, err := process.OpenPlain(name, os.O_RDONLY|syscall.O_NOFOLLOW, func(info os.FileInfo, owner uint32) error {
		if int(owner) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
			return process.ErrForeign
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(text, &c)
}

// Keep adds a cause to a directory, in place of an older one with the same path. Only this user can read it. The oldest causes go
// when there are too many.
func Keep(dir string, cause Cause) error {
	path, err := json.Marshal(cause.Path)
	if err != nil {
		return err
	}
	text, err := json.Marshal(cause)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "new-*") // for its owner alone
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // where it was not renamed
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(path))+suffix)); err != nil {
		return err
	}
	return evict(dir)
}

// evict removes all files but the newest.
func evict(dir string) error {
	entries, err := os.ReadDir(dir)
	var all []os.FileInfo
	for _, entry := range entries {
		if info, gone := entry.Info(); gone == nil {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range all[min(len(all), mostCauses):] {
		err = errors.Join(err, os.Remove(filepath.Join(dir, old.Name())))
	}
	return err
}
