package callgraph

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

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
	if size := g.Closure([]Method{oneMethod(t, g, "r0/R", "root")}); size != (Size{Methods: 2, Classes: 2, Sites: 4}) {
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
		if s.Caller.Name != "root" || s.Owner != s.Native.Class || s.Name != s.Native.Name || s.Descriptor != s.Native.Descriptor {
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
		if got := short(g.Reflected("r0/"+step.class, step.name, "()V")); got != step.callable {
			t.Errorf("%s.%s by reflection: %s, expected %s", step.class, step.name, got, step.callable)
		}
	}
}

func TestIntrinsics(t *testing.T) {
	for m, expected := range map[Method]bool{
		{"java/lang/Object", "hashCode", "()I"}:                                       true,
		{"java/lang/Object", "wait", "(J)V"}:                                          false,
		{"java/lang/String", "intern", "()Ljava/lang/String;"}:                        false,
		{"java/lang/Thread", "sleep", "(J)V"}:                                         false,
		{"java/lang/StrictMath", "sin", "(D)D"}:                                       true,
		{"jdk/internal/misc/Unsafe", "getInt", "(J)I"}:                                true,
		{"jdk/internal/misc/Unsafe", "park", "(ZJ)V"}:                                 false,
		{"java/lang/invoke/MethodHandle", "linkToStatic", "()V"}:                      true,
		{"java/lang/invoke/MethodHandle", "invokeExact", "()V"}:                       true,
		{"java/lang/System", "arraycopy", "(Ljava/lang/Object;ILjava/lang/Object;I)"}: true,
	} {
		if IsIntrinsic(m) != expected {
			t.Errorf("%s: %v", m, !expected)
		}
	}
}
