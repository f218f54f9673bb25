package matrix

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// needMatrix skips a test that takes minutes unless it is asked for.
func needMatrix(t *testing.T) {
	t.Helper()
	if os.Getenv("SONDE_MATRIX") == "" {
		t.Skip("NOT TESTED: takes minutes; set SONDE_MATRIX=1")
	}
}

// A weaving is a choice of templates, the outermost first.
type weaving struct {
	name      string
	templates []*weave.Template
}

func weavings(probe, rich *weave.Template) []weaving {
	return []weaving{
		{"probe", []*weave.Template{probe}},
		{"rich", []*weave.Template{rich}},
		{"nested", []*weave.Template{rich, probe}},
	}
}

// A class is the input of weaving, under a name for messages.
type class struct {
	name string
	data []byte
	// keep takes the result, on any goroutine; the bytes are not its to hold on to.
	keep func(data []byte) error
	// done is called at last, whether or not there was a result.
	done func()
}

// weaveAll weaves every method of what feed sends, on all processors. A class
// without methods is kept as it is.
func weaveAll(t *testing.T, choice weaving, feed func(send func(class)) error) *tally {
	t.Helper()
	total := newTally()
	classes := make(chan class, 64)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			weaver := weave.NewWeaver()
			for c := range classes {
				if err := c.weave(weaver, choice, total); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				c.done()
			}
		})
	}
	err := feed(func(c class) { classes <- c })
	close(classes)
	workers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return total
}

func (c class) weave(weaver *weave.Weaver, choice weaving, total *tally) error {
	result, err := weaver.Weave(c.data, func(m weave.MethodInfo) []*weave.Template {
		if !m.HasCode {
			return nil
		}
		return choice.templates
	})
	if err != nil {
		return err
	}
	total.add(c.name, result)
	if result.Bytes == nil {
		return c.keep(c.data)
	}
	return c.keep(result.Bytes)
}

// compileTemplate reads a template from a class directory.
func compileTemplate(t *testing.T, dir, name, method string) *weave.Template {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".class"))
	if err != nil {
		t.Fatal(err)
	}
	template, err := weave.CompileTemplate(data, method)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// writeRuntime writes the runtime jar and returns its path.
func writeRuntime(t *testing.T) string {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "sonde-runtime.jar")
	if err := os.WriteFile(jar, agent.RuntimeJar(), 0o644); err != nil {
		t.Fatal(err)
	}
	return jar
}

// harness compiles the programs that link classes.
func harness(t *testing.T, jdk jvmtest.JDK) string {
	t.Helper()
	return jvmtest.Compile(t, jdk, jvmtest.Fixture{
		Sources: []string{"java/Failures.java", "java/LinkModules.java", "java/LinkJars.java"},
	})
}
