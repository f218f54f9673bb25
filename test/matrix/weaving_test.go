package matrix

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
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

// linking is what a harness found: how many classes are linked, and of the
// others why not.
type linking struct {
	linked   int
	failures map[string]string // by place and class
}

// link runs a harness and reads what it prints.
func link(t *testing.T, jdk jvmtest.JDK, args ...string) linking {
	t.Helper()
	outcome := jvmtest.Run(t, jdk, args...)
	found := linking{linked: -1, failures: make(map[string]string)}
	for line := range strings.Lines(outcome.Stdout) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		switch {
		case len(fields) == 3:
			found.failures[fields[0]+" "+fields[1]] = fields[2]
		case len(fields) == 2 && fields[0] == "linked":
			found.linked, _ = strconv.Atoi(fields[1])
		}
	}
	if found.linked < 0 || outcome.Exit != 0 {
		t.Fatalf("the JVM did not get through: exit code %d\nstdout: %s\nstderr: %s",
			outcome.Exit, lastLines(outcome.Stdout), lastLines(outcome.Stderr))
	}
	return found
}

// compare fails the test for each class that links differently woven. A class that
// fails for several reasons may give another of them, as it may from run to run: the
// JVM visits methods in no fixed order. It must be one that is given unwoven as well.
func (woven linking) compare(t *testing.T, plain linking) {
	t.Helper()
	t.Logf("%d classes linked, %d not (%d and %d unwoven)", woven.linked, len(woven.failures), plain.linked, len(plain.failures))
	given := make(map[string]bool)
	for _, failure := range plain.failures {
		given[failure] = true
	}
	bad := 0
	for _, name := range slices.Sorted(maps.Keys(woven.failures)) {
		if _, fails := plain.failures[name]; fails && given[woven.failures[name]] {
			continue
		}
		const shown = 20
		if bad++; bad <= shown {
			t.Errorf("%s\n    woven:   %s\n    unwoven: %s", name, woven.failures[name], plain.failures[name])
		}
	}
	for name, failure := range plain.failures {
		if _, still := woven.failures[name]; !still {
			t.Errorf("%s links only when woven; before: %s", name, failure)
		}
	}
	if bad > 0 {
		t.Errorf("%d classes do not link because they are woven", bad)
	}
	if woven.linked+len(woven.failures) != plain.linked+len(plain.failures) {
		t.Errorf("%d classes tried, %d unwoven", woven.linked+len(woven.failures), plain.linked+len(plain.failures))
	}
}

// writeList writes one line for each class to link.
func writeList(t *testing.T, lines []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "classes.txt")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func lastLines(text string) string {
	const limit = 3000
	return text[max(0, len(text)-limit):]
}

// maxLeftAlone is the share of methods that may be left alone: 0.1 %.
const maxLeftAlone = 0.001

// A tally counts what became of classes and methods.
type tally struct {
	mu      sync.Mutex
	classes int
	methods int // with code
	woven   int
	left    map[string][]string // methods left alone, by the kind of reason
}

func newTally() *tally { return &tally{left: make(map[string][]string)} }

func (y *tally) add(class string, result *weave.Result) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.classes++
	y.methods += len(result.Methods)
	for _, method := range result.Methods {
		if method.Woven {
			y.woven++
			continue
		}
		kind := "no reason given"
		var reason *weave.Reason
		if errors.As(method.Reason, &reason) {
			kind = string(reason.Kind)
		} else if method.Reason != nil {
			kind = method.Reason.Error()
		}
		y.left[kind] = append(y.left[kind], fmt.Sprintf("%s.%s%s: %v", class, method.Name, method.Descriptor, method.Reason))
	}
}

// report logs the totals, names what was left alone, and fails the test where
// that is too much.
func (y *tally) report(t *testing.T) {
	t.Helper()
	alone := y.methods - y.woven
	share := float64(alone) / float64(max(1, y.methods))
	t.Logf("%d classes, %d methods with code, %d woven, %d left alone (%.4f %%)", y.classes, y.methods, y.woven, alone, 100*share)
	for _, kind := range slices.Sorted(maps.Keys(y.left)) {
		const shown = 10
		examples := slices.Sorted(slices.Values(y.left[kind]))
		t.Logf("left alone: %s: %d\n    %s", kind, len(examples), strings.Join(examples[:min(shown, len(examples))], "\n    "))
	}
	if y.methods == 0 || share >= maxLeftAlone {
		t.Errorf("%d of %d methods were left alone, want less than %.1f %%", alone, y.methods, 100*maxLeftAlone)
	}
}
