// Package archive reads and rewrites the containers of classes: a class file, a directory
// tree, a jar with jars inside it, and, for reading only, a JDK run-time image.
//
// Rewriting keeps everything except the changed classes. Entries of a jar keep order,
// times, comments, attributes and compression; unchanged entries are copied without
// unpacking. Files of a tree keep permissions and times, symbolic links stay links. The
// output is written completely or not at all.
//
// Inputs are not trusted: entry names outside the archive and archives that unpack to an
// implausible size are refused.
package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// Entry is one class file of an input.
type Entry struct {
	// Path is the path in the input, with slashes; each jar on the way ends in
	// "!/": BOOT-INF/lib/a.jar!/com/acme/Order.class. For an input that is a
	// class file it is the name it was opened by.
	Path string
	Data []byte // must not be changed
	// Seq numbers the classes of an input from 0, so that the results of several
	// workers can be put in order.
	Seq int
}

// Release is the Java release a multi-release jar keeps this class for, 0 for
// a class every release sees.
func (e *Entry) Release() int {
	inJar := e.Path[strings.LastIndex(e.Path, "!/")+1:]
	rest, ok := strings.CutPrefix(strings.TrimPrefix(inJar, "/"), "META-INF/versions/")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, "/")
	release, err := strconv.Atoi(number)
	if err != nil || release < 9 {
		return 0
	}
	return release
}

// Split takes apart FILE!ENTRY. A file whose own name has a '!' wins over an
// entry; entry is "" where there is none.
func Split(spec string) (file, entry string) {
	if _, err := os.Lstat(spec); err == nil {
		return spec, ""
	}
	for i := range len(spec) {
		if spec[i] != '!' {
			continue
		}
		if info, err := os.Stat(spec[:i]); err == nil && !info.IsDir() {
			return spec[:i], strings.TrimPrefix(spec[i+1:], "/")
		}
	}
	return spec, ""
}

// checkName refuses names that would lead out of the archive once it is
// unpacked.
func checkName(jar, name string) error {
	slashed := strings.ReplaceAll(name, `\`, "/")
	bad := name == "" || strings.HasPrefix(slashed, "/") || strings.ContainsRune(name, 0) ||
		len(slashed) > 1 && slashed[1] == ':'
	for segment := range strings.SplitSeq(slashed, "/") {
		bad = bad || segment == ".."
	}
	if bad {
		return &UnsafePathError{Jar: jar, Entry: name}
	}
	return nil
}

// Kind is the kind of an input, detected by its content.
type Kind int

// The kinds of input.
const (
	ClassFile Kind = iota + 1
	Tree           // a directory
	Jar            // any zip file
	Image          // a JDK run-time image, lib/modules
)

// Detect returns the kind of a file or directory.
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
		return 0, fmt.Errorf("%s: neither a regular file nor a directory", name)
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
	return 0, fmt.Errorf("%s: not a class file, jar, directory or JDK run-time image", name)
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

// SignedError reports that a jar to be changed is signed. A changed class fails
// verification against its signature, and the JVM refuses to load it.
type SignedError struct {
	Jar       string
	Signature string // one of its signature files
}

func (e *SignedError) Error() string {
	return fmt.Sprintf("%s is signed (%s), and changed classes would fail its verification: use --strip-signatures to write it unsigned", e.Jar, e.Signature)
}

// LimitError reports that unpacking stopped at a limit.
type LimitError struct {
	Path   string
	Detail string
}

func (e *LimitError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Detail) }

// UnsafePathError names an entry that would lie outside its archive.
type UnsafePathError struct {
	Jar, Entry string
}

func (e *UnsafePathError) Error() string {
	return fmt.Sprintf("%s: entry %q points outside the archive: not touched; the jar is damaged or hostile", e.Jar, e.Entry)
}

// OutputError reports an output that cannot be written.
type OutputError struct {
	Path   string
	Detail string
}

func (e *OutputError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Detail) }
