package realprograms

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// works are programs that make classes while they run, that have loaders of
// their own, that talk over sockets, that look at themselves.
var works = []work{
	{name: "JavacWork", patterns: []string{"com.sun.tools.javac.**"}},
	{name: "ReflectiveWork", patterns: []string{"ReflectiveWork.**", "**.$Proxy*.*", "**.GeneratedMethodAccessor*.*"}},
	{name: "GroovyWork", jars: []string{"groovy-all"}, patterns: []string{"groovy.**", "org.codehaus.groovy.**", "Script.**", "Order.**"}},
	{name: "ClojureWork", jars: []string{"clojure", "spec.alpha", "core.specs.alpha"}, patterns: []string{"clojure.**", "user.**"}},
	{
		name: "JRubyWork", jars: []string{"/usr/share/jruby/lib/jruby.jar"}, patterns: []string{"org.jruby.**", "rubyjit.**"},
		options: []string{"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED"},
	},
	{
		name: "TomcatWork", jars: []string{
			"tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api",
			"tomcat10-servlet-api", "tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-jasper", "tomcat10-jasper-el",
			"tomcat10-annotations-api", "tomcat10-jni", "tomcat10-jaspic-api", "eclipse-jdt-core",
		},
		patterns: []string{"org.apache.**", "jakarta.**", "TomcatWork.**"},
	},
}

// needMatrix skips a test that takes minutes unless it is asked for.
func needMatrix(t *testing.T) {
	t.Helper()
	if os.Getenv("SONDE_MATRIX") == "" {
		t.Skip("NOT TESTED: takes minutes; set SONDE_MATRIX=1")
	}
}

// TestProgramsSayTheSame puts hooks into all of each program, then into the
// JDK's packages below it, then into everything, one after the other in the same
// JVM.
func TestProgramsSayTheSame(t *testing.T) {
	needMatrix(t)
	onAll(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, w := range append([]work{h2}, works...) {
			t.Run(w.name, func(t *testing.T) {
				p := start(t, jdk, jdk, w)
				for _, patterns := range [][]string{w.patterns, {"java.util.**", "java.io.**", "java.net.**"}, {"java.**"}, {"**"}} {
					done := t.Run(patterns[0], func(t *testing.T) {
						p.t = t
						exercise(t, p, patterns...)
					})
					if !done {
						return // what comes of a program that was left like this says nothing
					}
				}
				p.t = t
				p.quiet()
			})
		}
	})
}

// TestProgramsSayTheSameInOtherJVMs does so with options that change how a JVM
// keeps objects and classes.
func TestProgramsSayTheSameInOtherJVMs(t *testing.T) {
	needMatrix(t)
	for _, option := range [][]string{
		{"-XX:+UseZGC"},
		{"-XX:+UseSerialGC", "-Xint"},
		{"-Xshare:off"},
		{"-XX:+UseParallelGC", "-XX:-UseCompressedOops"},
		{"-XX:-UseCompressedClassPointers"},
		{"-Xverify:all"},
		{"-XX:+UseCompactObjectHeaders"},
		{"-XX:+UseShenandoahGC"},
	} {
		t.Run(option[0], func(t *testing.T) {
			onAll(t, func(t *testing.T, jdk jvmtest.JDK) {
				if out := jvmtest.Run(t, jdk, append(option, "-version")...); out.Exit != 0 {
					t.Skipf("NOT TESTED: JDK %s does not know %s", jdk.Version, option[0])
				}
				p := start(t, jdk, jdk, works[1].with(option...))
				exercise(t, p, works[1].patterns...)
				exercise(t, p, "**")
			})
		})
	}
}

// TestAJlinkedProgramSaysTheSame has a JVM of just the modules that are needed.
func TestAJlinkedProgramSaysTheSame(t *testing.T) {
	needMatrix(t)
	onAll(t, func(t *testing.T, jdk jvmtest.JDK) {
		home := filepath.Join(t.TempDir(), "image")
		linked := jvmtest.RunTool(t, jdk, "jlink", "--add-modules", "java.base,java.instrument", "--output", home, "--strip-debug")
		if linked.Exit != 0 {
			t.Skipf("NOT TESTED: jlink of JDK %s: %s", jdk.Version, linked.Stdout+linked.Stderr)
		}
		image := jvmtest.JDK{Home: home, Major: jdk.Major, Version: jdk.Version}
		p := start(t, jdk, image, works[1])
		exercise(t, p, works[1].patterns...)
		exercise(t, p, "**")
	})
}
