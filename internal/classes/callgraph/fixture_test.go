package callgraph

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func skipJDK(class string) bool {
	for _, prefix := range []string{"java/", "javax/", "jdk/", "sun/"} {
		if strings.HasPrefix(class, prefix) {
			return true
		}
	}
	return false
}

// compiled returns the class files of a fixture in testdata.
func compiled(t testing.TB, jdk jvmtest.JDK, sources ...string) (dir string, files [][]byte) {
	t.Helper()
	for i := range sources {
		sources[i] = filepath.Join("testdata", sources[i])
	}
	dir = jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources})
	return dir, classesIn(t, dir)
}

// written compiles sources that stand in the test itself, in one go, each in a package
// of its own: r0, r1 and so on. It returns the class files of each.
func written(t *testing.T, sources ...string) [][][]byte {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, source := range sources {
		path := filepath.Join(dir, fmt.Sprintf("R%d.java", i))
		if err := os.WriteFile(path, fmt.Appendf(nil, "package r%d; %s", i, source), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	out := jvmtest.Compile(t, jvmtest.Need(t, 17), jvmtest.Fixture{Sources: paths})
	files := make([][][]byte, len(sources))
	for i := range sources {
		files[i] = classesIn(t, filepath.Join(out, fmt.Sprintf("r%d", i)))
	}
	return files
}

func classesIn(t testing.TB, dir string) [][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.class"))
	if err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

// base is java.base of a JDK, by class name.
func base(t testing.TB, jdk jvmtest.JDK) map[string][]byte {
	t.Helper()
	bases.Lock()
	defer bases.Unlock()
	if known := bases.of[jdk.Home]; known != nil {
		return known
	}
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	classes := make(map[string][]byte)
	stop := errors.New("module is over")
	err = image.Each(func(module, path string, data []byte) error {
		if module != "java.base" {
			if len(classes) > 0 {
				return stop
			}
			return nil
		}
		if name, ok := strings.CutSuffix(path, ".class"); ok {
			classes[strings.TrimPrefix(name, "/java.base/")] = bytes.Clone(data)
		}
		return nil
	})
	if err != nil && !errors.Is(err, stop) {
		t.Fatal(err)
	}
	bases.of[jdk.Home] = classes
	return classes
}

var bases = struct {
	sync.Mutex
	of map[string]map[string][]byte
}{of: make(map[string]map[string][]byte)}

func add(t testing.TB, g *Graph, files ...[]byte) []classfile.MethodRef {
	t.Helper()
	var callable []classfile.MethodRef
	for _, file := range files {
		e, err := g.Add(file)
		if err != nil {
			t.Fatal(err)
		}
		callable = append(callable, e.Methods...)
	}
	return callable
}

// addMissing adds supertypes until none is missing.
func addMissing(t testing.TB, g *Graph, from map[string][]byte) {
	t.Helper()
	for {
		some := false
		for _, name := range g.Missing() {
			if data := from[name]; data != nil {
				add(t, g, data)
				some = true
			}
		}
		if !some {
			return
		}
	}
}

// mirror makes a graph of a fixture and the supertypes it needs of the JDK.
func mirror(t testing.TB, jdk map[string][]byte, files [][]byte) *Graph {
	t.Helper()
	g := New(Settings{Skip: skipJDK})
	add(t, g, files...)
	addMissing(t, g, jdk)
	if missing := g.Missing(); len(missing) > 0 {
		t.Fatalf("missing: %v", missing)
	}
	return g
}

func className(t testing.TB, file []byte) string {
	t.Helper()
	c, err := classfile.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return c.Name()
}

// oneMethod is the only method of a class with a name.
func oneMethod(t testing.TB, g *Graph, class, name string) classfile.MethodRef {
	t.Helper()
	found := g.Find(func(m classfile.MethodRef) bool { return m.Class == class && m.Name == name })
	if len(found) != 1 {
		t.Fatalf("%s.%s: found %v", class, name, found)
	}
	return found[0]
}

// short lists methods as Class.name, without package, in order, each once.
func short(methods []classfile.MethodRef) string {
	var names []string
	for _, m := range methods {
		names = append(names, m.Class[strings.LastIndexByte(m.Class, '/')+1:]+"."+m.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// ExpandAll expands methods and everything that becomes callable by them.
func (g *Graph) ExpandAll(methods []classfile.MethodRef) Expansion {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach.expandAll(g.hierarchy.known(methods))
	return g.reach.take()
}
