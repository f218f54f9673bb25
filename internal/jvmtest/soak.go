package jvmtest

import (
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"
)

// Soak reports whether tests run all their repetitions and combinations, as
// `make soak` asks for by SONDE_SOAK. Otherwise a test runs a representative
// part, so that `make test` takes minutes.
func Soak() bool { return os.Getenv("SONDE_SOAK") != "" }

// Times returns how often a test repeats something: usually, or in a soak.
func Times(usually, inSoak int) int {
	if Soak() {
		return inSoak
	}
	return usually
}

// Turn reports whether case i of n cases runs with this JDK. In a soak each case
// runs with every JDK. Otherwise the JDKs take turns, and the name of the test
// decides which one begins; a single case runs with every JDK.
func Turn(t *testing.T, jdk JDK, i, n int) bool {
	t.Helper()
	jdks := slices.DeleteFunc(slices.Clone(Installed()), func(j JDK) bool { return !slices.Contains(Supported, j.Major) })
	turns := min(n, len(jdks))
	if Soak() || turns < 2 {
		return true
	}
	place := slices.IndexFunc(jdks, func(j JDK) bool { return j.Major == jdk.Major })
	return (i+place+int(hashOf(t)%uint32(turns)))%turns == 0
}

// hashOf returns a number that the name of the test decides, the same in its subtests.
func hashOf(t *testing.T) uint32 {
	name, _, _ := strings.Cut(t.Name(), "/")
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // never fails
	return sum.Sum32()
}

// OneJDK returns one of the supported JDKs of this machine, which the name of the
// test decides, or all of them in a soak. It is for what does not depend on the JDK.
func OneJDK(t *testing.T) []JDK {
	t.Helper()
	jdks := JDKs(t)
	return slices.DeleteFunc(slices.Clone(jdks), func(j JDK) bool { return !Turn(t, j, 0, len(jdks)) })
}

// NewestJDK returns the newest of the supported JDKs of this machine, or all of them in a soak. It is
// for programs that do more on newer JDKs.
func NewestJDK(t *testing.T) []JDK {
	t.Helper()
	jdks := JDKs(t)
	if Soak() || len(jdks) == 0 {
		return jdks
	}
	return jdks[len(jdks)-1:]
}

// OneOf returns one of several variants of a test, which its name decides independently of OneJDK,
// or all of them in a soak. It is for what other tests do in the other variants.
func OneOf[T any](t *testing.T, variants []T) []T {
	t.Helper()
	if Soak() || len(variants) == 0 {
		return variants
	}
	const otherBits = 16 // than those that decide the JDK
	i := int(hashOf(t)>>otherBits) % len(variants)
	return variants[i : i+1]
}
