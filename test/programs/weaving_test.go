package programs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// weaving is a choice of templates, the outermost first.
type weaving struct {
	name      string
	templates []*weave.Template
}

// weavings compiles the templates, and returns the choices of them together
// with the class path that woven programs need.
func weavings(t *testing.T, jdk jvmtest.JDK) ([]weaving, []string) {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	class, method, ok := agent.Template("probe")
	if !ok {
		t.Fatal("no built-in template probe")
	}
	probe := compileTemplate(t, class, method)

	sources, err := filepath.Glob("templates/*.java")
	if err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Classpath: []string{jar}, Flags: []string{"--release", "17"}})
	class, err = os.ReadFile(filepath.Join(classes, "fixture", "Rich.class"))
	if err != nil {
		t.Fatal(err)
	}
	rich := compileTemplate(t, class, "rich")
	return []weaving{
		{"probe", []*weave.Template{probe}},
		{"rich", []*weave.Template{rich}},
		{"nested", []*weave.Template{rich, probe}},
	}, []string{jar, classes}
}

func compileTemplate(t *testing.T, class []byte, method string) *weave.Template {
	t.Helper()
	template, err := weave.CompileTemplate(class, method)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// weaveAll weaves every method of every class below dir and returns the
// directory of the results. Nothing may be left alone but methods listed in
// mayStay, each of which must be.
func weaveAll(t *testing.T, dir string, choice weaving, mayStay []string) string {
	t.Helper()
	out := t.TempDir()
	weaver := weave.NewWeaver()
	stay := make(map[string]bool)
	for _, method := range mayStay {
		stay[method] = false
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".class") {
			return err
		}
		class, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		result, err := weaver.Weave(class, func(m weave.MethodInfo) []*weave.Template {
			if !m.HasCode {
				return nil
			}
			return choice.templates
		})
		if err != nil {
			return err
		}
		for _, method := range result.Methods {
			if method.Woven || method.Reason == nil {
				continue
			}
			if _, known := stay[method.Name]; !known {
				t.Errorf("%s: %s%s was left alone: %v", filepath.Base(path), method.Name, method.Descriptor, method.Reason)
			}
			stay[method.Name] = true
		}
		if result.Bytes != nil {
			class = result.Bytes
		}
		return os.WriteFile(filepath.Join(out, filepath.Base(path)), class, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	for method, left := range stay {
		if !left {
			t.Errorf("%s was woven, but should have been left alone", method)
		}
	}
	return out
}
