package jvmtest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

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
	const remedy = "install it below /usr/lib/jvm or name its home in SONDE_JDKS"
	for version := range strings.SplitSeq(os.Getenv("SONDE_REQUIRE_JDKS"), ",") {
		if strings.TrimSpace(version) == strconv.Itoa(major) {
			t.Fatalf("JDK %d is required by SONDE_REQUIRE_JDKS and not installed: %s", major, remedy)
		}
	}
	t.Skipf("NOT TESTED: JDK %d is not installed: %s", major, remedy)
}
