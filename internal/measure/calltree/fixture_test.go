package calltree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// bulkMethods is how many methods a generated class has, all of which its all() calls.
const bulkMethods = 5000

// compiled compiles the fixture, with a large class.
func compiled(t *testing.T, jdk jvmtest.JDK) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("package shop; class Bulk {\n")
	for i := range bulkMethods {
		fmt.Fprintf(&text, "static int m%d() { return %d; }\n", i, i)
	}
	text.WriteString("static int all() { int s = 0;\n")
	for i := range bulkMethods {
		fmt.Fprintf(&text, "s += m%d();\n", i)
	}
	text.WriteString("return s; } }\n")
	path := filepath.Join(t.TempDir(), "Bulk.java")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/shop/Desk.java", path}})
}

// loaded is the fixture as a JVM would have it loaded, without some classes.
func loaded(t *testing.T, without ...string) []universe.Loaded {
	t.Helper()
	dir := compiled(t, jvmtest.Need(t, 17))
	paths, err := filepath.Glob(filepath.Join(dir, "shop", "*.class"))
	if err != nil {
		t.Fatal(err)
	}
	var classes []universe.Loaded
	for _, path := range paths {
		name := "shop/" + strings.TrimSuffix(filepath.Base(path), ".class")
		if slices.Contains(without, name) {
			continue
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		classes = append(classes, universe.Loaded{Name: name, Loader: 1, File: file})
	}
	return classes
}

// roots are the methods that a pattern names.
func roots(t *testing.T, w *World, pattern string) []classfile.MethodRef {
	t.Helper()
	found, err := w.Find(parsed(t, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func parsed(t *testing.T, text string) *pattern.Set {
	t.Helper()
	set, err := pattern.ParseSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// outline is a tree with a line for each of the program's own nodes: kinds of call,
// method, and why it is not followed, if for another reason than its level.
func outline(nodes []*Node) string {
	var text strings.Builder
	var write func(n *Node)
	write = func(n *Node) {
		if n.JDK || !strings.HasPrefix(n.Class, "shop/") {
			return
		}
		text.WriteString(strings.Repeat("  ", n.Level))
		for _, via := range n.Via {
			text.WriteString(via.Kind.String())
			if via.ByLambda {
				text.WriteString(" by lambda")
			}
			text.WriteString(" ")
		}
		text.WriteString(strings.TrimPrefix(n.Class, "shop/") + "." + n.Name)
		if n.Stop != Followed && n.Stop != Deepest {
			text.WriteString(" " + n.Stop.String())
		}
		if n.Reason != "" {
			text.WriteString(": " + n.Reason)
		}
		text.WriteString("\n")
		for _, callee := range n.Callees {
			write(callee)
		}
	}
	for _, n := range nodes {
		write(n)
	}
	return text.String()
}

// served is what Desk.serve can call, on two levels, of the program's own.
const served = `Desk.serve
  constructor Desk$Square.<init>
  interface Desk$Circle.area
  interface Desk$Square.area
  interface Desk$Tall.area
    special Desk$Square.area elsewhere
  interface Desk$Circle.label
  interface Desk$Shape.label
    interface Desk$Circle.name
    interface Desk$Square.name
  lambda Desk.lambda$serve$0
    static Desk.helper
  static Desk.get
    interface by lambda Desk.lambda$serve$0 elsewhere
  method reference Desk.parse
  static Desk.map
    interface by lambda Desk.parse elsewhere
  static Desk.forbidden
    interface Desk$Lonely.cry: it is abstract, and no loaded class implements it
    static Desk.chip: it is native
  static Desk.serve recursive
  initializer Desk$Rules.<clinit>
    static Desk$Rules.find
`
