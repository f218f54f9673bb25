package cli

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(isolated{m}, map[string]func(){"sonde": func() { os.Exit(Main(os.Args[1:])) }})
}

// isolated tests touch neither the cache nor the data of the user who runs them, and do not
// depend on what others left there. A sonde that a test starts is told so by the test.
type isolated struct{ *testing.M }

func (i isolated) Run() int {
	data, err := os.MkdirTemp("", "sonde-test-data-")
	if err := errors.Join(err, os.Setenv(cacheVariable, cacheOff), os.Setenv("XDG_DATA_HOME", data)); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(data) }()
	return i.M.Run()
}

// TestScripts runs what needs nothing but sonde. Scripts find the classes with one
// defect each in $INVALID, and some of them in broken.jar; classes of all kinds are in
// $ZOO.
func TestScripts(t *testing.T) {
	invalid, err := filepath.Abs("../../classfile/testdata/invalid")
	if err != nil {
		t.Fatal(err)
	}
	zoo, err := filepath.Abs(zooFolder)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("INVALID", invalid)
			env.Setenv("ZOO", zoo)
			env.Setenv(cacheVariable, cacheOff)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			return writeJar(filepath.Join(env.WorkDir, "broken.jar"), invalid, "pool-cycle.class", "truncated-in-code.class")
		},
	})
}

func writeJar(name, dir string, files ...string) error {
	var jar bytes.Buffer
	out := zip.NewWriter(&jar)
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		entry, err := out.Create("a/" + file)
		if err != nil {
			return err
		}
		if _, err := entry.Write(data); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, jar.Bytes(), 0o600)
}

// TestScriptsWithJDK runs what compiles, weaves and runs Java, on each JDK.
func TestScriptsWithJDK(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir:                 "testdata/script/jdk",
				RequireExplicitExec: true,
				Setup: func(env *testscript.Env) error {
					env.Setenv("JAVA_HOME", jdk.Home)
					env.Setenv(cacheVariable, cacheOff)
					env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
					env.Setenv("PATH", filepath.Join(jdk.Home, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
					// Programs this short only lose by optimising.
					env.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
					return nil
				},
			})
		})
	}
}
