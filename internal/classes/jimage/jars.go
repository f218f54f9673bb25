package jimage

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// bootJars are the jars with the classes of JDK 8, in the order in which the JVM searches them. All
// but the first may be missing. Resources of the JDK that are not classes are not needed.
var bootJars = []string{"rt.jar", "jsse.jar", "jce.jar", "charsets.jar", "jfr.jar"}

// jarModule stands for the module of all classes of JDK 8, which has no modules.
const jarModule = "java.base"

// openJars opens the jars of JDK 8, given the path of rt.jar.
func openJars(path string) (*Image, error) {
	im := &Image{file: path}
	for i, name := range bootJars {
		jar, err := openJar(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			if i > 0 && errors.Is(err, os.ErrNotExist) {
				continue
			}
			_ = im.closeJars() // the other error is the one to report
			return nil, err
		}
		im.jars = append(im.jars, jar)
		for _, entry := range jar.File {
			if strings.HasSuffix(entry.Name, ".class") {
				im.resources = append(im.resources, resource{module: jarModule, path: entry.Name, entry: entry})
			}
		}
	}
	im.arrange()
	return im, nil
}

func openJar(path string) (*zip.ReadCloser, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return zip.OpenReader(path)
}

func (im *Image) closeJars() (err error) {
	if im == nil {
		return nil
	}
	for _, jar := range im.jars {
		err = errors.Join(err, jar.Close())
	}
	im.jars = nil
	return err
}

// maxClass bounds what one class may claim to unpack to.
const maxClass = 64 << 20

// readEntry reads a class from a jar.
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
