package archive

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// An Index is the directory of a jar, and gives access to its small files.
type Index struct {
	Names  []string // of all entries, in their order
	jar    string
	files  map[string]*zip.File
	unpack *unpacker
}

const (
	maxIndex = 64 << 20 // of a jar's directory; that of a jar with 100,000 classes has 10 MB
	maxSmall = 16 << 20 // of the files that an Index reads; manifests of signed jars are long
)

// ReadIndex reads the directory of a jar. The file must stay open while the Index is in use.
func ReadIndex(file *os.File) (*Index, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return readIndex(file, file.Name(), info.Size())
}

func readIndex(file io.ReaderAt, name string, size int64) (*Index, error) {
	bounded := &boundedReader{file: file, left: maxIndex}
	r, err := zip.NewReader(bounded, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, errNotJar, err)
	}
	x := &Index{jar: name, files: make(map[string]*zip.File, len(r.File)), unpack: newUnpacker(size)}
	for _, f := range r.File {
		x.Names = append(x.Names, f.Name)
		x.files[f.Name] = f
	}
	bounded.left = maxIndex // for the files
	return x, nil
}

// Read returns the content of a small entry.
func (x *Index) Read(entry string) ([]byte, error) {
	f := x.files[entry]
	if f == nil {
		return nil, fmt.Errorf("%s has no entry %s: %w", x.jar, entry, fs.ErrNotExist)
	}
	return x.unpack.read(f, x.jar+"!/"+entry, maxSmall)
}

// Attribute returns a main attribute of the jar's manifest; "" if there is none.
func (x *Index) Attribute(name string) string {
	data, err := x.Read(manifestName)
	if err != nil {
		return ""
	}
	// A line that begins with a blank continues the one before.
	text := strings.NewReplacer("\r\n ", "", "\n ", "", "\r ", "").Replace(string(manifestSections(data)[0]))
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if found, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(found, name) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// A boundedReader reads no more than a number of bytes of a file, however often.
type boundedReader struct {
	file io.ReaderAt
	left int64
}

func (b *boundedReader) ReadAt(data []byte, at int64) (int, error) {
	if b.left -= int64(len(data)); b.left < 0 {
		return 0, errTooLong
	}
	return b.file.ReadAt(data, at)
}

var errTooLong = fmt.Errorf("its directory has more than %d bytes", maxIndex)
