package callgraph

import (
	"fmt"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Each rule by a program as small as it can be: what expanding R.root gives, named
// as Class.name.
func TestRules(t *testing.T) {
	jdk := base(t, jvmtest.Need(t, 17))
	rules := []struct{ name, source, callable string }{
		{
			"static, through the superclass, with initialisers of all above",
			`class R { static void root() { B.s(); } }
			class A { static { R.root(); } static void s() {} } class B extends A { static int x = R.class.hashCode(); }
			class C { static { R.root(); } }`,
			"A.<clinit> A.s B.<clinit>",
		}, {
			"a class literal initialises nothing",
			`class R { static Object root() { return A.class; } } class A { static { R.root(); } }`,
			"",
		}, {
			"constructor and super constructor are exact",
			`class R { static void root() { new B(); } } class A { A() {} } class B extends A { B() {} } class C extends B { C() {} }`,
			"B.<init>",
		}, {
			"virtual: declaration and overrides below, none above or in siblings",
			`class R { static void root(B b) { b.m(); } } class A { void m() {} } class B extends A { void m() {} }
			class C extends B { void m() {} } class D extends A { void m() {} }`,
			"B.m C.m",
		}, {
			"virtual: inherited methods",
			`class R { static void root(B b) { b.m(); } } class A { void m() {} } class B extends A {} class D extends A { void m() {} }`,
			"A.m",
		}, {
			"private is not overridden",
			`class R { static void root(R r) { r.m(); } private void m() {} } class A extends R { void m() {} }`,
			"R.m",
		}, {
			"interface: implementations, defaults, and what a superclass brings",
			`class R { static void root(I i) { i.m(); } } interface I { default void m() {} } class A implements I { public void m() {} }
			class B { public void m() {} } class C extends B implements I {} class D { public void m() {} }`,
			"A.m B.m I.m",
		}, {
			"a bridge is a method",
			`class R { static <T> void root(I<T> i) { i.m(null); } } interface I<T> { void m(T t); }
			class A implements I<String> { public void m(String s) {} }`,
			"A.m",
		}, {
			"super.m() goes up",
			`class R extends A { void root() { super.m(); } void m() {} } class A { void m() {} } class B extends R { void m() {} }`,
			"A.m",
		}, {
			"a lambda: its body at the site",
			`class R { static I root() { return () -> R.other(); } static void other() {} } interface I { void m(); }`,
			"R.lambda$root$0",
		}, {
			"a lambda made elsewhere implements the interface",
			`class R { static void root(I i) { i.m(); } } interface I { void m(); } class A { I make() { return () -> {}; } I ref() { return A::s; }
			static void s() {} J other() { return () -> {}; } } interface J { void m(); }`,
			"A.lambda$make$0 A.s",
		}, {
			"constructor reference, bound receiver",
			`class R { static void root(I i) { i.m(); } } interface I { Object m(); } class A { static { R.root(null); } A() {} I make(B b) { return A::new; }
			I bound(B b) { return b::n; } } class B { Object n() { return null; } } class C extends B { Object n() { return null; } }`,
			"A.<clinit> A.<init> B.n C.n",
		}, {
			"leaves call nothing back",
			`class R { static String root(int i, String s) { return new StringBuilder().append(i).append(s).toString() + Math.max(i, s.length())
			+ Integer.valueOf(i) + s.equals(null) + i; } public String toString() { return ""; } }`,
			"",
		}, {
			"joining text calls toString",
			`class R { static String root(Object o) { return "a" + o; } public String toString() { return ""; } public void other() {} }`,
			"R.toString",
		}, {
			"the JDK calls back what overrides it, lambdas too, but neither others nor finalizers",
			`import java.util.*; class R { static void root(List<String> l) { l.size(); } Runnable r() { return () -> {}; } protected void finalize() {} }
			class A implements Comparator<String> { public int compare(String a, String b) { return 0; } public void other() {} }
			class B { public void run() {} } class C extends B implements Runnable {} class D { public void run() {} }`,
			"A.compare B.run R.lambda$r$0",
		}, {
			"arrays have methods that call nothing",
			`class R { static Object root(int[] a, R[] r) { return r.clone().length + a.clone().length; } public boolean equals(Object o) { return true; } }`,
			"",
		}, {
			"a native method of the program may call back",
			`class R { static void root() { n(); } static native void n(); public String toString() { return ""; } }`,
			"R.toString",
		}, {
			"abstract methods have no code",
			`abstract class R { void root() { m(); } abstract void m(); }`,
			"",
		},
	}
	var sources []string
	for _, rule := range rules {
		sources = append(sources, rule.source)
	}
	files := written(t, sources...)
	for i, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			g := mirror(t, jdk, files[i])
			root := oneMethod(t, g, fmt.Sprintf("r%d/R", i), "root")
			e := g.Expand(root)
			if got := short(e.Methods); got != rule.callable {
				t.Errorf("callable: %s\nexpected: %s", got, rule.callable)
			}
			if again := g.Expand(root); len(again.Methods)+len(again.Sites) > 0 {
				t.Errorf("a second expansion gives %v", again)
			}
		})
	}
}
