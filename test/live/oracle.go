package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// An Oracle asks a JVM itself, past every transformer, what it runs and what is
// alive. Its library stays mapped in the JVM; nothing else of it does.
type Oracle struct {
	t         testing.TB
	pid       int
	library   string
	directory string
}

// NewOracle builds the oracle for a program. Where that cannot be done the test
// ends here, as a skip that can be seen.
func NewOracle(t testing.TB, p *Program) *Oracle {
	t.Helper()
	directory := openDirectory(t)
	return &Oracle{t, p.PID, buildOracle(t, p.JDK, directory), directory}
}

func buildOracle(t testing.TB, jdk jvmtest.JDK, directory string) string {
	t.Helper()
	include := filepath.Join(jdk.Home, "include")
	if _, err := os.Stat(filepath.Join(include, "jvmti.h")); err != nil {
		t.Skipf("NOT TESTED: JDK %s has no jvmti.h: install its headers", jdk.Version)
	}
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("NOT TESTED: there is no gcc to build the oracle with: install it")
	}
	library := filepath.Join(directory, "liboracle.so")
	args := []string{
		"-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-I", include, "-I", filepath.Join(include, "linux"), "-o", library,
	}
	out, err := exec.Command(compiler, append(args, sourceFiles(t, "oracle", "*.c")...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("building the oracle: %v\n%s", err, out)
	}
	return library
}

// Methods returns the code that runs in all methods of the loaded classes whose
// names, with dots, begin with one of these; without any, of all classes.
func (o *Oracle) Methods(prefixes ...string) Snapshot {
	o.t.Helper()
	var snapshot Snapshot
	for _, line := range o.ask("methods", prefixes) {
		method, err := parseMethod(line)
		if err != nil {
			o.t.Fatal(err)
		}
		snapshot = append(snapshot, method)
	}
	return snapshot
}

// Live collects garbage and returns what is alive of the classes whose names,
// with dots, begin with one of these.
func (o *Oracle) Live(prefixes ...string) Alive {
	o.t.Helper()
	var alive Alive
	for _, line := range o.ask("live", prefixes) {
		if name, ok := strings.CutPrefix(line, "thread "); ok {
			alive.Threads = append(alive.Threads, name)
			continue
		}
		if held, ok := strings.CutPrefix(line, "held "); ok {
			alive.Held = append(alive.Held, held)
			continue
		}
		var class LoadedClass
		if _, err := fmt.Sscanf(line, "class %s %s instances=%d", &class.Name, &class.Loader, &class.Instances); err != nil {
			o.t.Fatalf("the oracle said %q: %v", line, err)
		}
		alive.Classes = append(alive.Classes, class)
	}
	return alive
}

// ask loads the library, which runs while the JVM answers the command, and reads
// the lines it wrote.
func (o *Oracle) ask(report string, prefixes []string) []string {
	o.t.Helper()
	path := filepath.Join(o.directory, "answer")
	conn, err := attach.Open(o.t.Context(), o.pid)
	if err != nil {
		o.t.Fatal(err)
	}
	defer conn.Close()
	options := strings.Join(append([]string{report, path}, prefixes...), ",")
	reply, err := conn.Execute(o.t.Context(), "load", o.library, "true", options)
	if err != nil {
		o.t.Fatal(err)
	}
	if text := strings.TrimSpace(reply.Text); reply.Code != 0 || text != "return code: 0" {
		o.t.Fatalf("the oracle failed: %d %s: see the error stream of the program", reply.Code, text)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		o.t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		o.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if lines[len(lines)-1] != "end" {
		o.t.Fatalf("the oracle's answer has no end: %q", lines[len(lines)-1])
	}
	return lines[:len(lines)-1]
}
