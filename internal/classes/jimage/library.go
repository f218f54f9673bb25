package jimage

import (
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// Library is the run-time image of a JVM with its classes indexed by name. What it holds
// need not be requested from the JVM. A nil Library holds nothing. It is for use by one
// goroutine at a time.
type Library struct {
	image   *Image
	modules map[string]string          // by class
	exports map[string]map[string]bool // packages exported to all modules, by module; read on demand
}

// OpenLibrary returns nil where path is empty or no image that can be read.
func OpenLibrary(path string) *Library {
	if path == "" {
		return nil
	}
	image, err := Open(path)
	if err != nil {
		return nil
	}
	l := &Library{image: image, modules: make(map[string]string), exports: make(map[string]map[string]bool)}
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

// Close releases the image.
func (l *Library) Close() {
	if l != nil {
		_ = l.image.Close()
	}
}

// Has reports whether the image holds a class, given by its internal name.
func (l *Library) Has(class string) bool { return l != nil && l.modules[class] != "" }

// IsJDK reports whether a class belongs to a module of the JDK, as opposed to a module of
// a program that was linked into the image.
func (l *Library) IsJDK(class string) bool {
	return l.Has(class) && (strings.HasPrefix(l.modules[class], "java.") || strings.HasPrefix(l.modules[class], "jdk."))
}

// Classes returns the names of all classes in order.
func (l *Library) Classes() []string {
	if l == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(l.modules))
}

// Class returns a class file; nil where the image does not hold the class.
func (l *Library) Class(name string) []byte {
	if !l.Has(name) {
		return nil
	}
	file, err := l.image.Read("/" + l.modules[name] + "/" + name + ".class")
	if err != nil {
		return nil
	}
	return file
}

// Exports reports whether class user may use a class: both are in one module, or the
// package of the class is exported to all modules. It is true for classes outside the
// image, about which nothing is known.
func (l *Library) Exports(class, user string) bool {
	if !l.Has(class) || l.modules[class] == l.modules[user] {
		return true
	}
	module := l.modules[class]
	packages, known := l.exports[module]
	if !known {
		packages = l.readExports(module)
		l.exports[module] = packages
	}
	return packages == nil || packages[class[:max(0, strings.LastIndexByte(class, '/'))]]
}

// readExports returns nil where the descriptor of the module cannot be read.
func (l *Library) readExports(module string) map[string]bool {
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
