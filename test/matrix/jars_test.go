package matrix

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// jarFolders is where Debian's packages put their jars.
var jarFolders = []string{"/usr/share/java", "/usr/share/groovy/lib", "/usr/share/jruby/lib", "/usr/share/ant/lib"}

// TestJars weaves every class of every jar and has each verified.
func TestJars(t *testing.T) {
	needMatrix(t)
	jars := findJars(t)
	if len(jars) < 50 {
		t.Skipf("NOT TESTED: only %d jars in %v: install the packages of packages.txt", len(jars), jarFolders)
	}
	classes := jarClasses(t, jars)
	t.Logf("%d jars with %d different classes", len(jars), len(classes))
	list := writeList(t, classes)

	plainDir := t.TempDir()
	for _, jar := range jars {
		if err := os.Symlink(jar, filepath.Join(plainDir, filepath.Base(jar))); err != nil {
			t.Fatal(err)
		}
	}
	jdks := jvmtest.JDKs(t)
	if len(jdks) == 0 {
		return
	}
	templates, classpath := runtimeTemplates(t, jdks[0])
	plain := make(map[int]linking)
	for _, choice := range templates {
		t.Run(choice.name, func(t *testing.T) {
			wovenDir := t.TempDir()
			var pairs []jarPair
			for _, jar := range jars {
				pairs = append(pairs, jarPair{jar, filepath.Join(wovenDir, filepath.Base(jar))})
			}
			weaveJars(t, choice, pairs).report(t)
			for _, jdk := range jdks {
				t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
					run := func(dir string) linking {
						return link(t, jdk, "-Xverify:all", "-Xmx3g", "-cp", harness(t, jdk), "LinkJars", list, dir, classpath)
					}
					if _, done := plain[jdk.Major]; !done {
						plain[jdk.Major] = run(plainDir)
					}
					run(wovenDir).compare(t, plain[jdk.Major])
				})
			}
		})
	}
}

// findJars returns the jars of this machine, links resolved, each file name
// once.
func findJars(t *testing.T) []string {
	t.Helper()
	byName := make(map[string]string)
	for _, folder := range jarFolders {
		found, err := filepath.Glob(filepath.Join(folder, "*.jar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range found {
			if jar, err := filepath.EvalSymlinks(link); err == nil {
				byName[filepath.Base(jar)] = jar
			}
		}
	}
	var jars []string
	for _, jar := range byName {
		jars = append(jars, jar)
	}
	slices.Sort(jars)
	return jars
}

// jarClasses returns, as lines for the harness, the classes of all jars. A
// class that several jars hold is linked from the first: many are bundles of
// others.
func jarClasses(t *testing.T, jars []string) []string {
	t.Helper()
	seen := make(map[[sha256.Size]byte]bool)
	var lines []string
	for _, jar := range jars {
		archive, err := zip.OpenReader(jar)
		if err != nil {
			t.Fatalf("%s: %v", jar, err)
		}
		for _, entry := range archive.File {
			if !isClass(entry.Name) || strings.HasPrefix(entry.Name, "META-INF/") {
				continue
			}
			data, err := readEntry(entry)
			if err != nil {
				t.Fatalf("%s!%s: %v", jar, entry.Name, err)
			}
			if sum := sha256.Sum256(data); !seen[sum] {
				seen[sum] = true
				name := strings.ReplaceAll(strings.TrimSuffix(entry.Name, ".class"), "/", ".")
				lines = append(lines, filepath.Base(jar)+"\t"+name)
			}
		}
		archive.Close()
	}
	return lines
}

func isClass(name string) bool {
	return path.Ext(name) == ".class" && path.Base(name) != "module-info.class"
}

// runtimeTemplates returns the built-in probe and the fixture programs' rich
// template, and the path of what they call.
func runtimeTemplates(t *testing.T, jdk jvmtest.JDK) ([]weaving, string) {
	t.Helper()
	jar := writeRuntime(t)
	data, method, ok := agent.Template("probe")
	if !ok {
		t.Fatal("no built-in template probe")
	}
	probe, err := weave.CompileTemplate(data, method)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("../programs/templates/*.java")
	if err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Classpath: []string{jar}, Flags: []string{"--release", "17"}})
	rich := compileTemplate(t, classes, "fixture/Rich", "rich")
	return weavings(probe, rich), jar + ":" + classes + "/"
}

// A jarPair is a jar and where to write it woven.
type jarPair struct{ from, to string }

// weaveJars weaves all classes of the jars and copies all else, except
// signatures, which hold no longer.
func weaveJars(t *testing.T, choice weaving, pairs []jarPair) *tally {
	t.Helper()
	return weaveAll(t, choice, func(send func(class)) error {
		for _, pair := range pairs {
			if err := weaveJar(pair, send); err != nil {
				return fmt.Errorf("%s: %w", pair.from, err)
			}
		}
		return nil
	})
}

func weaveJar(pair jarPair, send func(class)) error {
	in, err := zip.OpenReader(pair.from)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := os.Create(pair.to)
	if err != nil {
		return err
	}
	defer file.Close()
	out := zip.NewWriter(file)
	var mu sync.Mutex
	var pending sync.WaitGroup
	write := func(name string, data []byte) error {
		mu.Lock()
		defer mu.Unlock()
		entry, err := out.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		_, err = entry.Write(data)
		return err
	}
	for _, entry := range in.File {
		name := entry.Name
		if strings.HasSuffix(name, "/") || isSignature(name) {
			continue
		}
		data, err := readEntry(entry)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !isClass(name) {
			if err := write(name, data); err != nil {
				return err
			}
			continue
		}
		pending.Add(1)
		send(class{filepath.Base(pair.from) + "!" + name, data, func(woven []byte) error {
			return write(name, woven)
		}, pending.Done})
	}
	pending.Wait()
	if err := out.Close(); err != nil {
		return err
	}
	return file.Close()
}

func isSignature(name string) bool {
	switch path.Ext(name) {
	case ".SF", ".RSA", ".DSA", ".EC":
		return path.Dir(name) == "META-INF"
	}
	return false
}
