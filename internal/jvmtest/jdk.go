// Package jvmtest serves tests that need a real JVM: it finds the JDKs of the
// machine, compiles fixture programs once, and runs them under a time limit.
//
// If a JDK is missing, its tests are skipped visibly. If the
// environment variable SONDE_REQUIRE_JDKS lists its version ("17,25"), they
// fail.
package jvmtest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A JDK is an installed development kit.
type JDK struct {
	Home    string // with symbolic links resolved
	Major   int    // 8, 17, 25
	Version string // as its release file spells it, such as 17.0.15
	Root    string // the directory in which it runs as in a container, see Releases; "" for none
}

// Tool returns the path of one of the JDK's programs, such as "javac", as the JDK sees it.
func (j JDK) Tool(name string) string { return filepath.Join(j.Home, "bin", name) }

// Image returns the path of the file that holds the classes of all modules, for programs outside the JDK's root directory.
func (j JDK) Image() string { return filepath.Join(j.Root, j.Home, "lib", "modules") }

// Installed returns the JDKs of this machine, one per major version, oldest
// first. Homes named in SONDE_JDKS (a path list) win over JAVA_HOME, and that
// over the newest of its major version below /usr/lib/jvm.
func Installed() []JDK { return installed() }

var installed = sync.OnceValue(func() []JDK {
	byMajor := make(map[int]JDK)
	for _, home := range append(filepath.SplitList(os.Getenv("SONDE_JDKS")), os.Getenv("JAVA_HOME")) {
		if jdk, ok := open(home); ok {
			if _, taken := byMajor[jdk.Major]; !taken {
				byMajor[jdk.Major] = jdk
			}
		}
	}
	named := maps.Clone(byMajor)
	homes, _ := filepath.Glob("/usr/lib/jvm/*") // the pattern is well formed
	for _, home := range homes {
		jdk, ok := open(home)
		if _, taken := named[jdk.Major]; !ok || taken {
			continue
		}
		if known, taken := byMajor[jdk.Major]; !taken || older(known, jdk) {
			byMajor[jdk.Major] = jdk
		}
	}
	return slices.SortedFunc(maps.Values(byMajor), func(a, b JDK) int { return cmp.Compare(a.Major, b.Major) })
})

// open recognises a JDK by its release file and its compiler; a bare runtime
// is of no use to tests.
func open(home string) (JDK, bool) {
	if home == "" {
		return JDK{}, false
	}
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		return JDK{}, false
	}
	release, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return JDK{}, false
	}
	jdk := JDK{Home: home}
	if _, err := os.Stat(jdk.Tool("javac")); err != nil {
		return JDK{}, false
	}
	for line := range strings.Lines(string(release)) {
		if value, ok := strings.CutPrefix(line, "JAVA_VERSION="); ok {
			jdk.Version = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	numbers := versionNumbers(jdk.Version)
	switch {
	case len(numbers) > 1 && numbers[0] == 1:
		jdk.Major = numbers[1] // up to 8 the major version is the second number: 1.8.0_402
	case len(numbers) > 0:
		jdk.Major = numbers[0]
	}
	return jdk, jdk.Major > 0
}

func older(a, b JDK) bool {
	return slices.Compare(versionNumbers(a.Version), versionNumbers(b.Version)) < 0
}

// versionNumbers splits 17.0.15 or 1.8.0_402 into its numbers, up to the first
// part that is none.
func versionNumbers(version string) []int {
	var numbers []int
	for part := range strings.FieldsFuncSeq(version, func(r rune) bool { return r == '.' || r == '_' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// Supported lists the versions that tests are meant to run on. A machine may
// lack some; a test says so by a skip of its own for each.
var Supported = []int{17, 25}

// JDKs returns the supported JDKs of this machine. Each that is missing shows
// as a skipped subtest, or a failed one where it is required.
func JDKs(t *testing.T) []JDK {
	t.Helper()
	var jdks []JDK
	for _, major := range Supported {
		if jdk, ok := lookup(major); ok {
			jdks = append(jdks, jdk)
			continue
		}
		t.Run(fmt.Sprintf("jdk%d", major), func(t *testing.T) { missing(t, major) })
	}
	return jdks
}

// OnEach runs a test with each of these JDKs, as a subtest.
func OnEach(t *testing.T, jdks []JDK, test func(t *testing.T, jdk JDK)) {
	t.Helper()
	for _, jdk := range jdks {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) { test(t, jdk) })
	}
}

// Need returns the JDK of one major version. Where it is missing the test ends
// here: skipped, or failed if the version is required.
func Need(t *testing.T, major int) JDK {
	t.Helper()
	jdk, ok := lookup(major)
	if !ok {
		missing(t, major)
	}
	return jdk
}

func lookup(major int) (JDK, bool) {
	jdks := Installed()
	i := slices.IndexFunc(jdks, func(j JDK) bool { return j.Major == major })
	if i < 0 {
		return JDK{}, false
	}
	return jdks[i], true
}

func missing(t *testing.T, major int) {
	t.Helper()
	const remedy = "install it below /usr/lib/jvm, name its home in SONDE_JDKS, or run .ci/setup jdks if the test runs it in a chroot (needs root)"
	for version := range strings.SplitSeq(os.Getenv("SONDE_REQUIRE_JDKS"), ",") {
		if strings.TrimSpace(version) == strconv.Itoa(major) {
			t.Fatalf("JDK %d is required by SONDE_REQUIRE_JDKS and not installed: %s", major, remedy)
		}
	}
	t.Skipf("NOT TESTED: JDK %d is not installed: %s", major, remedy)
}
