package archive

import (
	"os"
	"strconv"
	"strings"
)

// Entry is one class file of an input.
type Entry struct {
	// Path is where it lies in the input, with slashes; each jar on the way
	// ends in "!/": BOOT-INF/lib/a.jar!/com/acme/Order.class. For an input
	// that is a class file it is the name it was opened by.
	Path string
	Data []byte // must not be changed
	// Seq counts the classes of an input in their order, from 0, so that what
	// several workers find out can be put in order again.
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
