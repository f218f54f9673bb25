package jvmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CompileNative builds a shared library from C sources that include the JDK's
// headers, and returns its path. Like the results of Compile it is kept in the
// user's cache by its sources: copy it for a process of another user. Where it
// cannot be built the test ends here, as a skip that can be seen.
func CompileNative(t testing.TB, jdk JDK, sources ...string) string {
	t.Helper()
	include := filepath.Join(jdk.Home, "include")
	if _, err := os.Stat(filepath.Join(include, "jvmti.h")); err != nil {
		t.Skipf("NOT TESTED: JDK %s has no jvmti.h: install its headers", jdk.Version)
	}
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("NOT TESTED: there is no gcc to build native code with: install it")
	}
	flags := []string{
		"-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-I", include, "-I", filepath.Join(include, "linux"),
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%q\n", jdk.Version, flags)
	for _, source := range sources {
		fmt.Fprintf(sum, "%s\n", filepath.Base(source))
		if err := addTree(sum, filepath.Dir(source)); err != nil { // with the headers that it includes
			t.Fatal(err)
		}
	}
	root, err := cacheRoot()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(root, hex.EncodeToString(sum.Sum(nil)[:16])+".so")
	if _, err := os.Stat(library); err == nil {
		return library
	}
	fresh, err := os.MkdirTemp(root, "compiling-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	built := filepath.Join(fresh, "lib.so")
	arguments := append(append(flags, "-o", built), sources...)
	if out, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("compiling %q: %v\n%s", sources, err, out)
	}
	// Another test binary may have been first: its result is as good.
	if err := os.Rename(built, library); err != nil {
		t.Fatal(err)
	}
	return library
}
