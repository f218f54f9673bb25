package weave_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// java is a JDK with the classes of testdata/java compiled by it.
type java struct {
	jvmtest.JDK
	dir       string // of the classes
	templates string // class file of Templates
}

// compileJava compiles testdata/java for a release: strings are joined by
// invokedynamic from 9 on, private members of inner classes reached without bridges from 11.
func compileJava(t testing.TB, jdk jvmtest.JDK, release string) java {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources:   []string{"testdata/java/Log.java", "testdata/java/Templates.java", "testdata/java/Shapes.java", "testdata/java/RunAll.java"},
		Classpath: []string{jar},
		Flags:     []string{"--release", release, "-Xlint:none"},
	})
	return java{jdk, dir, filepath.Join(dir, "Templates.class")}
}

// template compiles a method of Templates.
func (j java) template(t testing.TB, method string) *weave.Template {
	t.Helper()
	return compiled(t, readFile(t, j.templates), method)
}

// pick chooses the same templates, by their names, for each method that has code.
func (j java) pick(t testing.TB, methods ...string) func(weave.MethodInfo) []*weave.Template {
	t.Helper()
	var templates []*weave.Template
	for _, text := range methods {
		method, isBehind := strings.CutSuffix(text, " behind super")
		template := j.template(t, method)
		if isBehind {
			template = template.BehindSuper()
		}
		templates = append(templates, template)
	}
	return func(weave.MethodInfo) []*weave.Template { return templates }
}

func compiled(t testing.TB, class []byte, method string) *weave.Template {
	t.Helper()
	template, err := weave.CompileTemplate(class, method)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// anyJDK is the oldest supported JDK here, for what does not depend on which.
func anyJDK(t *testing.T) jvmtest.JDK {
	t.Helper()
	jdks := jvmtest.JDKs(t)
	if len(jdks) == 0 {
		t.Skip("NOT TESTED: no supported JDK is installed")
	}
	return jdks[0]
}
