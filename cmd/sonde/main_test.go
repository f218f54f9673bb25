package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sonde": main})
}

// TestScripts runs what needs nothing but sonde.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
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
					env.Setenv("PATH", filepath.Join(jdk.Home, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
					// Programs this short only lose by optimising.
					env.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
					return nil
				},
			})
		})
	}
}
