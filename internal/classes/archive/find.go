package archive

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// Find reads one class of a jar or run-time image. entry is a path, with "!/"
// after each jar on the way, or a class name such as com.acme.Order. The error
// answers to [fs.ErrNotExist] where there is no such class.
func Find(name, entry string) (Entry, error) {
	kind, err := Detect(name)
	if err != nil {
		return Entry{}, err
	}
	switch kind {
	case Jar:
		return findInJar(name, entry)
	case Image:
		return findInImage(name, entry)
	default:
		return Entry{}, &KindError{name, "has no entries: only jars and JDK run-time images are written with !"}
	}
}

func findInJar(name, entry string) (Entry, error) {
	r, err := zip.OpenReader(name)
	if err != nil {
		return Entry{}, fmt.Errorf("%s: %w: %w", name, errNotJar, err)
	}
	defer func() { _ = r.Close() }() // only read
	info, err := os.Stat(name)
	if err != nil {
		return Entry{}, err
	}
	u := newUnpacker(info.Size())
	jar, where, rest := &r.Reader, name, entry
	for depth := 0; ; depth++ {
		outer, inner, nested := strings.Cut(rest, "!")
		if !nested {
			break
		}
		rest = strings.TrimPrefix(inner, "/")
		f := lookup(jar, outer)
		where += "!/" + outer
		if f == nil {
			return Entry{}, fmt.Errorf("%s: %w", where, fs.ErrNotExist)
		}
		if jar, err = u.openNested(f, where, depth); err != nil {
			return Entry{}, err
		}
	}
	f := lookup(jar, rest)
	if f == nil {
		f = lookup(jar, classPath(rest))
	}
	if f == nil {
		return Entry{}, fmt.Errorf("%s has no entry %s: %w", where, rest, fs.ErrNotExist)
	}
	data, err := u.read(f, where+"!/"+f.Name, maxClassFile)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Path: strings.TrimSuffix(entry, rest) + f.Name, Data: data}, nil
}

func lookup(r *zip.Reader, name string) *zip.File {
	for _, f := range r.File {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// findInImage also takes a class without its module.
func findInImage(name, entry string) (found Entry, err error) {
	im, err := jimage.Open(name)
	if err != nil {
		return Entry{}, err
	}
	defer func() {
		if closeErr := im.Close(); err == nil {
			err = closeErr
		}
	}()
	if data, err := im.Read(entry); err == nil {
		return Entry{Path: entry, Data: append([]byte(nil), data...)}, nil
	}
	path := classPath(entry)
	for _, module := range im.Modules() {
		if data, err := im.Read(module + "/" + path); err == nil {
			return Entry{Path: module + "/" + path, Data: append([]byte(nil), data...)}, nil
		}
	}
	return Entry{}, fmt.Errorf("%s has no entry %s: %w", name, entry, fs.ErrNotExist)
}
