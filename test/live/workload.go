package live

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// Workloads that can run together in one program, on every JDK.
const (
	Calls        = "calls"        // static, virtual, interface, bridge, varargs, synchronized
	Shapes       = "shapes"       // nested classes, enums, records, switches, finally
	Dynamic      = "dynamic"      // lambdas, references, reflection, handles, proxies, hidden classes
	Construction = "construction" // constructors and static initialisers that may fail
	Recursion    = "recursion"    // direct, mutual, 5,000 deep, endless
	Exceptions   = "exceptions"   // of every origin, through frames of all kinds
	Blocking     = "blocking"     // Block leaves threads inside nested methods
	Threads      = "threads"      // platform threads in waves; Block keeps thousands alive
	Loading      = "loading"      // loaders that delegate, that isolate, that confine
	Reflected    = "reflected"    // annotations, generics, records, parameter names
	Neighbour    = "neighbour"    // a class that the other agent changes too
	Library      = "library"      // methods of the JDK, called a known number of times
	Hammer       = "hammer"       // tiny methods called as fast as they can be
)

// Workloads with needs of their own.
const (
	Virtual = "virtual" // virtual threads, from JDK 21 on; a round is 10,000 of them
	Modular = "modular" // a program in a named module; runs alone
)

// Everyday lists the workloads that can run together on every JDK, without the
// one that would drown the others, and the one whose methods are not its own.
var Everyday = []string{
	Calls, Shapes, Dynamic, Construction, Recursion, Exceptions, Blocking, Threads, Loading, Reflected, Neighbour,
}

// firstWithVirtual is the first JDK that has virtual threads.
const firstWithVirtual = 21

// Supports tells whether a JDK can run a workload.
func Supports(jdk jvmtest.JDK, workload string) bool {
	return workload != Virtual || jdk.Major >= firstWithVirtual
}

// command compiles workloads and returns the arguments of java that run them.
func command(t testing.TB, jdk jvmtest.JDK, door Door, workloads []string) []string {
	t.Helper()
	for _, workload := range workloads {
		if !Supports(jdk, workload) {
			t.Fatalf("JDK %d cannot run the workload %s: ask Supports first", jdk.Major, workload)
		}
	}
	compiled := compiledWith(workloads)
	sources := javaFiles(t, "harness")
	for _, workload := range compiled {
		sources = append(sources, javaFiles(t, workload)...)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: flags(workloads)})
	args := slices.Clone(door.Options)
	if fresh := freshSources(t, compiled); len(fresh) > 0 {
		later := jvmtest.Compile(t, jdk, jvmtest.Fixture{
			Sources: fresh, Classpath: []string{classes}, Flags: []string{"--release", "17"},
		})
		args = append(args, "-Dlive.fresh="+door.reachable(t, later))
	}
	classes = door.reachable(t, classes)
	if slices.Contains(workloads, Modular) {
		args = append(args, "-p", classes, "-m", "live.modular/harness.Harness")
	} else {
		args = append(args, "-cp", classes, "harness.Harness")
	}
	return append(args, workloads...)
}

// compiledWith is what is compiled for workloads: those that can run together
// always are, since compiling takes longer than most tests.
func compiledWith(workloads []string) []string {
	if slices.Contains(workloads, Modular) || slices.Contains(workloads, Virtual) {
		return workloads
	}
	return append(slices.Clone(Everyday), Library, Hammer)
}

// flags leaves parameter names out unless Reflected wants them: programs differ
// in whether they have them.
func flags(workloads []string) []string {
	release := "17"
	if slices.Contains(workloads, Virtual) {
		release = "21"
	}
	flags := []string{"--release", release}
	if slices.Contains(workloads, Reflected) {
		flags = append(flags, "-parameters")
	}
	return flags
}

func freshSources(t testing.TB, workloads []string) []string {
	t.Helper()
	var sources []string
	for _, workload := range workloads {
		directory := filepath.Join(workload, "fresh")
		if _, err := os.Stat(filepath.Join(testdata(), directory)); err == nil {
			sources = append(sources, javaFiles(t, directory)...)
		}
	}
	return sources
}

func javaFiles(t testing.TB, directory string) []string {
	t.Helper()
	return sourceFiles(t, directory, "*.java")
}

func sourceFiles(t testing.TB, directory, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata(), directory, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources %s in %s: %v", pattern, directory, err)
	}
	return files
}

// testdata is where the sources lie, for tests of other packages too.
func testdata() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "testdata")
}
