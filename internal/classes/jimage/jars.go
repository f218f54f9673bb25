package jimage

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// bootJars are the jars with the classes of JDK 8, in the order in which the JVM searches them. All
// but the first may be missing. Resources of the JDK that are not classes are not needed.
var bootJars = []string{"rt.jar", "jsse.jar", "jce.jar", "charsets.jar", "jfr.jar"}

// jarModule stands for the module of all classes of JDK 8, which has no modules.
const jarModule = "java.base"

// maxJar and maxDirectory bound a jar and its directory. Those of the largest have 66 MB and 2 MB.
const (
	maxJar       = 1 << 30
	maxDirectory = 64 << 20
)

// openJars opens the jars of JDK 8, given the path of rt.jar.
func openJars(path string, open opener) (*Image, error) {
	im := &Image{file: path}
	var files []*os.File
	im.close = func() (err error) {
		for _, file := range files {
			err = errors.Join(err, file.Close())
		}
		files = nil
		return err
	}
	for i, name := range bootJars {
		file, err := open(filepath.Join(filepath.Dir(path), name))
		if i > 0 && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			files = append(files, file)
			err = im.addJar(file)
		}
		if err != nil {
			_ = im.Close() // the other error is the one to report
			return nil, err
		}
	}
	im.arrange()
	return im, nil
}

func (im *Image) addJar(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxJar {
		return fmt.Errorf("%s: not a regular file, or too large", file.Name())
	}
	return im.addEntries(file, info.Size())
}

func (im *Image) addEntries(file io.ReaderAt, size int64) error {
	limited := &limitedReader{from: file, left: maxDirectory}
	jar, err := zip.NewReader(limited, size)
	if err != nil {
		return err
	}
	limited.left = math.MaxInt64 // for the classes, each of which is bounded
	for _, entry := range jar.File {
		if strings.HasSuffix(entry.Name, ".class") {
			im.resources = append(im.resources, resource{module: jarModule, path: entry.Name, entry: entry})
		}
	}
	return nil
}

// A limitedReader reads a number of bytes, then fails.
type limitedReader struct {
	from io.ReaderAt
	left int64
}

func (l *limitedReader) ReadAt(data []byte, at int64) (int, error) {
	if l.left < math.MaxInt64 { // while the directory is read, by one goroutine
		if l.left -= int64(len(data)); l.left < 0 {
			return 0, fmt.Errorf("its directory has more than %d bytes", maxDirectory)
		}
	}
	return l.from.ReadAt(data, at)
}

// maxClass bounds what one class may claim to unpack to.
const maxClass = 64 << 20

func readEntry(entry *zip.File) ([]byte, error) {
	if entry.UncompressedSize64 > maxClass {
		return nil, fmt.Errorf("%s: more than %d bytes", entry.Name, maxClass)
	}
	content, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	data, err := io.ReadAll(io.LimitReader(content, int64(entry.UncompressedSize64)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", entry.Name, err)
	}
	return data, nil
}
