package original

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	outcome := jvmtest.Run(t, w.jdk, append(args, classes...)...)
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
