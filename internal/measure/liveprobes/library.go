package liveprobes

import (
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
)

// A library is the target's run-time image on disk: the classes it holds the target need
// not be asked for, and it says what modules export. A nil one holds nothing.
type library struct {
	image   *jimage.Image
	modules map[string]string          // by class
	exports map[string]map[string]bool // packages that everybody may use, by module; read when asked for
}

// openLibrary gives nil where there is no image that can be read.
func openLibrary(path string) *library {
	if path == "" {
		return nil
	}
	image, err := jimage.Open(path)
	if err != nil {
		return nil
	}
	l := &library{image: image, modules: make(map[string]string), exports: make(map[string]map[string]bool)}
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
	if !l.has(class) {
		return nil
	}
	file, err := l.image.Read("/" + l.modules[class] + "/" + class + ".class")
	if err != nil {
		return nil
	}
	return file
}

// exported reports whether a class may be used by another: those that are not in the
// image are not judged.
func (l *library) exported(class, by string) bool {
	if !l.has(class) || l.modules[class] == l.modules[by] {
		return true
	}
	module := l.modules[class]
	packages, known := l.exports[module]
	if !known {
		packages = l.readExports(module)
		l.exports[module] = packages
	}
	return packages == nil || packages[packageOf(class)]
}

// readExports gives nil where the module's description cannot be read.
func (l *library) readExports(module string) map[string]bool {
	file, err := l.image.Read("/" + module + "/module-info.class")
	if err != nil {
		return nil
	}
	class, err := classfile.Parse(file)
	if err != nil {
		return nil
	}
	attribute := class.Find(class.Attributes, classfile.KindModule)
	if attribute == nil {
		return nil
	}
	contents, err := class.Decode(*attribute)
	described, is := contents.(*classfile.Module)
	if err != nil || !is {
		return nil
	}
	packages := make(map[string]bool)
	for _, export := range described.Exports {
		if name, err := class.Pool.PackageName(export.Package); err == nil && len(export.To) == 0 {
			packages[string(name)] = true
		}
	}
	return packages
}

func (l *library) close() {
	if l != nil {
		_ = l.image.Close()
	}
}

func packageOf(class string) string { return class[:max(0, strings.LastIndexByte(class, '/'))] }
