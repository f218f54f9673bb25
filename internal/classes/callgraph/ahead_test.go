package callgraph

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

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
		if got := short(g.Ahead([]Method{root}, step.limits)); got != step.expected {
			t.Errorf("%+v: %s, expected %s", step.limits, got, step.expected)
		}
	}
	if got := g.Ahead([]Method{root}, Limits{Depth: 9, Methods: 4, Fan: 1}); len(got) != 4 {
		t.Errorf("four methods at most: %v", got)
	}
	// What was expanded is looked through, but not returned.
	g.Expand(oneMethod(t, g, "r0/R", "a"))
	if got := short(g.Ahead([]Method{root}, Limits{Depth: 2, Methods: 10, Fan: 1})); got != "R.b R.e R.l R.lambda$root$0" {
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
