package live

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// buildOracle puts the library where a program of any user can load it.
func buildOracle(t testing.TB, jdk jvmtest.JDK, directory string) string {
	t.Helper()
	library := filepath.Join(directory, "liboracle.so")
	data, err := os.ReadFile(jvmtest.CompileNative(t, jdk, sourceFiles(t, "oracle", "*.c")...))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(library, data, 0o755); err != nil {
		t.Fatal(err)
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

// A Method is what the JVM says about one method that it runs, or about a class
// that is not linked yet, whose methods it does not report.
type Method struct {
	Class, Loader    string // with dots; the loader's class, or "boot"
	Name, Descriptor string // empty where the class is not linked
	// Shape holds modifiers, locals, size of arguments, size of code, and a hash
	// of line numbers.
	Shape string
	// Code is a hash of the bytes, Meaning one that has in the place of each
	// constant's number what it stands for: a JVM may renumber constants.
	Code, Meaning string
}

// A Snapshot is what a JVM runs, sorted.
type Snapshot []Method

// Alive is what a heap holds after a full collection.
type Alive struct {
	Classes []LoadedClass
	// Held lists what leads to the instances, in lines like
	// "pkg.Loader by field of java.lang.Thread"; weak references are listed too.
	Held    []string
	Threads []string // names of all live platform threads, sorted
}

// A LoadedClass is a class that is loaded, with how many objects of it live.
type LoadedClass struct {
	Name, Loader string
	Instances    int64
}

func parseMethod(line string) (Method, error) {
	words := strings.Fields(line)
	switch {
	case len(words) == 3 && words[0] == "unlinked":
		return Method{Class: words[1], Loader: words[2]}, nil
	case len(words) == 12 && words[0] == "method":
		m := Method{Class: words[1], Loader: words[2], Name: words[3], Descriptor: words[4]}
		m.Shape = strings.Join(append(slices.Clone(words[5:9]), words[11]), " ")
		m.Code, m.Meaning = words[9], words[10]
		return m, nil
	}
	return Method{}, fmt.Errorf("the oracle said %q, which is no method", line)
}

// Diff returns a line for each method that was (-) and is (+) otherwise, byte by
// byte.
func (s Snapshot) Diff(after Snapshot) []string {
	return diff(s, after, func(m Method) string { return fmt.Sprintf("%v", m) })
}

// DiffMeaning is like Diff but does not mind which numbers constants have.
func (s Snapshot) DiffMeaning(after Snapshot) []string {
	return diff(s, after, func(m Method) string {
		m.Code = ""
		return fmt.Sprintf("%v", m)
	})
}

// diff compares as multisets, since several loaders may have classes of one
// name.
func diff(before, after Snapshot, text func(Method) string) []string {
	balance := make(map[string]int)
	for _, m := range before {
		balance[text(m)]--
	}
	for _, m := range after {
		balance[text(m)]++
	}
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(balance)) {
		switch n := balance[line]; {
		case n < 0:
			lines = append(lines, fmt.Sprintf("- %s × %d", line, -n))
		case n > 0:
			lines = append(lines, fmt.Sprintf("+ %s × %d", line, n))
		}
	}
	return lines
}

// Instances is how many objects live, over all classes asked about.
func (a Alive) Instances() int64 {
	var sum int64
	for _, class := range a.Classes {
		sum += class.Instances
	}
	return sum
}
