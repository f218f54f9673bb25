// Package agent holds what enters a JVM: the built form of the Java sources
// beside it, embedded so that sonde is one file.
package agent

import (
	"archive/zip"
	"bytes"
	_ "embed" // for what is built
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

//go:embed dist/sonde-agent.jar
var agentJar []byte

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

// AgentJar returns the jar that enters a running JVM. The caller must not
// modify it.
//
//nolint:revive // there are two jars: the other is RuntimeJar
func AgentJar() []byte { return agentJar }

// AgentBuild returns the name of the agent's build, which it also says itself:
// a hash of all that is in its jar.
//
//nolint:revive // it is that of AgentJar
func AgentBuild() string { return builds()[0] }

// HookClass returns the internal name of the class whose methods are woven in.
func HookClass() string { return builds()[1] }

// builds is what the build noted for the agent: its own name, then the hook
// classes.
var builds = sync.OnceValue(func() []string {
	lines := strings.Fields(string(unpack(agentJar)["META-INF/sonde/build"]))
	if len(lines) < 2 {
		panic("agent: embedded agent jar: no note of its build")
	}
	return lines
})

// templates maps the name of each built-in template to its class file.
var templates = sync.OnceValue(func() map[string][]byte {
	found := make(map[string][]byte)
	for name, class := range unpack(runtimeJar) {
		if path.Dir(name)+"/" == builtinFolder && path.Ext(name) == ".class" {
			found[strings.ToLower(strings.TrimSuffix(path.Base(name), ".class"))] = class
		}
	}
	return found
})

// unpack reads an embedded jar. It is part of the program, so one that cannot
// be read is a build without hope, not an error a user could act on.
func unpack(jar []byte) map[string][]byte {
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		panic(fmt.Sprintf("agent: embedded jar: %v", err))
	}
	files := make(map[string][]byte)
	for _, entry := range archive.File {
		if files[entry.Name], err = read(entry); err != nil {
			panic(fmt.Sprintf("agent: embedded jar: %s: %v", entry.Name, err))
		}
	}
	return files
}

func read(entry *zip.File) ([]byte, error) {
	content, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}
