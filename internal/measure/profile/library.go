package profile

import (
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// A library is the target's JDK on disk. What the program's classes inherit from,
// and which methods are native, is read there: the target need not be asked.
type library struct {
	image *jimage.Image
	names map[string]string // of resources, by class
}

// openLibrary gives nil where there is none that can be read.
func openLibrary(path string) *library {
	image, err := jimage.Open(path)
	if err != nil {
		return nil
	}
	l := &library{image: image, names: make(map[string]string)}
	err = image.Each(func(module, path string, _ []byte) error {
		if class, is := strings.CutSuffix(path, ".class"); is {
			l.names[class] = "/" + module + "/" + path
		}
		return nil
	})
	if err != nil {
		_ = image.Close()
		return nil
	}
	return l
}

// class is a class file; nil where the JDK has none of that name.
func (l *library) class(name string) []byte {
	if l == nil || l.names[name] == "" {
		return nil
	}
	file, err := l.image.Read(l.names[name])
	if err != nil {
		return nil
	}
	return file
}

func (l *library) close() {
	if l != nil {
		_ = l.image.Close()
	}
}
