package original

import (
	"archive/zip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

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
		choice, err := Choose(Input{JDK: v, File: w.left(t, class, "file"), Given: given})
		if err == nil && choice.Source == FromFile {
			proven++
			continue
		}
		// JDK 25 runs String itself without the (nameless) parameters its file tells of.
		if class == "java.lang.String" && err == nil && choice.Source == FromGiven {
			continue
		}
		if wrong++; wrong <= 20 {
			t.Errorf("%s: woven from %s, %s, %v", class, choice.Source, choice.Unproven, err)
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

func mustParse(t *testing.T, text string) Version {
	t.Helper()
	v, err := ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
