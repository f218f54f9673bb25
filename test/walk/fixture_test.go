package walk_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A fixture is a kind of hot spot, in a program.
type fixture struct {
	name     string
	threads  int
	since    int           // the first JDK that has it
	sampling time.Duration // how long hot spots are looked for
	library  string        // a source of testdata/native that it loads
	options  []string      // of java
	cutOff   bool          // stacks are deeper than the recorder keeps
	native   bool          // its hot method is
}

// standing and apart have the JVM keep hot methods apart from what calls them. Where it
// compiles one into a caller's loop, the flight recorder takes some of its code for that
// of its neighbours there, and that is not what is tested with these.
var (
	standing = []string{"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,lambdas.Main::lambda*"}
	apart    = []string{
		"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,moving.Main::load",
		"-XX:CompileCommand=dontinline,moving.Main::sell", "-XX:CompileCommand=dontinline,moving.Main::close",
	}
)

// cheapClock makes the program read the time of day instead of its threads' processor time, which
// is hot itself where a machine is busy.
var cheapClock = []string{"-Dwalk.clock=true"}

// Samples of native code come at half the rate, or less: the JVM looks at one
// thread in native code at a time, and some of them only wait. A soak takes twice
// as many samples, so that shares are off by less (allowance).
var brief, long = inSoak(8 * time.Second), inSoak(16 * time.Second)

// inSoak is a time in a soak, and half of it otherwise.
func inSoak(d time.Duration) time.Duration {
	if jvmtest.Soak() {
		return d
	}
	return d / 2
}

var fixtures = []fixture{
	{name: "paths", threads: 2, sampling: brief},                      // a leaf, by three ways
	{name: "crossing", threads: 1, sampling: brief},                   // two leaves, whose ways cross
	{name: "recursion", threads: 1, sampling: brief},                  // below a recursive method, and in one
	{name: "deep", threads: 1, sampling: brief, cutOff: true},         // stacks that the recorder cuts off
	{name: "library", threads: 1, sampling: brief},                    // methods of the JDK
	{name: "lambdas", threads: 1, sampling: brief, options: standing}, // of streams, and stored in a map
	{name: "implementations", threads: 1, sampling: brief},
	{name: "natives", threads: 1, sampling: long, native: true},                // a native method of the JDK
	{name: "jni", threads: 1, sampling: long, library: "step.c", native: true}, // a native method of the program
	{name: "virtuals", threads: 2, sampling: brief, since: 21, options: cheapClock},
}

// A program is a fixture that runs, and knows which ways its hot methods are
// reached by.
type program struct {
	*jvmtest.Running
	t       *testing.T
	jdk     jvmtest.JDK
	fixture fixture
	stacks  []stack
	// samples is how many samples a walk was worth. A thread that does not get the
	// processor is seen again where it was before, so they are no more than the times
	// that threads were let run.
	samples float64
}

// A stack is one by which a hot method was reached.
type stack struct {
	way    int
	calls  float64
	leaves []string // classes of the hot methods, where these are not first on the stack
	frames []string // the innermost first
}

// start lets a fixture print its ways, then starts it and waits until it is warm.
func start(t *testing.T, jdk jvmtest.JDK, f fixture) *program {
	t.Helper()
	pattern, release := "testdata/src/*/*.java", "17"
	sources, err := filepath.Glob(pattern)
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources %s: %v", pattern, err)
	}
	if jdk.Major >= 21 {
		newer, _ := filepath.Glob("testdata/src21/*/*.java") // the pattern is well formed
		sources, release = append(sources, newer...), "21"
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: []string{"--release", release}})
	args := slices.Concat(f.options, []string{"-Xmx128m", "-XX:+UseSerialGC", "-cp", classes})
	if f.library != "" {
		args = append(args, "-Dwalk.library="+jvmtest.CompileNative(t, jdk, filepath.Join("testdata", "native", f.library)))
	}
	words := []string{"harness.Harness", f.name + ".Main", fmt.Sprint(f.threads)}
	p := &program{t: t, jdk: jdk, fixture: f}
	looked := jvmtest.Run(t, jdk, slices.Concat(args, []string{"-Dwalk.look=true"}, words)...)
	if looked.Exit != 0 {
		t.Fatalf("looking for its ways, %s ended by %d:\n%s%s", f.name, looked.Exit, looked.Stdout, looked.Stderr)
	}
	for line := range strings.Lines(looked.Stdout) {
		if strings.HasPrefix(line, "[") {
			continue // a warning of the JVM
		}
		p.stacks = append(p.stacks, parseStack(t, strings.TrimSpace(line)))
	}
	p.Running = jvmtest.Start(t, jdk, jvmtest.Launch{Args: append(args, words...)})
	return p
}

func parseStack(t *testing.T, line string) stack {
	t.Helper()
	var s stack
	head, frames, ok := strings.Cut(line, "|")
	words := strings.Fields(head)
	if !ok || len(words) < 3 || words[0] != "stack" {
		t.Fatalf("the program said %q", line)
	}
	if _, err := fmt.Sscan(words[1]+" "+words[2], &s.way, &s.calls); err != nil {
		t.Fatalf("the program said %q: %v", line, err)
	}
	if len(words) > 3 {
		s.leaves = strings.Split(words[3], ",")
	}
	s.frames = straight(strings.Fields(frames))
	return s
}

// order sends a command and returns the lines of its answer.
func (p *program) order(command, last string) []string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, command); err != nil {
		p.t.Fatalf("sending %q to the program: %v\nstderr: %s", command, err, p.Stderr())
	}
	var lines []string
	for {
		line := p.Await(p.t, "")
		if line == last {
			return lines
		}
		lines = append(lines, line)
	}
}

// forget makes the program count from zero.
func (p *program) forget() {
	p.t.Helper()
	p.order("forget", "done")
}

// move has it do something else.
func (p *program) move(where int) {
	p.t.Helper()
	p.order(fmt.Sprintf("move %d", where), "done")
}
