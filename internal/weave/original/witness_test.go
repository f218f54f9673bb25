package original

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A witness is a JVM's program that retransforms classes and tells what reflection
// sees of them before and after: testdata/witness/Witness.java.
type witness struct {
	jdk       jvmtest.JDK
	jar       string
	classpath []string
	directory string // where it leaves what it was given
}

// A remark is one difference that the witness saw.
type remark struct {
	class, step, kind, fact string // kind is lost, gained or failed
}

func newWitness(t *testing.T, jdk jvmtest.JDK, classpath ...string) *witness {
	t.Helper()
	sources, err := filepath.Glob("testdata/witness/*.java")
	if err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: []string{"--release", "17"}})
	w := &witness{jdk: jdk, jar: filepath.Join(t.TempDir(), "witness.jar"), directory: t.TempDir()}
	w.classpath = append([]string{w.jar}, classpath...)
	writeAgentJar(t, w.jar, classes)
	return w
}

// shapes compiles testdata/fixture and returns where its classes are, and their names.
func shapes(t *testing.T, jdk jvmtest.JDK, flags ...string) (directory string, names []string) {
	t.Helper()
	sources, err := filepath.Glob("testdata/fixture/*.java")
	if err != nil {
		t.Fatal(err)
	}
	directory = jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: flags})
	files, err := filepath.Glob(filepath.Join(directory, "fixture", "*.class"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, "fixture."+strings.TrimSuffix(filepath.Base(file), ".class"))
	}
	return directory, names
}

var remarkLine = regexp.MustCompile(`^(\S+) (\d+:\S+) (lost|gained|failed) (.*)$`)

// tell runs the steps on each class and returns what the witness remarked.
func (w *witness) tell(t *testing.T, steps []string, classes ...string) []remark {
	t.Helper()
	remarks, broken := w.watch(t, steps, classes...)
	if broken != "" {
		t.Fatalf("the witness broke off: %s", broken)
	}
	return remarks
}

// watch is tell that goes on where the JVM does not survive, and says how it ended.
func (w *witness) watch(t *testing.T, steps []string, classes ...string) (remarks []remark, broken string) {
	t.Helper()
	args := []string{"-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=" + filepath.Join(w.directory, "crash.log"), "-javaagent:" + w.jar, "-cp", strings.Join(w.classpath, string(os.PathListSeparator)), "Witness", w.directory, strings.Join(steps, ",")}
	outcome := jvmtest.RunBriefly(t, w.jdk, append(args, classes...)...)
	if !strings.HasSuffix(outcome.Stdout, "ready\n") {
		broken = fmt.Sprintf("exit %d\n%s%s", outcome.Exit, outcome.Stdout, outcome.Stderr)
	}
	for line := range strings.Lines(outcome.Stdout) {
		if m := remarkLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			remarks = append(remarks, remark{m[1], m[2], m[3], m[4]})
		}
	}
	return remarks, broken
}

// left reads what the witness left of a class: "file", or what it was given at a
// step; nil where there is none.
func (w *witness) left(t *testing.T, class, suffix string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.directory, class+"."+suffix))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data
}

// answer lays bytes down that the witness is to answer with at steps "@suffix".
func (w *witness) answer(t *testing.T, class, suffix string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.directory, class+"."+suffix), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeAgentJar(t *testing.T, path, classes string) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	jar := zip.NewWriter(out)
	manifest, err := jar.Create("META-INF/MANIFEST.MF")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Write([]byte("Manifest-Version: 1.0\nPremain-Class: Witness\nCan-Retransform-Classes: true\n\n")); err != nil {
		t.Fatal(err)
	}
	if err := jar.AddFS(os.DirFS(classes)); err != nil {
		t.Fatal(err)
	}
	if err := jar.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFilesAreProven retransforms the classes that a JVM runs on, and those of jars by
// other compilers, and demands that their files are recognised.
func TestFilesAreProven(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			fixture, names := shapes(t, jdk, "-parameters")
			classpath := []string{fixture}
			for _, jar := range []string{"asm-all.jar", "groovy.jar", "scala-library.jar"} {
				path := filepath.Join("/usr/share/java", jar)
				if _, err := os.Stat(path); err != nil {
					t.Logf("NOT TESTED: there is no %s", path)
					continue
				}
				classpath = append(classpath, path)
				names = append(names, classesOf(t, path, 60)...)
			}
			w := newWitness(t, jdk, classpath...)
			w.tell(t, []string{"look"}, append(names, "loaded")...)
			proveAll(t, w)
		})
	}
}

func proveAll(t *testing.T, w *witness) {
	t.Helper()
	v := mustParse(t, w.jdk.Version)
	files, err := filepath.Glob(filepath.Join(w.directory, "*.file"))
	if err != nil {
		t.Fatal(err)
	}
	proven, wrong := 0, 0
	for _, path := range files {
		class := strings.TrimSuffix(filepath.Base(path), ".file")
		given := w.left(t, class, "0")
		if given == nil {
			continue // refused by the JVM before any transformer saw it
		}
		in := Input{JDK: v, File: w.left(t, class, "file"), Given: given}
		choice, err := Choose(in)
		if err == nil && sourceOf(choice, in) == fromFile {
			proven++
			continue
		}
		// JDK 25 runs String itself without the (nameless) parameters of its file.
		if class == "java.lang.String" && err == nil && sourceOf(choice, in) == fromGiven {
			continue
		}
		if wrong++; wrong <= 20 {
			t.Errorf("%s: woven from %s, %s, %v", class, sourceOf(choice, in), choice.Unproven, err)
		}
	}
	t.Logf("%d of %d classes proven", proven, proven+wrong)
	if proven < 300 {
		t.Errorf("only %d classes: the witness did not see what it should", proven)
	}
}

// classesOf names classes of a jar, evenly spread.
func classesOf(t *testing.T, path string, most int) []string {
	t.Helper()
	jar, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	var names []string
	for _, f := range jar.File {
		name, ok := strings.CutSuffix(f.Name, ".class")
		if ok && !strings.HasPrefix(name, "META-INF/") && !strings.HasSuffix(name, "-info") {
			names = append(names, strings.ReplaceAll(name, "/", "."))
		}
	}
	slices.Sort(names)
	stride := max(1, len(names)/most)
	var some []string
	for i := 0; i < len(names); i += stride {
		some = append(some, names[i])
	}
	return some
}

func mustParse(t *testing.T, text string) jdk.Version {
	t.Helper()
	v, err := jdk.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
