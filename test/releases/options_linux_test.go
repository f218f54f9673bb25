package releases

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A setting is a way to run a JVM: with options, or in other surroundings.
type setting struct {
	name    string
	options []string
	// prepare changes how the program is started, if options are not enough, and may exchange the JDK.
	prepare func(t *testing.T, jdk jvmtest.JDK, s *start) jvmtest.JDK
}

// A start is how a program of one JDK is started.
type start struct {
	jvmtest.Launch
	classpath string   // as the JDK sees it
	folder    string   // the same directory, as tests see it
	options   []string // of java
	isForked  bool     // the wrapping command has java as its child
}

// Old releases have some options only as experiments.
const unlock = "-XX:+UnlockExperimentalVMOptions"

var settings = []setting{
	{name: "Serial", options: []string{"-XX:+UseSerialGC"}},
	{name: "Parallel", options: []string{"-XX:+UseParallelGC"}},
	{name: "G1", options: []string{"-XX:+UseG1GC"}},
	{name: "ZGC", options: []string{unlock, "-XX:+UseZGC"}},
	{name: "generational ZGC", options: []string{unlock, "-XX:+UseZGC", "-XX:+ZGenerational"}},
	{name: "Shenandoah", options: []string{unlock, "-XX:+UseShenandoahGC"}},
	{name: "generational Shenandoah", options: []string{unlock, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"}},
	{name: "no compressed references", options: []string{"-XX:-UseCompressedOops"}},
	{name: "no compressed class pointers", options: []string{"-XX:-UseCompressedClassPointers"}},
	{name: "compact object headers", options: []string{unlock, "-XX:+UseCompactObjectHeaders"}},
	{name: "-Xint", options: []string{"-Xint"}},
	{name: "-Xcomp", options: []string{"-Xcomp"}},
	{name: "-XX:TieredStopAtLevel=1", options: []string{"-XX:TieredStopAtLevel=1"}},
	{name: "-XX:-TieredCompilation", options: []string{"-XX:-TieredCompilation"}},
	{name: "-Xverify:all", options: []string{"-Xverify:all"}},
	{name: "-Xshare:off", options: []string{"-Xshare:off"}},
	{name: "CDS archive of the JDK", prepare: prepareCDS},
	{name: "CDS archive of the program", prepare: prepareAppCDS},
	{name: "AOT cache", prepare: prepareAOT},
	{name: "jlink image", prepare: prepareImage},
	{name: "container", prepare: prepareContainer("unshare", "--pid", "--mount", "--fork")},
	{name: "container with a user namespace", prepare: prepareContainer("unshare", "--user", "--map-root-user", "--pid", "--mount", "--fork")},
	{name: "container of another user, who is root in it", prepare: prepareContainer(
		"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "--user", "--map-root-user", "--pid", "--mount", "--fork")},
}

// TestOptions tests what Sonde can do with a running JVM for each way to run it.
func TestOptions(t *testing.T) {
	if !isMatrix() {
		t.Skip("NOT TESTED: takes minutes; set SONDE_MATRIX=1")
	}
	classes := shop(t)
	for _, jdk := range jvmtest.Releases(t, jvmtest.AllReleases...) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			for _, way := range settings {
				t.Run(way.name, func(t *testing.T) {
					t.Parallel()
					needOptions(t, jdk, way.options)
					folder := jvmtest.PublicDirectory(t)
					writeJar(t, filepath.Join(folder, "shop.jar"), classes)
					s := &start{classpath: jvmtest.Visible(t, jdk, folder), options: way.options}
					s.folder = filepath.Join(jdk.Root, s.classpath)
					runtime := jdk
					if way.prepare != nil {
						runtime = way.prepare(t, jdk, s)
					}
					s.Args = slices.Concat(s.options, []string{"-cp", s.jar(), "app.Shop"})
					p := jvmtest.Start(t, runtime, s.Launch)
					if s.isForked {
						p.PID = p.Child(t)
					}
					checkAttached(t, p, func(c capability) bool { return c.name != "monitor" && c.name != "hot" }) // which are parts of others
				})
			}
		})
	}
}

func (s *start) jar() string { return s.classpath + "/shop.jar" }

// needOptions skips a test whose options the JDK does not know, or ignores.
func needOptions(t *testing.T, jdk jvmtest.JDK, options []string) {
	t.Helper()
	if len(options) == 0 {
		return
	}
	out := jvmtest.Run(t, jdk, append(slices.Clone(options), "-version")...)
	said := out.Stdout + out.Stderr
	switch {
	case strings.Contains(said, "Ignoring option"):
		t.Skipf("NOT TESTED: the JDK ignores %s", options[len(options)-1])
	case out.Exit != 0 && (strings.Contains(said, "Unrecognized") || strings.Contains(said, "not supported") || strings.Contains(said, "Unknown")):
		t.Skipf("NOT TESTED: the JDK does not know %s", options[len(options)-1])
	case out.Exit != 0:
		t.Fatalf("java %v -version: %s", options, said)
	}
}

// writeJar writes a jar of classes: archives of classes have only those of jars.
func writeJar(t *testing.T, path, classes string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	jar := zip.NewWriter(file)
	if err := errors.Join(jar.AddFS(os.DirFS(classes)), jar.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// java runs java to its end; the program ends at once, because it has no input.
func java(t *testing.T, jdk jvmtest.JDK, args ...string) {
	t.Helper()
	if out := jvmtest.Run(t, jdk, args...); out.Exit != 0 {
		t.Fatalf("java %v: exit code %d\n%s%s", args, out.Exit, out.Stdout, out.Stderr)
	}
}

// prepareCDS lets the JVM map the archive that came with the JDK. Debian's older JDKs have none, so one is made.
func prepareCDS(t *testing.T, jdk jvmtest.JDK, s *start) jvmtest.JDK {
	t.Helper()
	s.options = []string{"-Xshare:on"}
	if _, err := os.Stat(filepath.Join(jdk.Root, jdk.Home, "lib", "server", "classes.jsa")); err != nil {
		archive := "-XX:SharedArchiveFile=" + s.classpath + "/jdk.jsa"
		java(t, jdk, "-XX:+UnlockDiagnosticVMOptions", "-Xshare:dump", archive)
		s.options = []string{"-XX:+UnlockDiagnosticVMOptions", "-Xshare:on", archive}
	}
	return jdk
}

// prepareAppCDS makes an archive with the classes of the program.
func prepareAppCDS(t *testing.T, jdk jvmtest.JDK, s *start) jvmtest.JDK {
	t.Helper()
	archive, program := "-XX:SharedArchiveFile="+s.classpath+"/app.jsa", []string{"-cp", s.jar(), "app.Shop"}
	switch {
	case jdk.Major < 11:
		t.Skip("NOT TESTED: the JDK archives only its own classes")
	case jdk.Major < 17:
		names := s.classpath + "/names"
		java(t, jdk, append([]string{"-Xshare:off", "-XX:DumpLoadedClassList=" + names}, program...)...)
		java(t, jdk, "-Xshare:dump", "-XX:SharedClassListFile="+names, archive, "-cp", s.jar())
	default:
		java(t, jdk, append([]string{"-XX:ArchiveClassesAtExit=" + s.classpath + "/app.jsa"}, program...)...)
	}
	s.options = []string{"-Xshare:on", archive}
	return jdk
}

// prepareAOT makes a cache of linked classes and profiles by a training run.
func prepareAOT(t *testing.T, jdk jvmtest.JDK, s *start) jvmtest.JDK {
	t.Helper()
	if jdk.Major < 25 {
		t.Skip("NOT TESTED: the JDK has no such cache")
	}
	java(t, jdk, "-XX:AOTCacheOutput="+s.classpath+"/app.aot", "-cp", s.jar(), "app.Shop")
	s.options = []string{"-XX:AOTMode=on", "-XX:AOTCache=" + s.classpath + "/app.aot"}
	return jdk
}

// prepareImage makes a JDK of the modules that are needed.
func prepareImage(t *testing.T, jdk jvmtest.JDK, s *start) jvmtest.JDK {
	t.Helper()
	if jdk.Major < 11 {
		t.Skip("NOT TESTED: the JDK has no modules")
	}
	home := s.classpath + "/image"
	strip := "--strip-java-debug-attributes" // --strip-debug needs objcopy
	if jdk.Major < 17 {
		strip = "--strip-debug"
	}
	linked := jvmtest.RunTool(t, jdk, "jlink", "--add-modules", "java.base,java.instrument", "--output", home, strip)
	if linked.Exit != 0 {
		t.Fatalf("jlink: %s", linked.Stdout+linked.Stderr)
	}
	return jvmtest.JDK{Home: home, Major: jdk.Major, Version: jdk.Version, Root: jdk.Root}
}

// containers is held by the one that runs: JVMs in a chroot have the same /tmp, where the names of all would be those of process 1.
var containers sync.Mutex

// prepareContainer runs the program in namespaces of its own, with its own processes and, unless it has a root directory of its
// own, its own /tmp.
func prepareContainer(wrap ...string) func(*testing.T, jvmtest.JDK, *start) jvmtest.JDK {
	return func(t *testing.T, jdk jvmtest.JDK, s *start) jvmtest.JDK {
		t.Helper()
		s.Wrap = slices.Concat(wrap, []string{"sh", "-c", `mount -t tmpfs none /tmp && mount -t proc proc /proc && cd / && exec "$@"`, "sh"})
		if out, err := exec.Command(s.Wrap[0], append(s.Wrap[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("NOT TESTED: namespaces cannot be made here (be root): %v %s", err, out)
		}
		s.isForked = true
		containers.Lock()
		t.Cleanup(containers.Unlock)
		return jdk
	}
}
