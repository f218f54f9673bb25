package callgraph

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// callsOf lists the direct calls of a method of a class: kind and named method.
func callsOf(t *testing.T, g *Graph, class, name string) (texts []string, calls []DirectCall) {
	t.Helper()
	calls = g.Calls(oneMethod(t, g, class, name))
	for _, c := range calls {
		texts = append(texts, strings.TrimSuffix(c.Kind.String()+" "+c.Declared.Class[strings.LastIndexByte(c.Declared.Class, '/')+1:]+"."+c.Declared.Name, "."))
	}
	return texts, calls
}

// TestDirectCalls checks every kind of call in the order of the instructions, with what
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
	g := New(Settings{Bodies: true})
	add(t, g, files...)
	texts, calls := callsOf(t, g, "r0/Main", "run")
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
			continue // reported above
		}
		targets := g.Targets(calls[at], main)
		var methods []classfile.MethodRef
		for _, target := range targets {
			methods = append(methods, target.MethodRef)
			if target.ByLambda != (kind == "interface Runnable.run") {
				t.Errorf("%s reaches %v, by a lambda: %v", kind, target.MethodRef, target.ByLambda)
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

// TestDirectCallsAreExpanded: Expand returns everything that a direct call reaches.
func TestDirectCallsAreExpanded(t *testing.T) {
	files := written(t, `
		interface I { default void d() {} }
		class A implements I { static int n; static { n = 1; } }
		class B extends A { public void d() {} }
		class Main { void run(I i) { i.d(); new B(); Runnable r = () -> new A(); r.run(); } }`)[0]
	g := New(Settings{Bodies: true})
	add(t, g, files...)
	_, calls := callsOf(t, g, "r0/Main", "run")
	run := oneMethod(t, g, "r0/Main", "run")
	var direct []classfile.MethodRef
	for _, call := range calls {
		for _, target := range g.Targets(call, run) {
			direct = append(direct, target.MethodRef)
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
		g := New(Settings{Whole: whole, Bodies: true})
		add(t, g, files...)
		add(t, g, base(t, jvmtest.Need(t, 17))[objectName])
		_, calls := callsOf(t, g, "r0/A", "run")
		var reached []classfile.MethodRef
		for _, target := range g.Targets(calls[0], oneMethod(t, g, "r0/A", "run")) {
			reached = append(reached, target.MethodRef)
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

func TestSites(t *testing.T) {
	jdk := base(t, jvmtest.Need(t, 17))
	files := written(t, `class R {
		static void root(R r, String s, A a) throws Exception { Thread.sleep(1); s.intern(); System.nanoTime(); r.hashCode(); r.work(); a.mixed(); r.getClass(); }
		native void work(); }
		class A { native void mixed(); } class B extends A { void mixed() {} }`)[0]
	g := mirror(t, jdk, files)
	e := g.Expand(oneMethod(t, g, "r0/R", "root"))
	expectSites(t, e.Sites, "r0/A.mixed mixed", "r0/R.work")
	if !e.CallsBack || e.Reflects || e.Handles {
		t.Errorf("calls back %v, reflects %v, handles %v", e.CallsBack, e.Reflects, e.Handles)
	}

	// Which methods of the JDK are native is known when their classes are.
	var sites []Site
	for _, name := range g.Unknown() {
		e, err := g.Add(jdk[name])
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, e.Sites...)
	}
	expectSites(t, sites, "java/lang/String.intern", "java/lang/Thread.sleep")
	if unknown := g.Unknown(); len(unknown) > 0 {
		t.Errorf("still unknown: %v", unknown)
	}
	if size := g.Closure([]classfile.MethodRef{oneMethod(t, g, "r0/R", "root")}); size != (Size{Methods: 2, Classes: 2, Sites: 4}) {
		t.Errorf("closure: %+v", size)
	}
}

func expectSites(t *testing.T, sites []Site, expected ...string) {
	t.Helper()
	var got []string
	for _, s := range sites {
		name := s.Native.Class + "." + s.Native.Name
		if s.Mixed {
			name += " mixed"
		}
		if s.Caller.Name != "root" || s.Called != s.Native {
			t.Errorf("site %+v", s)
		}
		got = append(got, name)
	}
	if len(got) != len(expected) {
		t.Fatalf("sites %v, expected %v", got, expected)
	}
	for i := range got {
		if got[i] != expected[i] {
			t.Errorf("site %s, expected %s", got[i], expected[i])
		}
	}
}

func TestReflectionAndHandlesAreToldAndFollowed(t *testing.T) {
	jdk := base(t, jvmtest.Need(t, 17))
	g := mirror(t, jdk, written(t, `import java.lang.invoke.*; class R {
		static void reflects(java.lang.reflect.Method m) throws Throwable { m.invoke(null); }
		static void handles(MethodHandle h) throws Throwable { h.invokeExact(); }
		static void variables(VarHandle h) throws Throwable { h.getVolatile(); } }
		class A { static { new A(); } A() {} void m() {} static void s() {} private void p() {} } class B extends A { void m() {} void p() {} }`)[0])
	if e := g.Expand(oneMethod(t, g, "r0/R", "reflects")); !e.Reflects || e.Handles {
		t.Errorf("reflection: %+v", e)
	}
	if e := g.Expand(oneMethod(t, g, "r0/R", "handles")); e.Reflects || !e.Handles {
		t.Errorf("handle: %+v", e)
	}
	if e := g.Expand(oneMethod(t, g, "r0/R", "variables")); !e.Handles {
		t.Errorf("variable handle: %+v", e)
	}
	for _, step := range []struct{ class, name, callable string }{
		{"B", "m", "B.m"},
		{"A", "m", "A.m"},
		{"A", "p", "A.p"},
		{"A", "s", "A.<clinit> A.s"},
		{"A", "<init>", "A.<init>"},
		{"A", "m", ""},
		{"Unknown", "m", ""},
	} {
		if got := short(g.Reflected(classfile.MethodRef{Class: "r0/" + step.class, Name: step.name, Descriptor: "()V"})); got != step.callable {
			t.Errorf("%s.%s by reflection: %s, expected %s", step.class, step.name, got, step.callable)
		}
	}
}

func TestIntrinsics(t *testing.T) {
	for m, expected := range map[classfile.MethodRef]bool{
		{Class: "java/lang/Object", Name: "hashCode", Descriptor: "()I"}:                                       true,
		{Class: "java/lang/Object", Name: "wait", Descriptor: "(J)V"}:                                          false,
		{Class: "java/lang/String", Name: "intern", Descriptor: "()Ljava/lang/String;"}:                        false,
		{Class: "java/lang/Thread", Name: "sleep", Descriptor: "(J)V"}:                                         false,
		{Class: "java/lang/StrictMath", Name: "sin", Descriptor: "(D)D"}:                                       true,
		{Class: "jdk/internal/misc/Unsafe", Name: "getInt", Descriptor: "(J)I"}:                                true,
		{Class: "jdk/internal/misc/Unsafe", Name: "park", Descriptor: "(ZJ)V"}:                                 false,
		{Class: "java/lang/invoke/MethodHandle", Name: "linkToStatic", Descriptor: "()V"}:                      true,
		{Class: "java/lang/invoke/MethodHandle", Name: "invokeExact", Descriptor: "()V"}:                       true,
		{Class: "java/lang/System", Name: "arraycopy", Descriptor: "(Ljava/lang/Object;ILjava/lang/Object;I)"}: true,
	} {
		if TooCheapToHook(m) != expected {
			t.Errorf("%s: %v", m, !expected)
		}
	}
}
