// Package agent holds what enters a JVM: the built form of the Java sources
// beside it, embedded so that sonde is one file.
package agent

import (
	"archive/zip"
	"bytes"
	_ "embed" // for the jar
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed dist/sonde-runtime.jar
var runtimeJar []byte

// builtinFolder holds the built-in templates, each a class of one template
// method with the name of the class in lower case.
const builtinFolder = "sonde/template/builtin/"

// RuntimeJar returns the jar that woven programs need on their class path. The
// caller must not modify it.
func RuntimeJar() []byte { return runtimeJar }

// Template returns the class file of a built-in template and the name of the
// template method in it. The caller must not modify the bytes.
func Template(name string) (class []byte, method string, ok bool) {
	class, ok = templates()[name]
	return class, name, ok
}

// TemplateNames returns the names of the built-in templates, sorted.
func TemplateNames() []string { return slices.Sorted(maps.Keys(templates())) }

// templates maps the name of each built-in template to its class file. The
// jar is part of the program, so one that cannot be read is a build without
// hope, not an error a user could act on.
var templates = sync.OnceValue(func() map[string][]byte {
	archive, err := zip.NewReader(bytes.NewReader(runtimeJar), int64(len(runtimeJar)))
	if err != nil {
		panic(fmt.Sprintf("agent: embedded runtime jar: %v", err))
	}
	found := make(map[string][]byte)
	for _, entry := range archive.File {
		if path.Dir(entry.Name)+"/" != builtinFolder || path.Ext(entry.Name) != ".class" {
			continue
		}
		class, err := read(entry)
		if err != nil {
			panic(fmt.Sprintf("agent: embedded runtime jar: %s: %v", entry.Name, err))
		}
		found[strings.ToLower(strings.TrimSuffix(path.Base(entry.Name), ".class"))] = class
	}
	return found
})

func read(entry *zip.File) ([]byte, error) {
	content, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}
