package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// leftAlone names, by program, the methods that cannot be woven.
var leftAlone = map[string][]string{
	"TooLarge":       {"nearlyFull"},
	"EmptyFinalizer": {"finalize"},
}

// uncounted are programs whose counters mean nothing, and why.
var uncounted = map[string]string{
	"ExitCodes": "ends inside woven methods",
	"Recursion": "a full stack may end a probe between its entry and its count",
}

// neverLeft says how many activations a program's counters miss at exit: those
// of constructors that fail before super(...) or this(...) has returned, where
// the JVM allows no handler.
var neverLeft = map[string]int64{
	// new InArguments(), new InSuper(), and new Chained(int) with 1 and with 6.
	"ThrowingConstructors": 4,
	// new Early(-1), and both constructors of new Chained().
	"FlexibleConstructors": 3,
}

// A program is a compiled fixture.
type program struct {
	name    string
	classes string // directory
}

func TestWovenProgramsBehaveAlike(t *testing.T) {
	sources := map[int][]string{17: generate(t)}
	for _, level := range []int{17, 21, 25} {
		found, err := filepath.Glob(fmt.Sprintf("src%d/*.java", level))
		if err != nil || len(found) == 0 {
			t.Fatalf("no programs for Java %d: %v", level, err)
		}
		sources[level] = append(sources[level], found...)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		choices, runtime := weavings(t, jdk)
		for level, paths := range sources {
			if level > jdk.Major {
				continue
			}
			for _, path := range paths {
				name := strings.TrimSuffix(filepath.Base(path), ".java")
				t.Run(fmt.Sprintf("jdk%d/%s", jdk.Major, name), func(t *testing.T) {
					t.Parallel()
					fixture := jvmtest.Fixture{Sources: []string{path}, Flags: []string{"-parameters"}}
					p := program{name, jvmtest.Compile(t, jdk, fixture)}
					p.compare(t, jdk, choices, runtime)
				})
			}
		}
	}
}

// compare runs the program as it is, then woven in each way (only the last in
// short mode), and at last woven in the last way with its counters shown.
func (p program) compare(t *testing.T, jdk jvmtest.JDK, choices []weaving, runtime []string) {
	t.Helper()
	want := run(t, jdk, nil, []string{p.classes}, p.name)
	if want.Stdout == "" {
		t.Fatalf("the program proves nothing: %+v", want)
	}
	last := len(choices) - 1
	for i, choice := range choices {
		if testing.Short() && i != last {
			continue
		}
		woven := weaveAll(t, p.classes, choice, leftAlone[p.name])
		path := append([]string{woven}, runtime...)
		// Classes of the class path are verified always. The flag has the JDK's own verified too, which
		// takes longer than the program, so one way of weaving has to do for it.
		var flags []string
		if i == last {
			flags = []string{"-Xverify:all"}
		}
		if got := run(t, jdk, flags, path, p.name); got != want {
			t.Errorf("woven with %s:\n%s", choice.name, difference(got, want))
		}
		if uncounted[p.name] == "" && i == last {
			p.checkCounters(t, run(t, jdk, nil, path, "fixture.CountingMain", p.name))
		}
	}
}

func (p program) checkCounters(t *testing.T, outcome jvmtest.Outcome) {
	t.Helper()
	var entered, exited, richEntered, richLeft, inconsistent int64
	_, line, _ := strings.Cut(outcome.Stdout, "\ncounters ")
	if _, err := fmt.Sscan(line, &entered, &exited, &richEntered, &richLeft, &inconsistent); err != nil {
		t.Fatalf("no counters: %v\n%+v", err, outcome)
	}
	if entered == 0 || entered-exited != neverLeft[p.name] {
		t.Errorf("probe entered %d, exited %d; want a difference of %d", entered, exited, neverLeft[p.name])
	}
	if richEntered != entered || richLeft != exited || inconsistent != 0 {
		t.Errorf("rich entered %d, left %d, inconsistent %d; probe inside it entered %d, exited %d",
			richEntered, richLeft, inconsistent, entered, exited)
	}
}

// run runs a main class. One compiler and the simplest collector: programs are
// short, and start-up is most of what they take.
func run(t *testing.T, jdk jvmtest.JDK, flags, classpath []string, args ...string) jvmtest.Outcome {
	t.Helper()
	all := slices.Concat(flags, []string{
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", strings.Join(classpath, string(os.PathListSeparator)),
	}, args)
	return jvmtest.Run(t, jdk, all...)
}

// difference shows the first lines that differ.
func difference(got, want jvmtest.Outcome) string {
	var b strings.Builder
	if got.Exit != want.Exit {
		fmt.Fprintf(&b, "exit code %d, want %d\n", got.Exit, want.Exit)
	}
	for _, stream := range []struct{ name, got, want string }{
		{"stdout", got.Stdout, want.Stdout},
		{"stderr", got.Stderr, want.Stderr},
	} {
		gotLines, wantLines := strings.Split(stream.got, "\n"), strings.Split(stream.want, "\n")
		for i := range max(len(gotLines), len(wantLines)) {
			g, w := lineAt(gotLines, i), lineAt(wantLines, i)
			if g != w {
				fmt.Fprintf(&b, "%s line %d:\n  got  %s\n  want %s\n", stream.name, i+1, g, w)
				break
			}
		}
	}
	if strings.Contains(got.Stderr, "VerifyError") || strings.Contains(got.Stderr, "ClassFormatError") {
		b.WriteString(got.Stderr)
	}
	return b.String()
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}
