package calltree

import (
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// A library is the target's run-time image on disk: what it holds the target need not
// be asked for.
type library struct {
	image   *jimage.Image
	modules map[string]string // by class
}

// openLibrary gives nil where there is none that can be read.
func openLibrary(path string) *library {
	if path == "" {
		return nil
	}
	image, err := jimage.Open(path)
	if err != nil {
		return nil
	}
	l := &library{image: image, modules: make(map[string]string)}
	err = image.Each(func(module, path string, _ []byte) error {
		if class, is := strings.CutSuffix(path, ".class"); is {
			l.modules[class] = module
		}
		return nil
	})
	if err != nil {
		_ = image.Close()
		return nil
	}
	return l
}

func (l *library) has(class string) bool { return l != nil && l.modules[class] != "" }

// isJDK tells the JDK's own modules from those of a program that was linked with it.
func (l *library) isJDK(class string) bool {
	return l.has(class) && (strings.HasPrefix(l.modules[class], "java.") || strings.HasPrefix(l.modules[class], "jdk."))
}

// file is a class file; nil where it cannot be read.
func (l *library) file(class string) []byte {
	file, err := l.image.Read("/" + l.modules[class] + "/" + class + ".class")
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
