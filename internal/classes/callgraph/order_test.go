package callgraph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// However classes and expansions come, all that is callable in the end is the same,
// and each method is reported once.
func TestOrderDoesNotMatter(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	_, files := compiled(t, jdk, "Calls.java", "Trace.java")
	from := base(t, jdk)

	roots := []classfile.MethodRef{{Class: "Calls", Name: "main", Descriptor: "([Ljava/lang/String;)V"}}
	batch := mirror(t, from, files)
	expected := append(batch.ExpandAll(roots).Methods, roots...)
	slices.SortFunc(expected, classfile.MethodRef.Compare)
	if size := batch.Closure(roots); size.Methods != len(expected) {
		t.Errorf("closure counts %d methods, expanding finds %d", size.Methods, len(expected))
	}
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		got := expandAtRandom(t, random, from, slices.Clone(files), roots)
		slices.SortFunc(got, classfile.MethodRef.Compare)
		if len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("seed %d: some methods were reported twice: %v", seed, got)
		}
		if !slices.Equal(got, expected) {
			t.Fatalf("seed %d: callable %v\nexpected %v", seed, short(got), short(expected))
		}
	}
}

// expandAtRandom adds classes, each with its supertypes at once, and expands what is
// callable, in any order.
func expandAtRandom(t *testing.T, random *rand.Rand, from map[string][]byte, files [][]byte, roots []classfile.MethodRef) []classfile.MethodRef {
	t.Helper()
	g := New(Settings{Skip: skipJDK})
	byName := make(map[string][]byte)
	for _, file := range files {
		byName[className(t, file)] = file
	}
	var callable, waiting []classfile.MethodRef
	reported := func(methods []classfile.MethodRef) {
		callable = append(callable, methods...)
		waiting = append(waiting, methods...)
	}
	random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	if e := g.Expand(roots...); len(e.Methods) > 0 {
		t.Fatalf("expanding a method that is not mirrored gives %v", e.Methods)
	}
	rooted := false
	for len(files) > 0 || len(waiting) > 0 || !rooted {
		if len(files) > 0 && random.IntN(2) == 0 {
			reported(addWithSupers(t, g, from, byName, files[0]))
			files = files[1:]
		}
		if !rooted && g.Has(roots[0].Class) {
			rooted = true
			reported(g.Expand(roots...).Methods)
			callable = append(callable, roots...)
		}
		if len(waiting) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(waiting))
			m := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			reported(g.Expand(m).Methods)
		}
	}
	return callable
}

// addWithSupers adds a class after its supertypes, as a JVM loads them.
func addWithSupers(t *testing.T, g *Graph, from, ours map[string][]byte, file []byte) []classfile.MethodRef {
	t.Helper()
	probe := New(Settings{Skip: skipJDK})
	load := [][]byte{file}
	add(t, probe, file)
	for missing := probe.Missing(); len(missing) > 0; missing = probe.Missing() {
		for _, name := range missing {
			data := ours[name]
			if data == nil {
				data = from[name]
			}
			add(t, probe, data)
			load = append(load, data)
		}
	}
	slices.Reverse(load)
	return add(t, g, load...)
}

// Supertypes that come late can only have made too much callable, never too little.
func TestMissingSupertypesMakeMoreCallable(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	_, files := compiled(t, jdk, "Calls.java", "Trace.java")
	from := base(t, jdk)
	roots := []classfile.MethodRef{{Class: "Calls", Name: "main", Descriptor: "([Ljava/lang/String;)V"}}
	expected := mirror(t, from, files).ExpandAll(roots).Methods
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 2))
		g := New(Settings{Skip: skipJDK})
		order := random.Perm(len(files))
		var got []classfile.MethodRef
		for _, i := range order {
			got = append(got, g.ExpandAll(append(add(t, g, files[i]), roots...)).Methods...)
			got = append(got, g.ExpandAll(got).Methods...)
		}
		addMissing(t, g, from)
		for _, m := range expected {
			if id, ok := g.hierarchy.find(m); !ok || !g.reach.callable[id] {
				t.Errorf("seed %d: %s is not callable", seed, m)
			}
		}
	}
}

// While a supertype is missing it may be a subtype of anything, whichever comes first.
func TestAMissingSupertypeMayBeAnything(t *testing.T) {
	from := base(t, jvmtest.Need(t, 17))
	files := written(t, `class R { static void root(I i) { i.m(); } } interface I { void m(); } class Middle implements I { public void m() {} }
		class Low extends Middle { public void m() {} void m(int i) {} } class Beside { public void m() {} }`)[0]
	var low []byte
	files = slices.DeleteFunc(files, func(file []byte) bool {
		if name := className(t, file); name == "r0/Low" {
			low = file
		} else if name != "r0/Middle" {
			return false
		}
		return true
	})
	root := classfile.MethodRef{Class: "r0/R", Name: "root", Descriptor: "(Lr0/I;)V"}
	for _, early := range []bool{false, true} {
		g := mirror(t, from, files)
		var got []classfile.MethodRef
		if early {
			got = append(add(t, g, low), g.Expand(root).Methods...)
		} else {
			got = append(g.Expand(root).Methods, add(t, g, low)...)
		}
		if short(got) != "Low.m" {
			t.Errorf("added early %v: %s", early, short(got))
		}
		if missing := g.Missing(); !slices.Equal(missing, []string{"r0/Middle"}) {
			t.Errorf("missing: %v", missing)
		}
	}
}

// Two loaders hold different classes of one name: one declares m, the other inherits
// it; they call different things.
func TestVersionsOfAClassAreUnited(t *testing.T) {
	from := base(t, jvmtest.Need(t, 17))
	first := written(t, `class R { static void root(B b) { b.m(); } static void x() {} static void y() {} }
		class A { void m() {} } class B extends A { void m() { R.x(); } }`)[0]
	second := written(t, `class R { static void root(B b) { b.m(); } static void x() {} static void y() {} }
		class A { void m() {} } class B extends A { void n() { R.y(); } void m(int i) {} } class C extends B { void m() { R.y(); } }`)[0]
	g := mirror(t, from, first)
	if got := short(g.ExpandAll([]classfile.MethodRef{oneMethod(t, g, "r0/R", "root")}).Methods); got != "B.m R.x" {
		t.Errorf("one version: %s", got)
	}
	if got := short(add(t, g, first...)); got != "" {
		t.Errorf("the same again: %s", got)
	}
	if got := short(add(t, g, second...)); got != "A.m C.m" {
		t.Errorf("the other version brings %s", got)
	}
	third := written(t, `class R { static void y() {} static void x() {} } class A { void m() {} } class B extends A { void m() { R.y(); } }`)[0]
	if got := short(add(t, g, third...)); got != "R.y" {
		t.Errorf("a body that calls more brings %s", got)
	}
}

func TestAheadLooksThroughCallsOfFewTargets(t *testing.T) {
	g := mirror(t, base(t, jvmtest.Need(t, 17)), written(t, `class R { static void root(I i) { a(); i.m(); l(() -> e()); }
		static void a() { b(); } static void b() { c(); } static void c() {} static void l(Runnable r) {} static void e() {} }
		interface I { void m(); } class X implements I { public void m() {} } class Y implements I { public void m() {} }`)[0])
	root := oneMethod(t, g, "r0/R", "root")
	g.Expand(root)
	for _, step := range []struct {
		limits   Limits
		expected string
	}{
		{Limits{Depth: 1, Methods: 10, Fan: 1}, "R.a R.l R.lambda$root$0"},
		{Limits{Depth: 1, Methods: 10, Fan: 2}, "R.a R.l R.lambda$root$0 X.m Y.m"},
		{Limits{Depth: 2, Methods: 10, Fan: 1}, "R.a R.b R.e R.l R.lambda$root$0"},
		{Limits{Depth: 9, Methods: 10, Fan: 1}, "R.a R.b R.c R.e R.l R.lambda$root$0"},
		{Limits{Depth: 9, Methods: 10, Fan: 0}, ""},
		{Limits{Depth: 0, Methods: 10, Fan: 9}, ""},
		{Limits{Depth: 9, Methods: 0, Fan: 9}, ""},
	} {
		if got := short(g.Ahead([]classfile.MethodRef{root}, step.limits)); got != step.expected {
			t.Errorf("%+v: %s, expected %s", step.limits, got, step.expected)
		}
	}
	if got := g.Ahead([]classfile.MethodRef{root}, Limits{Depth: 9, Methods: 4, Fan: 1}); len(got) != 4 {
		t.Errorf("four methods at most: %v", got)
	}
	// What was expanded is looked through, but not returned.
	g.Expand(oneMethod(t, g, "r0/R", "a"))
	if got := short(g.Ahead([]classfile.MethodRef{root}, Limits{Depth: 2, Methods: 10, Fan: 1})); got != "R.b R.e R.l R.lambda$root$0" {
		t.Errorf("after expanding: %s", got)
	}
}

// Whatever is skipped, what it names or overrides is callable once it is called.
func TestSkippedClassesOfTheProgram(t *testing.T) {
	files := written(t, `class R { static void root() { Skipped.enter(); } static void roots(I i) { i.m(); } public String toString() { return ""; } }
		class Skipped { static void enter() { Named.called(); } I lambda() { return () -> {}; } }
		class Named { static { R.root(); } static void called() {} static void other() {} } interface I { void m(); }`)[0]
	for root, expected := range map[string]string{
		"root":  "Named.<clinit> Named.called R.toString",
		"roots": "Named.<clinit> Named.called R.toString", // by the lambda
	} {
		g := New(Settings{Skip: func(class string) bool { return class == "r0/Skipped" || skipJDK(class) }})
		add(t, g, files...)
		addMissing(t, g, base(t, jvmtest.Need(t, 17)))
		if got := short(g.Expand(oneMethod(t, g, "r0/R", root)).Methods); got != expected {
			t.Errorf("%s: %s, expected %s", root, got, expected)
		}
		if got := g.Expand(oneMethod(t, g, "r0/Skipped", "enter")); len(got.Methods) > 0 {
			t.Errorf("expanding the skipped class: %+v", got)
		}
	}
}

// TestLambdas: the class that the JVM makes for a lambda or method reference stands for the method that it calls,
// unless that may be one of several.
func TestLambdas(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	files := written(t, `class A implements Runnable {
		Runnable reference() { return this::work; }
		Runnable lambda() { return () -> { }; }
		Runnable open(A a) { return a::run; }
		java.util.concurrent.Callable<String> call() { return () -> ""; }
		private void work() { }
		public void run() { }
	}
	class B extends A { public void run() { } }`)[0]
	g := mirror(t, base(t, jdk), files)
	var got []string
	for _, m := range g.Lambdas(func(m classfile.MethodRef) bool { return m.Name == "run" && m.Class == "r0/A$$Lambda" }) {
		got = append(got, m.Body.String())
	}
	slices.Sort(got)
	if want := []string{"r0.A.lambda$lambda$0()V", "r0.A.work()V"}; !slices.Equal(got, want) {
		t.Errorf("bodies are %q, want %q", got, want)
	}
	if in := g.LambdasIn("r0/B", func(classfile.MethodRef) bool { return true }); len(in) > 0 {
		t.Errorf("r0.B has %v, want no lambda", in)
	}
}
