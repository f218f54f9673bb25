package matrix

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// sourceModule is what javac compiles: some 1,800 files of a module that needs
// little of others.
const sourceModule = "java.xml"

// newerThan17 are the files of that module, as JDK 25 has it, that use what 17
// does not know. They are left out where the compiler is older than the source.
var newerThan17 = []string{
	"CollatorFactoryBase.java", "CoreDocumentImpl.java", "DocumentCache.java", "LocaleUtility.java",
	"TemplatesImpl.java", "XMLGregorianCalendarImpl.java", "XSAttributeChecker.java",
}

// testJavac compiles a large source tree with javac as it is and with javac
// and all below it woven: the class files must be the same.
func (w wovenJDK) testJavac(t *testing.T) {
	sources, files := sourceTree(t, w.JDK)
	arguments := filepath.Join(t.TempDir(), "files.txt")
	if err := os.WriteFile(arguments, []byte(strings.Join(files, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	compile := func(flags []string) (jvmtest.Outcome, string) {
		out := t.TempDir()
		args := append(slices.Clone(flags), "-m", "jdk.compiler/com.sun.tools.javac.Main",
			"-proc:none", "-implicit:none", "-g", "-Xlint:none", "-XDignore.symbol.file", "-encoding", "UTF-8",
			"--patch-module", sourceModule+"="+sources, "-d", out, "@"+arguments)
		return jvmtest.Run(t, w.JDK, args...), out
	}
	plain, plainDir := compile(nil)
	if plain.Exit != 0 {
		t.Fatalf("javac cannot compile the sources: %s", lastLines(plain.Stderr))
	}
	woven, wovenDir := compile(w.flags)
	if woven.Stdout != plain.Stdout || woven.Exit != plain.Exit || withoutWarnings(woven.Stderr) != withoutWarnings(plain.Stderr) {
		t.Errorf("woven javac says otherwise: exit code %d\n%s", woven.Exit, lastLines(woven.Stdout+woven.Stderr))
	}
	want, got := tree(t, plainDir), tree(t, wovenDir)
	if len(want) < len(files) {
		t.Errorf("only %d class files from %d sources", len(want), len(files))
	}
	for name, data := range want {
		if !bytes.Equal(got[name], data) {
			t.Errorf("%s differs when compiled by woven javac", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("woven javac wrote %d files, want %d", len(got), len(want))
	}
	t.Logf("%d sources gave %d class files, the same ones", len(files), len(want))
}

// withoutWarnings drops what the JVM itself says of its flags, not javac.
func withoutWarnings(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "WARNING: Using incubator modules")
	}), "\n")
}

// sourceTree unpacks the sources from the JDK's own src.zip or, where that is
// not installed, from that of another JDK.
func sourceTree(t *testing.T, jdk jvmtest.JDK) (dir string, files []string) {
	t.Helper()
	candidates := slices.Concat([]jvmtest.JDK{jdk}, jvmtest.Installed())
	for _, owner := range candidates {
		archive, err := zip.OpenReader(filepath.Join(owner.Home, "lib", "src.zip"))
		if err != nil {
			continue
		}
		defer archive.Close()
		dir = t.TempDir()
		for _, entry := range archive.File {
			name, inside := strings.CutPrefix(entry.Name, sourceModule+"/")
			base := path.Base(name)
			if !inside || path.Ext(name) != ".java" || base == "module-info.java" || base == "package-info.java" ||
				owner.Major > jdk.Major && slices.Contains(newerThan17, base) {
				continue
			}
			data, err := readEntry(entry)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := writeFile(file, data); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		slices.Sort(files)
		return dir, files
	}
	t.Skip("NOT TESTED: no JDK has its lib/src.zip; install one that does")
	return "", nil
}

func readEntry(entry *zip.File) ([]byte, error) {
	content, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}

// tree reads all files below a directory.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
