package archive

import (
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// Kind is what an input is, judged by its content.
type Kind int

// The kinds of input.
const (
	ClassFile Kind = iota + 1
	Tree           // a directory
	Jar            // any zip file
	Image          // a JDK run-time image, lib/modules
)

// Detect tells what a path holds.
func Detect(name string) (Kind, error) {
	// Asked before opening, which waits for a writer where name is a pipe.
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return Tree, nil
	}
	if !info.Mode().IsRegular() {
		return 0, &KindError{name, "neither a regular file nor a directory"}
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // only read
	var head [4]byte
	if _, err := io.ReadFull(f, head[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	switch {
	case string(head[:]) == "\xca\xfe\xba\xbe":
		return ClassFile, nil
	case jimage.Is(head[:]):
		return Image, nil
	case string(head[:2]) == "PK" || isArchiveName(name):
		// A jar may begin with a script that starts it.
		return Jar, nil
	}
	return 0, &KindError{name, "not a class file, jar, directory or JDK run-time image"}
}

func isClassName(name string) bool { return strings.HasSuffix(name, ".class") }

// isArchiveName reports whether a file of this name should be a zip with
// classes inside.
func isArchiveName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jar", ".war", ".ear", ".zip":
		return true
	}
	return false
}

// isNestedName reports whether an entry of this name is looked into. A zip
// inside a jar is data of the program; a jar is code.
func isNestedName(name string) bool {
	return isArchiveName(name) && !strings.EqualFold(path.Ext(name), ".zip")
}
