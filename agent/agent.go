// Package agent embeds the code that enters a JVM, built from the Java sources in its subdirectories.
package agent

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:generate go run ./live/gen -o live/src/sonde/template/live

//go:embed dist/sonde-runtime.jar
var runtimeJar []byte

//go:embed dist/sonde-agent.jar
var agentJar []byte

// builtinFolder contains the built-in templates. Each is a class with one template method, named like the class in lower
// case.
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

// AgentBuild returns the name of the agent's build, a hash of the content of its jar, which the agent also reports.
//
//nolint:revive // it is that of AgentJar
func AgentBuild() string { return builds()[0] }

// HookClass returns the internal name of the class whose methods are woven in.
func HookClass() string { return builds()[1] }

// Hook classes have other names in a JVM that was started with a pack, whose hooks are there already. The names have the same
// length.
const (
	hookPrefix   = "SondeHooks_"
	besidePrefix = "SondeLooks_"
)

// Beside returns a class file, a name or another text in which the hook classes have the names that they have beside a pack.
func Beside[T string | []byte](text T) T {
	return T(bytes.ReplaceAll([]byte(text), []byte(hookPrefix), []byte(besidePrefix)))
}

// IsHookClass reports whether a class, by its internal name, is a hook class of some version of Sonde.
func IsHookClass(class string) bool {
	return strings.HasPrefix(class, "java/lang/SondeHooks") || strings.HasPrefix(class, "java/lang/"+besidePrefix)
}

// JarBeside returns the agent's jar for a JVM that was started with a pack. The caller must not modify it.
var JarBeside = sync.OnceValue(func() []byte {
	archive, err := zip.NewReader(bytes.NewReader(agentJar), int64(len(agentJar)))
	if err != nil {
		panic(fmt.Sprintf("agent: embedded jar: %v", err))
	}
	var out bytes.Buffer
	writer := zip.NewWriter(&out)
	for _, entry := range archive.File {
		data, err := read(entry)
		if err == nil {
			data = Beside(data)
			var to io.Writer
			// The stub needs sizes and checksums before the content.
			to, err = writer.CreateRaw(&zip.FileHeader{
				Name: Beside(entry.Name), Method: zip.Store, ModifiedDate: entry.ModifiedDate, CRC32: crc32.ChecksumIEEE(data),
				CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)),
			})
			if err == nil {
				_, err = to.Write(data)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("agent: embedded jar: %s: %v", entry.Name, err))
		}
	}
	if err := writer.Close(); err != nil {
		panic(fmt.Sprintf("agent: embedded jar: %v", err))
	}
	return out.Bytes()
})

// builds is the build file of the agent: the name of the build, then the hook classes.
var builds = sync.OnceValue(func() []string {
	lines := strings.Fields(string(unpack(agentJar)["META-INF/sonde/build"]))
	if len(lines) < 2 {
		panic("agent: embedded agent jar: no build file")
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

// unpack reads an embedded jar. It panics on errors, because the jar is part of the program.
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

//go:embed dist/*.class
var liveTemplates embed.FS

// live returns the template for running JVMs of this name, which is the name of its class file and of its template method.
func live(name string) (class []byte, method string) {
	class, err := liveTemplates.ReadFile("dist/" + name + ".class")
	if err != nil { // it is part of the program
		panic(fmt.Sprintf("agent: embedded template: %v", err))
	}
	return class, name
}

// LiveTemplate returns the class file of the template that is woven into
// running JVMs, and the name of the template method in it. The caller must not
// modify the bytes.
func LiveTemplate() (class []byte, method string) { return live("live") }

// ReflectTemplate is LiveTemplate for java.lang.reflect.Method.invoke and
// Constructor.newInstanceWithCaller: it passes the called member to the hooks.
func ReflectTemplate() (class []byte, method string) { return live("reflect") }

// HandleTemplate is LiveTemplate for java.lang.invoke.DirectMethodHandle.make
// with the parameters byte, Class, MemberName, Class: it passes the target of a
// new method handle to the hooks.
func HandleTemplate() (class []byte, method string) { return live("handle") }

// AnchorTemplate is LiveTemplate for methods that are elements of sequences.
func AnchorTemplate() (class []byte, method string) { return live("anchor") }

// TagTemplate is LiveTemplate for methods at which a tag gets a value: value 0.
func TagTemplate() (class []byte, method string) { return live("tag") }

// KeepTemplate is LiveTemplate for methods that return an object for which value 0 is
// remembered.
func KeepTemplate() (class []byte, method string) { return live("keep") }

// PlainTemplate is WatchTemplate without a context and a condition.
func PlainTemplate() (class []byte, method string) { return live("plain") }

// WatchTemplate is LiveTemplate for methods that are watched where their context and
// a condition hold: condition 0, at their entry.
func WatchTemplate() (class []byte, method string) { return live("watch") }

// LateTemplate is WatchTemplate with a condition 1 at the exit.
func LateTemplate() (class []byte, method string) { return live("late") }

// CaptureTemplate is LateTemplate with values that are captured: 2 to 5 at the entry,
// 6 to 9 when the method returns.
func CaptureTemplate() (class []byte, method string) { return live("capture") }

// CarryTemplate is LiveTemplate for constructors of tasks, which carry the context
// they are made in.
func CarryTemplate() (class []byte, method string) { return live("carry") }

// MadeTemplate is CarryTemplate for methods whose result is the task.
func MadeTemplate() (class []byte, method string) { return live("made") }

// StartTemplate is CarryTemplate for Thread.start: the thread is the task.
func StartTemplate() (class []byte, method string) { return live("start") }

// SubmitTemplate is CarryTemplate for methods whose first argument is the task,
// which may be handed over more than once.
func SubmitTemplate() (class []byte, method string) { return live("submit") }

// WithdrawTemplate undoes what SubmitTemplate did, in a method that refuses its first
// argument.
func WithdrawTemplate() (class []byte, method string) { return live("withdraw") }

// ResumeTemplate is LiveTemplate for methods that run the task they are of, once: they
// run in the task's context.
func ResumeTemplate() (class []byte, method string) { return live("resume") }

// AgainTemplate is ResumeTemplate for methods that may run it again.
func AgainTemplate() (class []byte, method string) { return live("again") }

// FireTemplate is ResumeTemplate for methods that run a completion of a
// CompletableFuture, or find that it is not ready.
func FireTemplate() (class []byte, method string) { return live("fire") }

// WorkTemplate is LiveTemplate for ThreadPoolExecutor.runWorker(Worker): the worker's
// first task begins.
func WorkTemplate() (class []byte, method string) { return live("work") }

// NextTemplate is LiveTemplate for ThreadPoolExecutor.getTask(): the worker's task is
// done, and the one that is returned begins.
func NextTemplate() (class []byte, method string) { return live("next") }
