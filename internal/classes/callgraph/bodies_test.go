package callgraph

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// callsOf lists the direct calls of a method of a class: kind and what is named.
func callsOf(t *testing.T, g *Graph, files [][]byte, class, name string) (texts []string, calls []DirectCall) {
	t.Helper()
	for _, file := range files {
		if className(t, file) != class {
			continue
		}
		bodies, err := g.Bodies(file)
		if err != nil {
			t.Fatal(err)
		}
		m := oneMethod(t, g, class, name)
		calls, err = bodies.Calls(m.Name, m.Descriptor)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range calls {
		texts = append(texts, strings.TrimSuffix(c.Kind.String()+" "+c.Declared.Class[strings.LastIndexByte(c.Declared.Class, '/')+1:]+"."+c.Declared.Name, "."))
	}
	return texts, calls
}

// TestDirectCalls has every kind of call told in the order of the instructions, with what
// it names and what it reaches.
func TestDirectCalls(t *testing.T) {
	files := written(t, `
		interface I { void i(); default void d() {} }
		class A implements I { static int n; static { n = 1; } A() {} public void i() {} void v() {} private void p() {} }
		class B extends A { void v() { super.v(); } }
		class C implements I { public void i() {} public void d() {} }
		class Main extends B {
			static void s() {}
			static void lent(int i) {}
			static Runnable held;
			void run(I i, A a) throws Throwable {
				i.i(); i.d(); a.v(); super.v(); s(); s(); new A();
				Runnable r = () -> s();
				Runnable q = Main::s;
				held.run();
				int k = A.n;
				Main.class.getMethod("x").invoke(null);
			}
		}`)[0]
	g := New(Settings{})
	add(t, g, files...)
	texts, calls := callsOf(t, g, files, "r0/Main", "run")
	want := []string{
		"interface I.i", "interface I.d", "virtual A.v", "special B.v", "static Main.s", "initializer A", "constructor A.<init>",
		"lambda Main.lambda$run$0", "method reference Main.s", "interface Runnable.run",
		"virtual Class.getMethod", "virtual Method.invoke",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
	main := oneMethod(t, g, "r0/Main", "run")
	for kind, want := range map[string]string{
		"interface I.i":          "A.i C.i",
		"interface I.d":          "C.d I.d",
		"virtual A.v":            "A.v B.v",
		"special B.v":            "B.v",
		"static Main.s":          "Main.s",
		"constructor A.<init>":   "A.<init>",
		"initializer A":          "", // a superclass of the caller
		"interface Runnable.run": "Main.lambda$run$0 Main.s",
		"virtual Method.invoke":  "",
	} {
		at := slices.Index(texts, kind)
		if at < 0 {
			continue // told above
		}
		targets := g.Targets(calls[at], main)
		var methods []Method
		for _, target := range targets {
			methods = append(methods, target.Method)
			if target.ByLambda != (kind == "interface Runnable.run") {
				t.Errorf("%s reaches %v, by a lambda: %v", kind, target.Method, target.ByLambda)
			}
		}
		if got := short(methods); got != want {
			t.Errorf("%s reaches %q, want %q", kind, got, want)
		}
		if calls[at].Reflects != (kind == "virtual Method.invoke") {
			t.Errorf("%s reflects: %v", kind, calls[at].Reflects)
		}
	}
}

// TestDirectCallsAreExpanded: all that a direct call reaches is what Expand tells too.
func TestDirectCallsAreExpanded(t *testing.T) {
	files := written(t, `
		interface I { default void d() {} }
		class A implements I { static int n; static { n = 1; } }
		class B extends A { public void d() {} }
		class Main { void run(I i) { i.d(); new B(); Runnable r = () -> new A(); r.run(); } }`)[0]
	g := New(Settings{})
	add(t, g, files...)
	_, calls := callsOf(t, g, files, "r0/Main", "run")
	run := oneMethod(t, g, "r0/Main", "run")
	var direct []Method
	for _, call := range calls {
		for _, target := range g.Targets(call, run) {
			direct = append(direct, target.Method)
		}
	}
	if expanded := g.Expand(run).Methods; short(direct) != short(expanded) {
		t.Errorf("direct %s, expanded %s", short(direct), short(expanded))
	}
}

// TestUnmadeLambda: where all that is loaded is mirrored, a lambda of an interface that
// is not loaded makes no method callable that has nothing to do with it.
func TestUnmadeLambda(t *testing.T) {
	files := written(t, `
		interface Unloaded { void u(); }
		class A { public String toString() { return ""; } void run() { toString(); } }
		class Far { public String toString() { return "far"; } void make() { Unloaded u = () -> {}; } }`)[0]
	files = slices.DeleteFunc(files, func(file []byte) bool { return className(t, file) == "r0/Unloaded" })
	for _, whole := range []bool{false, true} {
		g := New(Settings{Whole: whole})
		add(t, g, files...)
		add(t, g, base(t, jvmtest.Need(t, 17))[objectName])
		_, calls := callsOf(t, g, files, "r0/A", "run")
		var reached []Method
		for _, target := range g.Targets(calls[0], oneMethod(t, g, "r0/A", "run")) {
			reached = append(reached, target.Method)
		}
		want := "A.toString Object.toString"
		if whole {
			want = "A.toString"
		}
		if got := short(reached); got != want {
			t.Errorf("whole: %v: %s, want %s", whole, got, want)
		}
	}
}
